"""What the proxy lets through, what it refuses, and what it does not let itself be made to do."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from environments.network import proxy as proxy_module
from environments.network.allowed import allowed_network, serving
from environments.network.policy import Policy, Resolver
from environments.network.proxy import MAX_CONNECTIONS, MAX_HEAD_BYTES, MAX_REFUSED, Proxy

Upstream = tuple[int, list[bytes]]


@asynccontextmanager
async def proxied(
    resolver: Resolver, *allow: str, **limits: float
) -> AsyncIterator[tuple[Proxy, Path]]:
    proxy = Proxy(Policy(allow, resolver), **limits)
    async with serving(proxy) as path:
        yield proxy, path


@asynccontextmanager
async def upstream(answer: bytes = b"ok\n") -> AsyncIterator[Upstream]:
    """A web server on the host's loopback: yields its port, and what it will have heard."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
        heard.append(head + await reader.readexactly(int(length or 0)))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()
        await server.wait_closed()


async def ask(path: Path, *parts: bytes) -> bytes:
    """Return all that the proxy answers to bytes that are sent as they are."""
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await reader.read(-1)
        finally:
            writer.close()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def connect(target: str) -> bytes:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


def test_a_tunnel_carries_both_ways_what_it_does_not_understand(names: Callable[..., Resolver]):
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()

    async def run() -> bytes:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, proxied(names(), f"127.0.0.1:{port}") as (_, path):
            reader, writer = await asyncio.open_unix_connection(path)
            # What follows the request at once belongs to the tunnel.
            writer.write(connect(f"127.0.0.1:{port}") + b"\x16\x03early ")
            assert status(await reader.readuntil(b"\r\n\r\n")) == 200
            sending = asyncio.create_task(_send(writer, bytes(5 << 20)))
            received = await reader.read(-1)
            await sending
            writer.close()
            return received

    assert asyncio.run(run()) == b"\x16\x03early " + bytes(5 << 20)


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()
    writer.write_eof()


def test_plain_http_is_sent_on_for_the_host_that_was_checked(names):
    async def run() -> tuple[bytes, list[bytes]]:
        async with (
            upstream() as (port, heard),
            proxied(
                names({"shop.example": ["127.0.0.1"]}), f"shop.example:{port}", f"127.0.0.1:{port}"
            ) as (_, path),
        ):
            answer = await ask(
                path,
                f"POST http://user:pw@shop.example:{port}/a?b=1#c HTTP/1.1\r\n".encode(),
                b"Host: internal.example\r\nProxy-Authorization: Basic c2VjcmV0\r\n"
                b"Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX-Kept: 2\r\n"
                b"Content-Length: 4\r\n\r\nbo",
                b"dy",
            )
            return answer, [line.replace(str(port).encode(), b"PORT") for line in heard]

    answer, [heard] = asyncio.run(run())
    assert answer.endswith(b"\r\n\r\nok\n")
    assert heard == (
        b"POST /a?b=1 HTTP/1.1\r\nHost: shop.example:PORT\r\nX-Kept: 2\r\n"
        b"Content-Length: 4\r\nConnection: close\r\n\r\nbody"
    )


def test_a_second_request_on_a_connection_goes_nowhere(names):
    async def run() -> tuple[bytes, list[bytes], object]:
        async with (
            upstream() as (port, heard),
            proxied(names(), f"127.0.0.1:{port}") as (proxy, path),
        ):
            target = f"http://127.0.0.1:{port}/"
            smuggled = b"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n"
            first = f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
            return await ask(path, first + smuggled), heard, proxy.refused()

    answer, heard, refused = asyncio.run(run())
    assert answer.count(b"HTTP/1.1") == len(heard) == 1
    assert b"other.example" not in heard[0]
    assert refused == ()


def test_what_is_not_allowed_is_refused_and_recorded(names):
    table = {"rebound.example": ["169.254.169.254"]}

    async def run() -> tuple[list[bytes], object]:
        async with proxied(names(table), "rebound.example") as (proxy, path):
            answers = [
                await ask(path, connect("example.org:443")),
                await ask(path, connect("example.org:443")),
                await ask(path, b"GET http://[::1]/ HTTP/1.1\r\nHost: x\r\n\r\n"),
                await ask(path, connect("rebound.example:80")),
            ]
            return answers, proxy.refused()

    answers, refused = asyncio.run(run())
    assert [status(answer) for answer in answers] == [403] * 4
    assert b"example.org:443 is not in the task's list of hosts" in answers[0]
    assert [(r.target, r.times) for r in refused] == [
        ("example.org:443", 2),
        ("[::1]:80", 1),
        ("rebound.example:80", 1),
    ]
    assert "not public" in refused[2].reason


def test_a_name_that_changes_after_it_was_checked_leads_nowhere_else(names):
    async def run() -> bytes:
        async with upstream() as (port, heard):
            # 192.0.2.1 is for documentation: only a second look, ours or the system's, could lead
            # to our server.
            table = {"localhost": ["192.0.2.1", "127.0.0.1"]}
            allow = f"localhost:{port}"
            async with proxied(names(table), allow, f"192.0.2.1:{port}") as (_, path):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(proxy_module, "_SECONDS_TO_CONNECT", 0.3)
                    answer = await ask(path, connect(allow))
            assert heard == []
            return answer

    assert status(asyncio.run(run())) == 502


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"GET https://example.org/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://*.example.org/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT example.org HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT example.org:99999 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n",
    ],
)
def test_what_names_no_target_is_a_bad_request(names, request_: bytes):
    async def run() -> bytes:
        async with proxied(names(), "*.example.org", "example.org") as (_, path):
            return await ask(path, request_)

    assert status(asyncio.run(run())) == 400


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (b"http://127.0.0.1:PORT", b"/"),
        (b"HTTP://127.0.0.1:PORT?q", b"/?q"),
        (b"http://127.0.0.1:PORT//a//?b?c", b"//a//?b?c"),
        (b"http://allowed.example\\@127.0.0.1:PORT/", b"/"),
    ],
)
def test_a_url_is_read_once_and_what_was_read_is_asked_for(names, url: bytes, path: bytes):
    async def run() -> bytes:
        async with (
            upstream() as (port, heard),
            proxied(names(), f"127.0.0.1:{port}") as (_, exposed),
        ):
            target = url.replace(b"PORT", str(port).encode())
            await ask(exposed, b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            return heard[0].split(b" ")[1]

    assert asyncio.run(run()) == path


def test_a_tunnel_that_is_asked_for_with_a_body_harms_nobody(names):
    async def run() -> tuple[bytes, bytes]:
        async with upstream() as (port, _), proxied(names(), f"127.0.0.1:{port}") as (_, path):
            target = f"127.0.0.1:{port}"
            head = connect(target)[:-2] + b"Content-Length: 5\r\n\r\n"
            strange = await ask(path, head + b"GET / HTTP/1.1\r\n\r\n")
            plain = f"GET http://{target}/ HTTP/1.1\r\nHost: x\r\n\r\n"
            return strange, await ask(path, plain.encode())

    strange, after = asyncio.run(run())
    assert strange.count(b"HTTP/1.1 ") <= 2
    assert status(after) == 200


def test_a_head_is_bounded_in_size_and_time(names):
    async def run() -> tuple[bytes, bytes, bytes]:
        async with proxied(names(), "example.org", seconds_for_head=0.3) as (_, path):
            long = b"GET http://example.org/ HTTP/1.1\r\nX: " + b"x" * (MAX_HEAD_BYTES + 1)
            slow = b"GET http://example.org/ HTTP/1.1\r\nX: "
            return await ask(path, long), await ask(path, slow), await ask(path)

    long, slow, silent = asyncio.run(run())
    assert (status(long), status(slow), status(silent)) == (431, 408, 408)


def test_a_tunnel_in_which_nothing_moves_ends(names):
    async def run() -> bytes:
        silent = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        allow = f"127.0.0.1:{port}"
        async with proxied(names(), allow, idle_seconds=0.2) as (_, path):
            answer = await ask(path, connect(allow))
        silent.close()
        return answer

    assert status(asyncio.run(run())) == 200


def test_connections_beyond_the_limit_are_cut_off_and_those_within_served(names):
    async def run() -> tuple[bytes, object, bytes]:
        async with proxied(names(), "example.org") as (proxy, path):
            held = [await asyncio.open_unix_connection(path) for _ in range(MAX_CONNECTIONS)]
            await asyncio.sleep(0.1)
            try:
                refused = await ask(path, connect("other.org:443"))
            except ConnectionError:
                refused = b""
            for _, writer in held:
                writer.close()
            await asyncio.sleep(0.1)
            return refused, proxy.refused(), await ask(path, connect("other.org:443"))

    cut_off, [noted], served = asyncio.run(run())
    assert cut_off == b""
    assert (noted.target, noted.times) == ("*", 1)
    assert status(served) == 403


def test_the_record_of_refused_targets_is_bounded(names):
    async def run() -> object:
        async with proxied(names(), "example.org") as (proxy, path):
            for number in range(MAX_REFUSED + 5):
                await ask(path, connect(f"host{number}.evil:443"))
            return proxy.refused()

    refused = asyncio.run(run())
    assert len(refused) == MAX_REFUSED + 1
    assert (refused[-1].target, refused[-1].times) == ("*", 5)


def test_a_server_that_is_not_there_is_told_from_one_that_is_not_allowed(names):
    async def run() -> tuple[bytes, object]:
        async with upstream() as (port, _):
            gone = f"127.0.0.1:{port}"
        async with proxied(names(), gone) as (proxy, path):
            return await ask(path, connect(gone)), proxy.refused()

    answer, refused = asyncio.run(run())
    assert (status(answer), refused) == (502, ())


def test_no_host_allowed_means_no_proxy_and_the_socket_goes_with_the_block():
    async def run() -> tuple[int, Path]:
        async with allowed_network(()) as none, allowed_network(("example.org",)) as some:
            assert none.exposed_ports == ()
            [exposed] = some.exposed_ports
            assert exposed.allows == ("example.org",)
            assert list(exposed.socket.parent.iterdir()) == [exposed.socket]
            assert dict(exposed.variables)["https_proxy"] == f"http://127.0.0.1:{exposed.port}"
            return status(await ask(exposed.socket, connect("127.0.0.1:22"))), exposed.socket

    answer, socket = asyncio.run(run())
    assert answer == 403
    assert not socket.parent.parent.exists()
