"""A model server that costs as little as one can: canned answers after a fixed time, no parsing.

It speaks OpenAI's chat completions and Anthropic's messages. A conversation is answered with one
tool call a turn until it holds `turns` results, then with a final answer; where there is a limit,
a call above it is refused at once; where there is a straggler, the first call takes as long.
It runs in a process of its own, so that what it uses is not counted as the harness's.

`python model_server.py SECONDS TURNS CALLS_AT_A_TIME STRAGGLER_SECONDS TOOL` prints its port; the
tool is a JSON list of its name and its arguments.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TOOL, ARGUMENTS = "sleep", {"seconds": 0.001}
TOOL_SECONDS = 0.001
"""What the tool takes by itself."""
ANSWER = "Done."
MODEL = "benchmark-model"

_NO_LIMIT = 1_000_000
_END_OF_HEADERS = b"\r\n\r\n"
_LENGTH = b"content-length:"


@contextmanager
def model_server(
    latency: float,
    turns: int,
    most: int = _NO_LIMIT,
    straggler: float = 0.0,
    tool: tuple[str, dict[str, Any]] = (TOOL, ARGUMENTS),
) -> Iterator[str]:
    """Yield the root URL (without `/v1`) of a server that answers after `latency` seconds.

    More calls than `most` at a time are refused with status 429. The first call takes `straggler`
    seconds longer. Every turn but the last calls `tool`, a name with its arguments.
    """
    settings = (latency, turns, most, straggler, json.dumps(tool))
    command = [sys.executable, __file__, *map(str, settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("the model server has no standard output")
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


class _Room:
    """How many more calls are taken now, and how much longer the next one takes."""

    def __init__(self, most: int, straggler: float) -> None:
        self.left = most
        self.extra = straggler


class _Connection(asyncio.Protocol):
    def __init__(self, latency: float, replies: dict[bytes, list[bytes]], room: _Room) -> None:
        self._latency = latency
        self._replies = replies
        self._room = room
        self._received = bytearray()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head = self._received.find(_END_OF_HEADERS)
        if head < 0:
            return
        headers = bytes(self._received[:head]).lower()
        start = headers.index(_LENGTH) + len(_LENGTH)
        whole = head + len(_END_OF_HEADERS) + int(headers[start:].split(b"\r\n", 1)[0])
        if len(self._received) < whole:
            return
        reply = self._reply(headers, whole)
        del self._received[:whole]
        if self._room.left < 1:
            self._send(_REFUSAL)
        elif seconds := self._latency + self._room.extra:
            self._room.left -= 1
            self._room.extra = 0.0
            self._loop.call_later(seconds, self._send_and_leave, reply)
        else:
            self._send(reply)

    def _reply(self, headers: bytes, whole: int) -> bytes:
        path = headers.split(b" ", 2)[1].partition(b"?")[0]
        mark = b'"tool_use_id"' if path.endswith(b"/messages") else b'"tool_call_id"'
        replies = self._replies[path.rpartition(b"/")[2]]
        return replies[min(self._received.count(mark, 0, whole), len(replies) - 1)]

    def _send_and_leave(self, reply: bytes) -> None:
        self._room.left += 1
        self._send(reply)

    def _send(self, reply: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(reply)


def _openai(number: int, tool: tuple[str, dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
    call = {"name": tool[0], "arguments": json.dumps(tool[1])}
    message: dict[str, Any] = {"role": "assistant", "content": ANSWER if is_last else None}
    if not is_last:
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": call}]
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "stop" if is_last else "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520},
    }


def _anthropic(number: int, tool: tuple[str, dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": ANSWER}
    if not is_last:
        block = {"type": "tool_use", "id": f"call_{number}", "name": tool[0], "input": tool[1]}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [block],
        "stop_reason": "end_turn" if is_last else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 500, "output_tokens": 20},
    }


def _response(body: dict[str, Any], status: str = "200 OK") -> bytes:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return head.encode() + _END_OF_HEADERS + content


_REFUSAL = _response({"error": {"message": "Too many calls."}}, "429 Too Many Requests")


async def _serve(
    latency: float, turns: int, most: int, straggler: float, tool: tuple[str, dict[str, Any]]
) -> None:
    forms = {b"completions": _openai, b"messages": _anthropic}
    replies = {
        path: [
            _response(form(number, tool, is_last=number == turns)) for number in range(turns + 1)
        ]
        for path, form in forms.items()
    }
    room = _Room(most, straggler)
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(latency, replies, room), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    seconds, calls, most_calls, late, called = sys.argv[1:]
    asyncio.run(
        _serve(float(seconds), int(calls), int(most_calls), float(late), json.loads(called))
    )
