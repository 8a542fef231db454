"""Attacks on keys: a run that anybody could have started names the server that would get one."""

import pytest

from environments.models.generators import image_model, video_model
from environments.models.keys import pair_endpoints, pair_keys
from environments.models.registry import model_client, model_endpoint, require_model
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec

KEYS = ("OPENAI", "ANTHROPIC", "COMPATIBLE")


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name in KEYS:
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-{name}")
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    monkeypatch.setenv("NIGHTSHIFT_KEY_PAIRS", "")


def key_for(model, url):
    return model_endpoint(ModelSpec.parse(model), url).key


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1",
        "https://api.openai.com.evil.example/v1",
        "https://evilapi.openai.com/v1",
        "https://evil.example/api.openai.com",
        "https://evil.example#.api.openai.com",
        "https://evil.example?.api.openai.com",
        "https://evil.example\\.api.openai.com/v1",
        "https://api.openai.com\t.evil.example/v1",
        "https://evil.example%2f.api.openai.com/v1",
        "https://evil.example\uff0f.api.openai.com/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com:port/v1",
        "http://127.0.0.1:8000/v1",
        "http://[::1]:8000/v1",
    ],
)
@pytest.mark.parametrize("model", ["openai/gpt-5.2", "anthropic/claude", "compatible/m"])
def test_a_server_that_nobody_has_paired_gets_no_key(model, url):
    spec = ModelSpec.parse(model)
    asks = [require_model, model_client, model_endpoint]
    asks += [] if spec.provider == "anthropic" else [image_model]
    asks += [video_model] if spec.provider == "compatible" else []
    for ask in asks:
        with pytest.raises(Misuse) as refused:
            ask(spec, url)
        assert "sk-" not in str(refused.value)
        assert "\n" not in str(refused.value)


def test_the_refusal_says_what_pairs_them():
    with pytest.raises(Misuse) as refused:
        key_for("compatible/m", "https://llm.example.org/v1")
    assert "COMPATIBLE_API_KEY is not sent to https://llm.example.org:443" in str(refused.value)
    assert '[key_hosts] in nightshift.toml `compatible = ["https://llm' in str(refused.value)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("openai/gpt-5.2", None),
        ("openai/gpt-5.2", "https://api.openai.com/v1"),
        ("openai-chat/gpt-5.2", "https://eu.api.openai.com/v1"),
        ("anthropic/claude", "https://API.anthropic.com:443"),
    ],
)
def test_the_providers_own_servers_get_it(model, url):
    assert key_for(model, url).startswith("sk-")


def test_a_server_gets_the_key_that_it_was_paired_with_and_no_other():
    pair_keys({"compatible": ["https://llm.example.org"]})
    pair_endpoints([(ModelSpec.parse("openai-chat/m"), "http://gateway:8000/v1")])
    assert key_for("compatible/m", "https://llm.example.org/v1") == "sk-COMPATIBLE"
    assert key_for("openai/m", "http://gateway:8000/other") == "sk-OPENAI"
    for model, url in [
        ("openai/m", "https://llm.example.org/v1"),
        ("compatible/m", "http://gateway:8000/v1"),
        ("compatible/m", "http://llm.example.org/v1"),
        ("compatible/m", "https://llm.example.org:8443/v1"),
        ("openai/m", "http://gateway:8001/v1"),
    ]:
        with pytest.raises(Misuse, match="is not sent to"):
            key_for(model, url)


def test_the_server_that_the_environment_names_beside_the_key_gets_it(monkeypatch):
    monkeypatch.setenv("COMPATIBLE_BASE_URL", "http://127.0.0.1:8000/v1")
    assert key_for("compatible/m", None) == "sk-COMPATIBLE"
    assert key_for("compatible/m", "http://127.0.0.1:8000/v2") == "sk-COMPATIBLE"
    with pytest.raises(Misuse, match="is not sent to"):
        key_for("openai/m", "http://127.0.0.1:8000/v1")


def test_where_there_is_no_key_any_server_is_asked(monkeypatch):
    monkeypatch.delenv("COMPATIBLE_API_KEY")
    assert key_for("compatible/m", "http://127.0.0.1:8000/v1") == "none"


@pytest.mark.parametrize("servers", [{"nobody": ["https://h"]}, {"local": ["https://h"]}])
def test_a_provider_without_a_key_cannot_be_paired(servers):
    with pytest.raises(Misuse, match=r"key_hosts\.\w+: no provider with a key; there are openai"):
        pair_keys(servers)


def test_a_login_is_not_repeated():
    with pytest.raises(Misuse) as refused:
        pair_keys({"openai": ["ftp://me:s3cret@host"]})
    assert "s3cret" not in str(refused.value)
