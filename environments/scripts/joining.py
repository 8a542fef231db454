"""Connects Unix sockets to servers on loopback, from inside the servers' sandbox.

The other half is the relay of `environments.sandbox.exposed`, which runs in the clients' sandboxes.
"""

import asyncio
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from environments.sandbox.exposed.listening import listening_socket

_LOOPBACK = "127.0.0.1"

_CHUNK = 1 << 16


def joined(sockets: Mapping[int, Path]) -> None:
    """Listen on a Unix socket for each port, and forward connections until the process ends.

    Raises:
        OSError: a socket cannot be made.
    """
    bound = {port: listening_socket(path) for port, path in sockets.items()}

    async def serve() -> None:
        servers = [
            await asyncio.start_unix_server(partial(_forward, port), sock=unix)
            for port, unix in bound.items()
        ]
        await asyncio.gather(*(server.serve_forever() for server in servers))

    for unix in bound.values():
        unix.listen()
    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()


async def _forward(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        answers, asks = await asyncio.open_connection(_LOOPBACK, port)
    except OSError:
        writer.transport.abort()
        return
    try:
        await asyncio.gather(_copy(reader, asks), _copy(answers, writer))
    finally:
        asks.close()
        writer.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while chunk := await source.read(_CHUNK):
            target.write(chunk)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
    except OSError:
        # After one side is lost, the other must not wait for more data.
        target.transport.abort()
