"""Relays a stream to the program as it arrives, but its end only after the answer is stored.

A program acts on an answer once it has seen its end, and such an answer must not be lost.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from environments.metering.answers import MAX_STORED_BYTES
from environments.metering.formats.dialects import Dialect
from environments.metering.formats.streams import (
    MAX_EVENT_BYTES,
    EventSplitter,
    event_data,
    is_end_mark,
    is_usage_alone,
    new_reply,
)

if TYPE_CHECKING:
    from aiohttp import web

_SECONDS_AFTER_END = 1.0
"""How long to wait for the provider to end the response, so that the connection is reusable."""


class StreamRelay:
    """Relays one stream, from its first byte to its end."""

    def __init__(
        self, dialect: Dialect, hides_usage: bool, without_key: Callable[[bytes], bytes]
    ) -> None:
        """Relay a stream of that format; `hides_usage`: the program did not ask for usage."""
        self.reply = new_reply(dialect)
        self._has_end_mark = dialect.name == "chat"
        self._hides_usage = hides_usage
        self._without_key = without_key
        self._events = EventSplitter()
        self._held = bytearray()
        self._content = bytearray()
        self._has_ended = False
        self.broke_off = ""
        """Why the stream broke off; empty if it did not."""

    @property
    def is_whole(self) -> bool:
        """Whether the stream has ended with a complete reply."""
        ended_well = self._has_ended and not self.broke_off
        return ended_well and self.reply.is_whole and self.reply.error is None

    @property
    def content(self) -> bytes | None:
        """All that arrived, without the API key; None if it is too long to be stored."""
        return None if len(self._content) > MAX_STORED_BYTES else bytes(self._content)

    async def begin(self, pieces: AsyncIterator[bytes], response: "web.StreamResponse") -> None:
        """Relay everything but the end; if the stream breaks off, `broke_off` says why."""
        import aiohttp

        try:
            async for event in self._begun(pieces):
                await _passed_on(response, event)
        except (aiohttp.ClientError, OSError, ValueError) as exc:
            self.broke_off = f"the stream broke off: {exc or type(exc).__name__}"

    async def end(self, pieces: AsyncIterator[bytes], response: "web.StreamResponse") -> None:
        """Relay the end that was held back."""
        import aiohttp

        await _passed_on(response, bytes(self._held))
        with suppress(TimeoutError, aiohttp.ClientError, OSError):
            async with asyncio.timeout(_SECONDS_AFTER_END):
                async for _ in pieces:
                    pass

    async def _begun(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in pieces:
            for event in self._events.feed(piece):
                if passed := self._taken(event):
                    yield passed
                if self._is_last(event):
                    self._has_ended = True
                    return
        if rest := self._without_key(self._events.rest()):
            self._note(rest)
            self._hold(rest)
        self._has_ended = True

    def _taken(self, event: bytes) -> bytes:
        """Process an event and return the bytes that may be passed on now."""
        clean = self._without_key(event)
        data = event_data(clean)
        self._note(clean)
        if data is not None:
            self.reply.add(data)
            if self._hides_usage and is_usage_alone(data):
                return b""
        if not self.reply.is_whole:
            return b"" if is_end_mark(event) else clean
        self._hold(clean)
        return b""

    def _is_last(self, event: bytes) -> bool:
        # A chat completion reports its usage after its finish reason.
        return is_end_mark(event) if self._has_end_mark else self.reply.is_whole

    def _note(self, clean: bytes) -> None:
        if len(self._content) <= MAX_STORED_BYTES:
            self._content += clean

    def _hold(self, clean: bytes) -> None:
        self._held += clean
        if len(self._held) > MAX_EVENT_BYTES:
            raise ValueError(f"more than {MAX_EVENT_BYTES} bytes follow the reply")


async def _passed_on(response: "web.StreamResponse", event: bytes) -> None:
    # The provider charges for the rest even if the program has left, so it is read to its end.
    with suppress(ConnectionError):
        await response.write(event)
