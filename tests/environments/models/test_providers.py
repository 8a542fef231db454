"""What each provider of the table gets to see, at a server on this machine."""

import asyncio
import re
from pathlib import Path

import pytest

from environments.models.anthropic.messages import AnthropicClient
from environments.models.keys import pair_keys
from environments.models.openai.chat import OpenAIClient
from environments.models.providers import PROVIDERS, ModelProvider
from environments.models.registry import model_client, model_endpoint, require_model
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.errors import Misuse, ModelRejected
from taskdata.schema.agent import ModelSpec

CHAT = {
    "model": "served-1",
    "choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}
MESSAGE = {
    "model": "served-1",
    "content": [{"type": "text", "text": "Hi."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
SETTINGS = (
    *("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_AD_TOKEN", "OPENAI_API_VERSION"),
    *("AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"),
    *("ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "VERTEX_ACCESS_TOKEN"),
    *("CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID", "AWS_SESSION_TOKEN"),
    *("OPENROUTER_BASE_URL", "GEMINI_BASE_URL", "COMPATIBLE_BASE_URL", "COMPATIBLE_API_KEY"),
)


@pytest.fixture(autouse=True)
def _settings(monkeypatch, tmp_path):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NIGHTSHIFT_KEY_PAIRS", "")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("CONFIG_FILE", "SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(f"AWS_{name}", str(tmp_path / "none"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


def asked(model: str, url: str | None = None) -> ModelReply:
    async def once() -> ModelReply:
        client = model_client(ModelSpec.parse(model), url)
        try:
            return await client.reply(ModelRequest(messages=(Message("user", "Hello?"),)))
        finally:
            await client.close()

    return asyncio.run(once())


@pytest.mark.parametrize(
    ("provider", "variable", "named"),
    [
        ("openrouter", "OPENROUTER", "some-maker/model-1"),
        ("gemini", "GEMINI", "gemini-9"),
        ("compatible", "COMPATIBLE", "model-1"),
    ],
)
def test_imitators_of_openai_are_asked_in_its_format(wire, monkeypatch, provider, variable, named):
    monkeypatch.setenv(f"{variable}_API_KEY", "sk-canary-0123")
    monkeypatch.setenv(f"{variable}_BASE_URL", wire.openai_url)
    wire.then(wire.answers(CHAT))

    reply = asked(f"{provider}/{named}")

    (seen,) = wire.seen
    assert (reply.text, reply.model, reply.usage.total) == ("Hi.", "served-1", 5)
    assert seen.path == "/v1/chat/completions"
    assert seen.body["model"] == named
    assert seen.headers["Authorization"] == "Bearer sk-canary-0123"


@pytest.mark.parametrize(
    ("model", "host"),
    [
        ("openrouter/a/b", "openrouter.ai"),
        ("gemini/gemini-9", "generativelanguage.googleapis.com"),
    ],
)
def test_their_own_servers_need_no_base_url(monkeypatch, model, host):
    monkeypatch.setenv(f"{model.partition('/')[0].upper()}_API_KEY", "sk-canary-0123")

    assert model_endpoint(ModelSpec.parse(model), None).host == host


@pytest.mark.parametrize(
    "url", ["{}?api-version=2024-10-21", "{}/openai/deployments/mine?api-version=2024-10-21", "{}"]
)
def test_azures_deployments_are_asked_with_an_api_version(wire, monkeypatch, url):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-canary-0123")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", wire.url)
    if "?" not in url:
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    wire.then(wire.answers(CHAT))

    assert asked("azure/mine", url.format(wire.url)).text == "Hi."

    (seen,) = wire.seen
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert seen.path == "/openai/deployments/mine/chat/completions"
    assert seen.query == {"api-version": "2024-10-21"}
    assert headers["api-key"] == "azure-canary-0123"
    assert "authorization" not in headers


@pytest.mark.parametrize("url", ["{}", "{}/openai/v1", "{}/openai/v1/"])
def test_without_one_azure_is_asked_at_its_v1_path(wire, monkeypatch, url):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-canary-0123")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", wire.url)
    wire.then(wire.answers(CHAT))

    assert asked("azure/mine", url.format(wire.url)).text == "Hi."

    (seen,) = wire.seen
    assert (seen.path, seen.query) == ("/openai/v1/chat/completions", {})
    assert seen.body["model"] == "mine"
    assert seen.headers["Authorization"] == "Bearer azure-canary-0123"


def test_bedrock_is_asked_with_its_own_key(wire, monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-test-1")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "aws-canary-0123")
    monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", wire.url)
    wire.then(wire.answers(MESSAGE))

    reply = asked("bedrock/anthropic.claude-9-v1:0")

    (seen,) = wire.seen
    assert (reply.text, reply.usage.total) == ("Hi.", 5)
    assert seen.path == "/model/anthropic.claude-9-v1:0/invoke"
    assert seen.headers["Authorization"] == "Bearer aws-canary-0123"
    assert "model" not in seen.body
    assert seen.body["anthropic_version"]
    assert seen.body["messages"][0]["role"] == "user"


def test_without_one_requests_to_bedrock_are_signed(wire, monkeypatch):
    pytest.importorskip("boto3", reason="the extra `bedrock` is not installed")
    monkeypatch.setenv("AWS_REGION", "eu-test-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIACANARY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret-canary")
    monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", wire.url)
    wire.then(wire.answers(MESSAGE))

    assert asked("bedrock/anthropic.claude-9-v1:0").text == "Hi."

    signature = wire.seen[0].headers["Authorization"]
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKIACANARY/")
    assert "/eu-test-1/bedrock/" in signature
    assert "aws-secret-canary" not in str(wire.seen[0].headers)


def test_a_machine_without_credentials_is_told_so(wire, monkeypatch):
    pytest.importorskip("boto3", reason="the extra `bedrock` is not installed")
    from anthropic.lib.aws import _auth

    _auth._get_session.cache_clear()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-test-2")
    monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", wire.url)

    with pytest.raises(ModelRejected, match="signing in with the credentials of this machine"):
        asked("bedrock/anthropic.claude-9-v1:0")
    assert wire.seen == []


def test_vertex_is_asked_at_its_project_and_region(wire, monkeypatch):
    monkeypatch.setenv("CLOUD_ML_REGION", "europe-test1")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "project-1")
    monkeypatch.setenv("VERTEX_ACCESS_TOKEN", "google-canary-0123")
    monkeypatch.setenv("ANTHROPIC_VERTEX_BASE_URL", f"{wire.url}/v1")
    wire.then(wire.answers(MESSAGE))

    assert asked("vertex/claude-9").text == "Hi."

    (seen,) = wire.seen
    place = "/v1/projects/project-1/locations/europe-test1/publishers/anthropic/models"
    assert seen.path == f"{place}/claude-9:rawPredict"
    assert seen.headers["Authorization"] == "Bearer google-canary-0123"
    assert seen.body["anthropic_version"]


@pytest.mark.parametrize(
    ("model", "region", "host"),
    [
        ("bedrock/m", ("AWS_REGION", "us-east-1"), "bedrock-runtime.us-east-1.amazonaws.com"),
        ("vertex/m", ("CLOUD_ML_REGION", "us-east5"), "us-east5-aiplatform.googleapis.com"),
        ("vertex/m", ("CLOUD_ML_REGION", "global"), "aiplatform.googleapis.com"),
    ],
)
def test_a_region_says_where_a_cloud_is(monkeypatch, model, region, host):
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "project-1")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "aws-canary-0123")
    monkeypatch.setenv("VERTEX_ACCESS_TOKEN", "google-canary-0123")
    monkeypatch.setenv(*region)

    assert model_endpoint(ModelSpec.parse(model), None).host == host


@pytest.mark.parametrize(
    ("model", "settings", "complaint"),
    [
        ("bedrock/m", {}, "AWS_REGION or AWS_DEFAULT_REGION"),
        ("bedrock/m", {"AWS_REGION": "evil.example/"}, "AWS_REGION or AWS_DEFAULT_REGION"),
        ("vertex/m", {"CLOUD_ML_REGION": "us"}, "ANTHROPIC_VERTEX_PROJECT_ID"),
        ("azure/m", {"AZURE_OPENAI_API_KEY": "k"}, "needs a base URL"),
    ],
)
def test_what_is_missing_is_named(monkeypatch, model, settings, complaint):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(Misuse, match=complaint):
        require_model(ModelSpec.parse(model), None)


@pytest.mark.parametrize("has_key", [True, False], ids=["key", "credentials"])
@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("azure/m", "AZURE_OPENAI_API_KEY"),
        ("bedrock/m", "AWS_BEARER_TOKEN_BEDROCK"),
        ("vertex/m", "VERTEX_ACCESS_TOKEN"),
        ("openrouter/m", "OPENROUTER_API_KEY"),
        ("gemini/m", "GEMINI_API_KEY"),
    ],
)
@pytest.mark.parametrize(
    "url",
    ["https://evil.example/v1", "https://evil.amazonaws.com", "https://x.googleapis.com.evil"],
)
def test_no_other_server_gets_their_keys_or_signatures(monkeypatch, model, variable, url, has_key):
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("CLOUD_ML_REGION", "us-east5")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "project-1")
    if has_key:
        monkeypatch.setenv(variable, "canary-0123")

    refusal = "is not sent to" if has_key or model[0] in "bv" else variable
    with pytest.raises(Misuse, match=refusal):
        require_model(ModelSpec.parse(model), url)


def test_a_paired_server_gets_them(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "canary-0123")
    pair_keys({"bedrock": ["https://gateway.example.org"]})

    endpoint = model_endpoint(ModelSpec.parse("bedrock/m"), "https://gateway.example.org")
    assert endpoint.key == "canary-0123"


@pytest.mark.parametrize(
    ("model", "kind"), [("vertex/m", AnthropicClient), ("openrouter/m", OpenAIClient)]
)
def test_each_is_asked_in_its_format(monkeypatch, model, kind):
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    monkeypatch.setenv("VERTEX_ACCESS_TOKEN", "k")
    monkeypatch.setenv("CLOUD_ML_REGION", "us-east5")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "project-1")

    assert type(model_client(ModelSpec.parse(model), None)) is kind


def test_the_provider_of_contributing_works_as_it_is_written(wire, monkeypatch):
    page = (Path(__file__).resolve().parents[3] / "CONTRIBUTING.md").read_text()
    section = page.partition("## Add a provider of models")[2].partition("\n## ")[0]
    row, contract = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len((row + contract).splitlines()) < 40

    ((name, provider),) = eval(f"{{{row}}}", {"ModelProvider": ModelProvider}).items()
    monkeypatch.setitem(PROVIDERS, name, provider)
    found = {"CHAT": CHAT, "asked": asked}
    exec(contract, found)
    (test,) = (found[name] for name in found if name.startswith("test_"))
    test(wire, monkeypatch)

    assert len(wire.seen) == 1
