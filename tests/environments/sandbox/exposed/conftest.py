"""A service behind an exposed port: a Unix socket on the host that gives back what it gets."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from environments.ports import ExposedPort

Echo = Callable[..., AbstractAsyncContextManager[ExposedPort]]


async def _give_back(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.fixture
def echo(tmp_path: Path) -> Echo:
    """Serve within a block, under a port and with a word to say first."""

    @asynccontextmanager
    async def open_echo(port: int = 7007, first: bytes = b"") -> AsyncIterator[ExposedPort]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(first)
            await _give_back(reader, writer)

        folder = tmp_path / f"service-{port}-{first.decode()}"
        folder.mkdir(exist_ok=True)
        exposed = ExposedPort(port, folder / "s", (("ECHO_PORT", str(port)),))
        server = await asyncio.start_unix_server(serve, exposed.socket)
        exposed.socket.chmod(0o666)
        try:
            yield exposed
        finally:
            server.close()
            # What asyncio does by itself from Python 3.13.
            exposed.socket.unlink(missing_ok=True)

    return open_echo
