"""Bytes between two peers, in both directions, until both have ended or both are idle."""

import asyncio
import contextlib
import time

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_CHUNK = 1 << 16
_SECONDS_TO_FLUSH = 5.0


async def carry(one: Streams, other: Streams, idle_seconds: float) -> None:
    """Carry bytes between two peers; each end of input is passed on, and both stay open.

    Returns when both peers have ended, when one connection is lost, or when no byte has moved for
    `idle_seconds`.
    """
    moved = [time.monotonic()]
    ways = {
        asyncio.create_task(_carry_one_way(one[0], other[1], moved)),
        asyncio.create_task(_carry_one_way(other[0], one[1], moved)),
    }
    try:
        left = idle_seconds
        while ways and left > 0:
            done, ways = await asyncio.wait(ways, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not all(way.result() for way in done):
                return
            left = moved[0] + idle_seconds - time.monotonic()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _carry_one_way(
    source: asyncio.StreamReader, target: asyncio.StreamWriter, moved: list[float]
) -> bool:
    """Return whether the end of the stream was reached; False if a connection was lost."""
    with contextlib.suppress(OSError):
        while chunk := await source.read(_CHUNK):
            moved[0] = time.monotonic()
            target.write(chunk)
            await target.drain()
            moved[0] = time.monotonic()
        target.write_eof()
        return True
    return False


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection; data that the peer does not read in time is dropped."""
    writer.close()
    try:
        async with asyncio.timeout(_SECONDS_TO_FLUSH):
            await writer.wait_closed()
    except OSError:
        writer.transport.abort()
