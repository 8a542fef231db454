"""Server-sent events: split for forwarding, and assembled into a reply for the record."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from environments.metering.formats.dialects import Dialect
from environments.metering.formats.replies import MAX_TEXT_CHARS
from environments.models.wire.parts import object_of, objects_of

MAX_EVENT_BYTES = 8 * 1024 * 1024
_MAX_PARTS = 256
_SAID = ("content", "refusal", "reasoning_content", "reasoning")


class Reply(Protocol):
    """A reply that is assembled from the events of its stream."""

    error: object | None
    """The error that the provider reported in the stream; None: there was none."""

    @property
    def is_whole(self) -> bool:
        """Whether the reply is complete."""
        ...

    def add(self, event: Mapping[str, Any]) -> None:
        """Add the next event."""
        ...

    def body(self) -> dict[str, Any]:
        """Return the reply in its form without a stream, as far as it has arrived."""
        ...


class EventSplitter:
    """Splits a stream of bytes into whole events."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the events that are complete now, each with the blank line that ends it.

        Raises:
            ValueError: an event is too long.
        """
        self._rest += chunk
        while (end := _end_of_event(self._rest)) is not None:
            event = bytes(self._rest[:end])
            del self._rest[:end]
            yield event
        if len(self._rest) > MAX_EVENT_BYTES:
            raise ValueError(f"an event of the stream has more than {MAX_EVENT_BYTES} bytes")

    def rest(self) -> bytes:
        """Return the bytes after the last complete event."""
        return bytes(self._rest)


def _end_of_event(data: bytearray) -> int | None:
    ends = [
        place + len(blank) for blank in (b"\n\n", b"\r\n\r\n") if (place := data.find(blank)) >= 0
    ]
    return min(ends, default=None)


def event_data(event: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object of an event; None for comments and end marks."""
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    try:
        data = json.loads(b"\n".join(lines))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def is_end_mark(event: bytes) -> bool:
    """Whether an event marks the end of a stream of chat completions."""
    return event.strip() == b"data: [DONE]"


def is_usage_alone(data: Mapping[str, Any]) -> bool:
    """Whether an event of a chat completion carries usage and nothing else."""
    return data.get("choices") == [] and data.get("usage") is not None


def new_reply(dialect: Dialect) -> Reply:
    """Return an empty reply in the given format."""
    kinds: dict[str, type[Reply]] = {
        "chat": ChatReply,
        "responses": ResponsesReply,
        "messages": MessagesReply,
    }
    return kinds[dialect.name]()


class _Texts:
    """Pieces of text by position, each limited in length."""

    def __init__(self) -> None:
        self._kept: dict[Any, str] = {}

    def add(self, place: object, piece: object) -> None:
        if isinstance(piece, str) and (place in self._kept or len(self._kept) < _MAX_PARTS):
            kept = self._kept.get(place, "")
            if len(kept) < MAX_TEXT_CHARS:
                self._kept[place] = kept + piece

    def __getitem__(self, place: object) -> str:
        return self._kept.get(place, "")


class ChatReply:
    """A chat completion; complete once a finish reason has arrived."""

    def __init__(self) -> None:
        self.error: object | None = None
        self._told: dict[str, Any] = {}
        self._stop = ""
        self._texts = _Texts()
        self._calls: dict[int, str] = {}

    @property
    def is_whole(self) -> bool:
        """Whether the reply is complete."""
        return bool(self._stop)

    def add(self, event: Mapping[str, Any]) -> None:
        """Add the next chunk."""
        if event.get("error"):
            self.error = _reported(event["error"])
        self._told |= {key: event[key] for key in ("model", "usage") if event.get(key)}
        for choice in objects_of(event.get("choices")):
            if choice.get("index", 0) == 0:
                self._stop = self._stop or str(choice.get("finish_reason") or "")
                self._add_delta(choice.get("delta"))

    def body(self) -> dict[str, Any]:
        """Return the reply as far as it has arrived."""
        calls = [
            {
                "id": self._calls[index],
                "function": {key: self._texts[index, key] for key in ("name", "arguments")},
            }
            for index in sorted(self._calls)
        ]
        message = {key: self._texts[key] for key in _SAID} | {"tool_calls": calls}
        return self._told | {"choices": [{"message": message, "finish_reason": self._stop}]}

    def _add_delta(self, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        for key in _SAID:
            self._texts.add(key, delta.get(key))
        for piece in objects_of(delta.get("tool_calls")):
            index, function = piece.get("index"), piece.get("function")
            if not isinstance(index, int) or len(self._calls) >= _MAX_PARTS:
                continue
            self._calls[index] = self._calls.get(index) or str(piece.get("id") or "")
            for key in ("name", "arguments"):
                self._texts.add((index, key), object_of(function).get(key))


class ResponsesReply:
    """A reply of the Responses API; its last event holds all of it."""

    def __init__(self) -> None:
        self.is_whole = False
        self.error: object | None = None
        self._body: dict[str, Any] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Add the next event."""
        kind = event.get("type")
        response = event.get("response")
        if kind == "error":
            self.error = _reported(event.get("error") or event)
        if isinstance(response, dict):
            self._body = response
            self.is_whole = kind in ("response.completed", "response.incomplete")
            if kind == "response.failed":
                self.error = _reported(response.get("error"))

    def body(self) -> dict[str, Any]:
        """Return the reply that the last event held."""
        return self._body


class MessagesReply:
    """A message of Anthropic; the usage of its end is added to the usage of its start."""

    def __init__(self) -> None:
        self.is_whole = False
        self.error: object | None = None
        self._message: dict[str, Any] = {}
        self._texts = _Texts()
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Add the next event."""
        kind, index, delta = event.get("type"), event.get("index"), object_of(event.get("delta"))
        if kind == "error":
            self.error = _reported(event.get("error"))
        elif kind == "message_start":
            self._message = object_of(event.get("message"))
        elif kind == "content_block_start" and isinstance(index, int):
            if len(self._blocks) < _MAX_PARTS:
                self._blocks[index] = object_of(event.get("content_block"))
        elif kind == "content_block_delta" and isinstance(index, int):
            self._texts.add((index, "text"), delta.get("text"))
            self._texts.add((index, "thinking"), delta.get("thinking"))
            self._texts.add((index, "input"), delta.get("partial_json"))
        elif kind == "message_delta":
            self._add_end(delta, object_of(event.get("usage")))
        self.is_whole = self.is_whole or kind == "message_stop"

    def body(self) -> dict[str, Any]:
        """Return the reply as far as it has arrived."""
        return self._message | {"content": [self._block(index) for index in sorted(self._blocks)]}

    def _block(self, index: int) -> dict[str, Any]:
        block = self._blocks[index]
        if (kind := block.get("type")) in ("text", "thinking"):
            return block | {kind: str(block.get(kind, "")) + self._texts[index, kind]}
        written = self._texts[index, "input"]
        if not written:
            return block
        try:
            return block | {"input": json.loads(written)}
        except (ValueError, RecursionError):
            return block | {"input": {"unreadable": written}}

    def _add_end(self, delta: dict[str, Any], usage: dict[str, Any]) -> None:
        told = {name: count for name, count in usage.items() if count is not None}
        self._message |= {"usage": object_of(self._message.get("usage")) | told}
        if delta.get("stop_reason"):
            self._message["stop_reason"] = delta["stop_reason"]


def _reported(error: object) -> object:
    return error or {"message": "an error without a message"}
