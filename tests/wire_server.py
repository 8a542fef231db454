"""A local HTTP server that speaks the wire formats of model providers, with scripted answers.

It answers `/v1/chat/completions` and `/v1/responses` (OpenAI) and `/v1/messages` (Anthropic), so
that clients make real calls; `/v1/images/generations`, `/v1/videos` and `/search` need scripted
answers. What it answers is a queue of behaviours, or a function of the request; with neither, every
call gets an empty answer. Every request is kept for the test to look at.
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    query: dict[str, str] = field(default_factory=dict)

    @property
    def dialect(self) -> str:
        """`anthropic`, `responses` or `openai`."""
        ends = {"messages": "anthropic", "responses": "responses"}
        return ends.get(self.path.rpartition("/")[2], "openai")


Behaviour = Callable[[Seen, web.Request], Awaitable[web.StreamResponse]]


@dataclass
class WireServer:
    """Scripted provider; `url` is the root to hand to clients (without `/v1`)."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    script: deque[Behaviour] = field(default_factory=deque)
    respond: Callable[[Seen], Behaviour] | None = None
    """Chooses the behaviour once the script is used up."""
    most_at_once: int = 0
    _open: int = 0

    @property
    def openai_url(self) -> str:
        """Base URL for clients of the OpenAI dialect."""
        return f"{self.url}/v1"

    def base_url(self, dialect: str) -> str:
        """Base URL for clients of that dialect."""
        return self.url if dialect == "anthropic" else self.openai_url

    def then(self, *behaviours: Behaviour) -> None:
        """Add to the script."""
        self.script.extend(behaviours)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Record the request and play the next behaviour."""
        seen = Seen(request.path, dict(request.headers), await _body(request), dict(request.query))
        self.seen.append(seen)
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            if self.script:
                behaviour = self.script.popleft()
            else:
                behaviour = self.respond(seen) if self.respond else says("")
            return await behaviour(seen, request)
        finally:
            self._open -= 1

    @staticmethod
    def says(text: str = "", *calls: tuple[str, Any], **usage: Any) -> Behaviour:
        """See `says`."""
        return says(text, *calls, **usage)

    @staticmethod
    def fails(status: int, message: str = "no", **more: Any) -> Behaviour:
        """See `fails`."""
        return fails(status, message, **more)

    @staticmethod
    def sends(
        body: bytes,
        content_type: str = "application/json",
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> Behaviour:
        """Send these bytes."""

        async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
            return web.Response(
                body=body, content_type=content_type, status=status, headers=headers
            )

        return behave

    @staticmethod
    def answers(body: Any) -> Behaviour:
        """Send this as JSON with status 200."""
        return WireServer.sends(json.dumps(body).encode())

    @staticmethod
    def truncates() -> Behaviour:
        """Promise a body, send part of it and hang up."""

        async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
            body = json.dumps(wire_reply(seen, "half of this never arrives", ())).encode()
            response = web.StreamResponse(
                headers={"content-type": "application/json", "content-length": str(len(body))}
            )
            await response.prepare(request)
            await response.write(body[: len(body) // 2])
            request.transport.close()
            return response

        return behave

    @staticmethod
    def drips(seconds: float) -> Behaviour:
        """Begin to answer at once and send a byte at a time, for as long."""

        async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"content-type": "application/json"})
            await response.prepare(request)
            for _ in range(int(seconds / 0.02)):
                await response.write(b" ")
                await asyncio.sleep(0.02)
            return response

        return behave

    @staticmethod
    def drops() -> Behaviour:
        """Hang up without a word."""

        async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
            request.transport.close()
            return web.Response()

        return behave

    @staticmethod
    def waits(seconds: float, behaviour: Behaviour) -> Behaviour:
        """Play `behaviour` after a while."""

        async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
            await asyncio.sleep(seconds)
            return await behaviour(seen, request)

        return behave

    @staticmethod
    def called(number: int, behaviour: Behaviour) -> Behaviour:
        """Play `behaviour`, its first call under an id that no other reply has, as providers do."""

        async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
            answer = await behaviour(seen, request)
            assert isinstance(answer, web.Response)
            assert isinstance(answer.body, bytes)
            body = answer.body.replace(b'"call_0"', f'"call_{number}"'.encode())
            return web.Response(body=body, content_type="application/json")

        return behave


async def _body(request: web.Request) -> dict[str, Any]:
    if request.method == "GET":
        return dict(request.query)
    if request.content_type.startswith("multipart/"):
        return dict(await request.post())
    return await request.json()


def says(
    text: str = "",
    *calls: tuple[str, Any],
    input_tokens: int = 10,
    output_tokens: int = 5,
    cached_tokens: int = 0,
    stop: str | None = None,
    model: str = "wire-model-1",
) -> Behaviour:
    """Answer with text and tool calls, each (name, arguments); arguments as str go out raw."""

    async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
        usage = (input_tokens, output_tokens, cached_tokens)
        return web.json_response(wire_reply(seen, text, calls, usage, stop, model))

    return behave


def fails(
    status: int,
    message: str = "no",
    *,
    kind: str = "some_error",
    code: str | None = None,
    param: str | None = None,
    retry_after: float | None = None,
) -> Behaviour:
    """Answer with an error in the provider's own form."""

    async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
        headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
        error: dict[str, Any] = {"type": kind, "message": message}
        if seen.dialect == "anthropic":
            return web.json_response(
                {"type": "error", "error": error}, status=status, headers=headers
            )
        error |= {"code": code, "param": param}
        return web.json_response({"error": error}, status=status, headers=headers)

    return behave


def wire_reply(
    seen: Seen,
    text: str,
    calls: tuple[tuple[str, Any], ...],
    usage: tuple[int, int, int] = (10, 5, 0),
    stop: str | None = None,
    model: str = "wire-model-1",
) -> dict[str, Any]:
    """The body of a successful answer in the dialect that was asked."""
    build = {"anthropic": _anthropic, "responses": _responses}.get(seen.dialect, _openai)
    return build(text, calls, usage, stop, model)


def _openai(text, calls, usage, stop, model):
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{index}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": args if isinstance(args, str) else json.dumps(args),
                },
            }
            for index, (name, args) in enumerate(calls)
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": stop or ("tool_calls" if calls else "stop"),
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": usage[0] + usage[1],
            "prompt_tokens_details": {"cached_tokens": usage[2]},
        },
    }


def _responses(text, calls, usage, stop, model):
    output: list[dict[str, Any]] = []
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})
    output += [
        {
            "type": "function_call",
            "id": f"fc_{index}",
            "call_id": f"call_{index}",
            "name": name,
            "arguments": args if isinstance(args, str) else json.dumps(args),
        }
        for index, (name, args) in enumerate(calls)
    ]
    return {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete" if stop else "completed",
        "incomplete_details": {"reason": stop} if stop else None,
        "error": None,
        "model": model,
        "output": output,
        "usage": {
            "input_tokens": usage[0],
            "output_tokens": usage[1],
            "total_tokens": usage[0] + usage[1],
            "input_tokens_details": {"cached_tokens": usage[2]},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _anthropic(text, calls, usage, stop, model):
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "tool_use", "id": f"call_{index}", "name": name, "input": args}
        for index, (name, args) in enumerate(calls)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop or ("tool_use" if calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage[0] - usage[2],
            "output_tokens": usage[1],
            "cache_read_input_tokens": usage[2],
            "cache_creation_input_tokens": 0,
        },
    }


@contextmanager
def running_wire_server():
    """Yield a `WireServer` that listens on a free port of this machine."""
    server = WireServer()
    loop = asyncio.new_event_loop()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", server.handle)
    app.router.add_post("/v1/responses", server.handle)
    app.router.add_post("/v1/messages", server.handle)
    app.router.add_post("/v1/images/generations", server.handle)
    app.router.add_post("/v1/videos", server.handle)
    app.router.add_get("/v1/videos/{job}", server.handle)
    app.router.add_get("/v1/videos/{job}/content", server.handle)
    app.router.add_post("/search", server.handle)
    for cloud in ("openai", "model", "v1/projects"):
        app.router.add_post(f"/{cloud}/{{path:.+}}", server.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)

    async def start() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{port}"

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, name="wire-server", daemon=True)
    thread.start()

    async def stop() -> None:
        await runner.cleanup()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
