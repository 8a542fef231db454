"""OpenAI's chat completions over HTTP, answered from the scripts."""

import itertools
import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from aiohttp import web

from examples.scripted_model.question import NotScripted, read_question
from examples.scripted_model.script import Script, answer
from examples.scripted_model.users import is_talk, scripted_users, users_turn

MODEL = "scripted-1"
_CHARACTERS_PER_TOKEN = 4
_MAX_REQUEST_BYTES = 16 << 20

_logger = logging.getLogger(__name__)


class ScriptedModel:
    """Answers requests; the only thing it remembers is how many there were."""

    def __init__(self, scripts: Sequence[Script], fail_every: int = 0) -> None:
        """Make a model that refuses every `fail_every`-th call with 503; 0: none."""
        self._scripts = scripts
        self._fail_every = fail_every
        self._calls: Iterator[int] = itertools.count(1)

    def app(self) -> web.Application:
        """Return the web application."""
        app = web.Application(client_max_size=_MAX_REQUEST_BYTES)
        app.router.add_post("/v1/chat/completions", self.complete)
        return app

    async def complete(self, request: web.Request) -> web.Response:
        """Answer one request, or say with 400 why there is no answer to it."""
        number = next(self._calls)
        if self._fail_every and number % self._fail_every == 0:
            return _error(503, "overloaded as told by --fail-every")
        try:
            body = await request.json()
        except json.JSONDecodeError as exc:
            return _error(400, f"the request is not JSON: {exc}")
        if not isinstance(body, dict) or body.get("stream"):
            return _error(400, "expected a JSON object that does not ask for a stream")
        try:
            text = self._text(body)
        except NotScripted as exc:
            _logger.warning("call %d: %s", number, exc)
            return _error(400, str(exc))
        return web.json_response(_completion(number, body, text))

    def _text(self, body: dict[str, Any]) -> str:
        if is_talk(body):
            return users_turn(body, scripted_users())
        return answer(read_question(body), self._scripts)


def _completion(number: int, body: dict[str, Any], text: str) -> dict[str, Any]:
    asked = _tokens("".join(str(message.get("content")) for message in body["messages"]))
    said = _tokens(text)
    return {
        "id": f"chatcmpl-scripted-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "total_tokens": asked + said,
        },
    }


def _tokens(text: str) -> int:
    """Return about how many tokens a text has; no tokenizer is worth its weight here."""
    return max(1, len(text) // _CHARACTERS_PER_TOKEN)


def _error(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "scripted_model", "code": None, "param": None}
    return web.json_response({"error": error}, status=status)
