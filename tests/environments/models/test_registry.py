import subprocess
import sys

import pytest

from environments.models.registry import ModelClients, model_client, require_model
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec


def spec(text: str) -> ModelSpec:
    return ModelSpec.parse(text)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("opnai/gpt-5.2", "unknown provider; there are openai, anthropic, compatible, local"),
        ("openai/gpt-5.2", "set the environment variable OPENAI_API_KEY"),
        ("anthropic/claude-opus-5", "set the environment variable ANTHROPIC_API_KEY"),
        ("compatible/qwen", "needs a base URL, such as http"),
        ("local/gpt-5.2", "unknown; there is local/smollm2-135m"),
    ],
)
def test_what_is_missing_is_named_before_anything_runs(model, complaint):
    with pytest.raises(Misuse, match=complaint) as caught:
        require_model(spec(model), None)
    assert model in str(caught.value)


def test_a_blank_key_is_no_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "  \n")
    with pytest.raises(Misuse, match="OPENAI_API_KEY"):
        require_model(spec("openai/gpt-5.2"), None)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://"])
def test_a_base_url_must_be_http(url):
    with pytest.raises(Misuse, match="must start with http"):
        require_model(spec("compatible/qwen"), url)


def test_a_local_model_needs_its_server():
    require_model(spec("local/smollm2-135m"), None)
    with pytest.raises(Misuse, match="server is not running"):
        model_client(spec("local/smollm2-135m"), None)


@pytest.mark.parametrize(
    ("model", "variable", "url"),
    [
        ("openai/gpt-5.2", "OPENAI_BASE_URL", "http://proxy:1/v1"),
        ("anthropic/claude-opus-5", "ANTHROPIC_BASE_URL", "http://proxy:2"),
    ],
)
def test_base_url_comes_from_agent_then_environment_then_provider(
    monkeypatch, model, variable, url
):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert ".com" in str(model_client(spec(model), None).endpoint)
    monkeypatch.setenv(variable, url)
    assert model_client(spec(model), None).endpoint.base_url == url
    assert model_client(spec(model), "http://own:3").endpoint.base_url == "http://own:3"


def test_one_client_per_model_and_endpoint():
    clients = ModelClients()
    first = clients.get(spec("compatible/a"), "http://h:1/v1")

    assert clients.get(spec("compatible/a"), "http://h:1/v1") is first
    assert clients.get(spec("compatible/a"), "http://h:2/v1") is not first
    assert clients.get(spec("compatible/b"), "http://h:1/v1") is not first


def test_the_key_is_in_no_repr(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    endpoint = model_client(spec("openai/gpt-5.2"), "http://user:pass@host:1/v1").endpoint

    assert "sk-canary" not in repr(endpoint)
    assert str(endpoint) == "openai/gpt-5.2 at host:1"


def test_checking_loads_no_sdk():
    program = (
        "import sys\n"
        "from environments.models.registry import require_model\n"
        "from taskdata.schema.agent import ModelSpec\n"
        "require_model(ModelSpec.parse('local/smollm2-135m'), None)\n"
        "print([m for m in ('openai', 'anthropic', 'xllamacpp', 'tenacity') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
