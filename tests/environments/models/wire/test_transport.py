"""Which way a request takes, and what it leaves behind."""

import pytest

from environments.models.wire.transport import Endpoint
from environments.ports import Message
from taskdata.errors import ModelUnavailable
from taskdata.schema.agent import ModelSpec

FAR = "http://model.invalid:81/v1"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_the_proxy_of_the_environment_is_used(wire, new_client, ask, monkeypatch):
    monkeypatch.setenv("http_proxy", wire.url)
    wire.then(wire.says("Hi."))

    assert ask(new_client("compatible", url=FAR)).text == "Hi."
    assert wire.seen[0].headers["Host"] == "model.invalid:81"


@pytest.mark.parametrize(("provider", "excepted"), [("compatible", "model.invalid"), ("local", "")])
def test_but_not_for_hosts_it_excepts_nor_for_local_models(
    wire, new_client, ask, monkeypatch, provider, excepted
):
    monkeypatch.setenv("http_proxy", wire.url)
    monkeypatch.setenv("no_proxy", excepted)

    with pytest.raises(ModelUnavailable):
        ask(new_client(provider, url=FAR))
    assert wire.seen == []


def test_logins_of_netrc_do_not_take_the_place_of_the_key(
    wire, new_client, ask, monkeypatch, tmp_path, key
):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    ask(new_client("compatible"))

    assert wire.seen[0].headers["Authorization"] == f"Bearer {key}"


def test_a_body_of_megabytes_arrives_whole(wire, new_client, dialect, ask, recwarn):
    ask(new_client(dialect), Message("user", "x" * 3_000_000))

    assert "x" * 3_000_000 in str(wire.seen[0].body)
    assert [w for w in recwarn if issubclass(w.category, ResourceWarning)] == []


def test_an_endpoint_shows_neither_key_nor_login():
    endpoint = Endpoint(ModelSpec.parse("openai/m"), "https://me:secret@host/v1", "sk-key")

    assert str(endpoint) == "openai/m at host"
    assert "sk-key" not in repr(endpoint)
    assert "secret" not in repr(endpoint)
