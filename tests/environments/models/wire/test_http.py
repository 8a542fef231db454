"""Which way a request takes, and what it leaves behind."""

import asyncio
import gzip
import json
import socket

import pytest

from environments.models.wire.endpoint import Endpoint
from environments.models.wire.http import MAX_ANSWER_BYTES, open_session
from environments.ports import Message
from taskdata.errors import ModelRejected, ModelUnavailable
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


def test_a_silent_server_is_asked_whether_it_is_still_there():
    async def probes(client) -> list[int]:
        async with open_session() as session, session.get(client) as answered:
            probing = answered.connection.transport.get_extra_info("socket")
            return [
                probing.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                probing.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
            ]

    async def thinks(reader, writer) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")
        await writer.drain()

    async def asked() -> list[int]:
        server = await asyncio.start_server(thinks, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            return await probes(f"http://127.0.0.1:{port}/")
        finally:
            server.close()

    is_on, idle_seconds = asyncio.run(asked())
    assert is_on
    # Routers forget connections that are silent for some minutes.
    assert idle_seconds <= 60


def test_what_was_never_sent_is_told_apart(wire, new_client, ask):
    wire.respond = lambda seen: wire.drops()
    with pytest.raises(ModelUnavailable) as dropped:
        ask(new_client("compatible"))
    with pytest.raises(ModelUnavailable) as unconnected:
        ask(new_client("compatible", url="http://127.0.0.1:9/v1"))

    costs = [
        {attempt.cost_at_most_usd for attempt in caught.value.failed_attempts}
        for caught in (dropped, unconnected)
    ]
    # The price of a compatible server's model is not known.
    assert costs == [{None}, {0.0}]


@pytest.mark.parametrize(
    "echo", ["sk-0123/45+67=", "sk-0123\\/45+67=", "sk-0123%2F45%2B67%3D", "sk-0123/45%2B67%3D"]
)
def test_what_a_server_sends_never_repeats_the_key(echo):
    endpoint = Endpoint(ModelSpec.parse("openai/m"), "https://host/v1", "sk-0123/45+67=")

    assert endpoint.without_key(f"your key {echo} is".encode()) == b"your key [key] is"


def test_the_word_for_no_key_may_be_part_of_an_answer():
    endpoint = Endpoint(ModelSpec.parse("compatible/m"), "http://host/v1", "none")

    assert endpoint.without_key(b"none of them") == b"none of them"


def test_headers_for_openai_reach_no_third_party(wire, new_client, ask, monkeypatch):
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-gateway: secret")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")

    ask(new_client("compatible"))
    ask(new_client("openai"))

    third, own = ({k.lower(): v for k, v in seen.headers.items()} for seen in wire.seen)
    assert not {"x-gateway", "openai-organization"} & set(third)
    assert (own["x-gateway"], own["openai-organization"]) == ("secret", "org-1")


def test_an_answer_that_unpacks_to_more_than_memory_holds_is_cut_off(wire, new_client, ask):
    packed = gzip.compress(b" " * (MAX_ANSWER_BYTES + 1))
    wire.then(wire.sends(packed, headers={"content-encoding": "gzip"}))

    with pytest.raises(ModelRejected, match=f"more than {MAX_ANSWER_BYTES} bytes"):
        ask(new_client("compatible"))


def test_a_packing_that_nobody_asked_for_is_refused(wire, new_client, dialect, ask):
    wire.then(wire.sends(b"?", headers={"content-encoding": "zstd"}))

    with pytest.raises(ModelRejected, match="the answer comes as zstd"):
        ask(new_client(dialect))
    assert len(wire.seen) == 1


def test_a_packed_answer_is_read(wire, new_client, ask):
    body = {"choices": [{"message": {"content": "Hi."}}]}
    packed = gzip.compress(json.dumps(body).encode())
    wire.then(wire.sends(packed, headers={"content-encoding": "gzip"}))

    assert ask(new_client("compatible")).text == "Hi."
