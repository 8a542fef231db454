import subprocess
import sys

import keyring
import keyring.core
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, NoKeyringError

from environments.models.keys import pair_keys
from environments.models.openai.chat import OpenAIClient
from environments.models.openai.responses import OpenAIResponsesClient
from environments.models.registry import ModelClients, model_client, require_model
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec


def spec(text: str) -> ModelSpec:
    return ModelSpec.parse(text)


class Ring(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self, keys: dict[str, str] | None = None) -> None:
        super().__init__()
        self.keys = keys or {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.keys.get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.keys[f"{service} {username}"] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.keys[f"{service} {username}"]


class BrokenRing(Ring):
    """A keyring that fails as real ones do."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self.fault = fault

    def get_password(self, service: str, username: str) -> str | None:
        raise self.fault


@pytest.fixture
def ring(monkeypatch):
    """Put another keyring in the place of this machine's."""

    def put(backend: KeyringBackend) -> KeyringBackend:
        monkeypatch.setattr(keyring.core, "_keyring_backend", backend)
        return backend

    return put


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch, ring):
    ring(Ring())
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NIGHTSHIFT_KEY_PAIRS", "")


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


def test_a_base_url_with_a_login_is_refused_without_showing_it():
    with pytest.raises(Misuse, match="holds a login") as refused:
        require_model(spec("compatible/m"), "https://me:s3cret@host/v1")
    assert "s3cret" not in str(refused.value)


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
    pair_keys({model.partition("/")[0]: ["http://own:3"]})
    assert model_client(spec(model), "http://own:3").endpoint.base_url == "http://own:3"


def test_one_client_per_model_and_endpoint():
    clients = ModelClients()
    first = clients.get(spec("compatible/a"), "http://h:1/v1")

    assert clients.get(spec("compatible/a"), "http://h:1/v1") is first
    assert clients.get(spec("compatible/a"), "http://h:2/v1") is not first
    assert clients.get(spec("compatible/b"), "http://h:1/v1") is not first


def test_the_key_is_in_no_repr(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:pass@host:1/v1")
    endpoint = model_client(spec("openai/gpt-5.2"), None).endpoint

    assert "sk-canary" not in repr(endpoint)
    assert "pass" not in repr(endpoint)
    assert str(endpoint) == "openai/gpt-5.2 at host:1"


def test_checking_loads_no_sdk():
    program = (
        "import sys\n"
        "from environments.models.registry import require_model\n"
        "from taskdata.schema.agent import ModelSpec\n"
        "require_model(ModelSpec.parse('local/smollm2-135m'), None)\n"
        "print([m for m in ('openai', 'anthropic', 'aiohttp', 'keyring') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_key_may_lie_in_the_keyring(ring):
    ring(Ring({"nightshift OPENAI_API_KEY": " sk-ring\n"}))

    assert model_client(spec("openai/gpt-5.2"), None).endpoint.key == "sk-ring"


def test_the_environment_goes_before_the_keyring(ring, monkeypatch):
    ring(Ring({"nightshift OPENAI_API_KEY": "sk-ring"}))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")

    assert model_client(spec("openai/gpt-5.2"), None).endpoint.key == "sk-environment"


@pytest.mark.parametrize(
    "fault",
    [NoKeyringError("none"), KeyringLocked("locked"), OSError("no bus"), RuntimeError("dbus")],
)
def test_a_keyring_that_cannot_be_asked_is_no_key_and_both_ways_are_named(ring, fault):
    ring(BrokenRing(fault))

    with pytest.raises(Misuse, match="OPENAI_API_KEY, or store the key with `keyring set night"):
        require_model(spec("openai/gpt-5.2"), None)
    assert model_client(spec("compatible/qwen"), "http://h:1/v1").endpoint.key == "none"


@pytest.mark.parametrize(
    ("model", "url", "kind"),
    [
        ("openai/gpt-5.2", None, OpenAIResponsesClient),
        ("openai/o4-mini", None, OpenAIResponsesClient),
        ("openai/gpt-4.1", None, OpenAIClient),
        ("openai/gpt-5.2", "https://eu.api.openai.com/v1", OpenAIResponsesClient),
        ("openai/gpt-5.2", "http://proxy:1/v1", OpenAIClient),
        ("openai/gpt-5.2", "https://api.openai.com.example.org/v1", OpenAIClient),
        ("openai-chat/gpt-5.2", None, OpenAIClient),
        ("openai-responses/gpt-4.1", "http://proxy:1/v1", OpenAIResponsesClient),
        ("compatible/gpt-5.2", "http://proxy:1/v1", OpenAIClient),
    ],
)
def test_which_format_a_model_is_asked_in(monkeypatch, model, url, kind):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    pair_keys({"openai": ["http://proxy:1", "https://api.openai.com.example.org"]})

    assert type(model_client(spec(model), url)) is kind
