"""The output of a running program, buffered for one reader with back-pressure."""

import asyncio

_BYTES_AHEAD = 1 << 18


class Pipe:
    """Blocks the writer while too much is unread; nothing that was written is lost."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._ended = False
        self._changed = asyncio.Condition()

    async def feed(self, chunk: bytes) -> None:
        """Add `chunk` once there is room; after the end it is dropped."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._ended or len(self._unread) < _BYTES_AHEAD)
            if not self._ended:
                self._unread += chunk
                self._changed.notify_all()

    async def end(self) -> None:
        """Mark the end of the output; what is unread can still be read."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def read(self) -> bytes:
        """Return all unread bytes, waiting for some; nothing once the output has ended."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._unread or self._ended)
            chunk = bytes(self._unread)
            self._unread.clear()
            self._changed.notify_all()
            return chunk
