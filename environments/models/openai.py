"""Client of the OpenAI chat completions format: OpenAI itself, compatible servers, local models.

The conversation travels in `extra_body`: the SDK's own transformation of `messages` costs several
times the rest of the call and grows with the conversation.
"""

import json
from typing import Any

import openai
from pydantic import Field

from environments.models import faults
from environments.models.arguments import read_arguments
from environments.models.client import Answer, Endpoint, ProviderClient, Wire
from environments.models.faults import AttemptFailed
from environments.models.retry import RetryPolicy
from environments.ports import Message, ModelRequest
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import ToolCall, Usage


class _Function(Wire):
    name: str
    arguments: str


class _Call(Wire):
    id: str
    function: _Function


class _Message(Wire):
    content: str | None = None
    tool_calls: list[_Call] | None = None
    refusal: str | None = None


class _Choice(Wire):
    message: _Message
    finish_reason: str | None = None


class _Details(Wire):
    cached_tokens: int | None = None


class _Usage(Wire):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    prompt_tokens_details: _Details | None = None


class _Completion(Wire):
    model: str
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class OpenAIClient(ProviderClient):
    """One model behind a chat completions endpoint; safe to share within one event loop."""

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy | None = None) -> None:
        super().__init__(endpoint, policy or RetryPolicy())
        provider = endpoint.spec.provider
        # Newer OpenAI models refuse `max_tokens`; most compatible servers know nothing else.
        self._limit_field = "max_completion_tokens" if provider == "openai" else "max_tokens"
        self._sends_stop = True
        self._sdk = openai.AsyncOpenAI(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            max_retries=0,
            # A local server is reached directly, whatever proxy the environment names.
            http_client=openai.DefaultAioHttpClient(trust_env=provider != "local"),
        )
        if provider != "openai":
            # Read from the environment by the SDK; none of a third party's business.
            self._sdk.organization = self._sdk.project = None

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    async def _attempt(self, request: ModelRequest, seconds: float) -> Answer:
        body = self._body(request)
        try:
            response = await self._sdk.chat.completions.with_raw_response.create(
                model=self.endpoint.spec.model, messages=[], extra_body=body, timeout=seconds + 5
            )
            content, headers = response.content, response.headers
        # `from None` throughout: an SDK exception quotes the response, which may quote the key.
        except openai.APIConnectionError as exc:
            cause = faults.one_line(str(exc.__cause__ or exc), self.endpoint.key)
            raise AttemptFailed(f"{self.endpoint}: the connection failed: {cause}") from None
        except openai.APIStatusError as exc:
            if self._stop_is_unsupported(exc, body):
                return await self._attempt(request, seconds)
            raise faults.from_status(
                str(self.endpoint),
                exc.status_code,
                exc.response.headers,
                exc.body,
                self.endpoint.key,
            ) from None
        form = self._read(content, headers.get("content-type", ""), _Completion)
        return _answer(form)

    def _stop_is_unsupported(self, exc: openai.APIStatusError, body: dict[str, Any]) -> bool:
        """Whether a reasoning model turned `stop` down; it is then cut on our side for good."""
        if exc.status_code != 400 or "stop" not in body:
            return False
        if faults.ProviderError.read(exc.body).param != "stop":
            return False
        self._sends_stop = False
        return True

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": [_message(m) for m in request.messages],
            self._limit_field: request.max_tokens,
        }
        if request.tools:
            body["tools"] = [_tool(spec) for spec in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.stop and self._sends_stop:
            body["stop"] = list(request.stop)
        if request.json_schema is not None:
            schema = {"name": "reply", "schema": request.json_schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if not message.tool_calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            # Some servers parse the arguments again and fail on what the model got wrong.
            "function": {
                "name": call.tool,
                "arguments": call.raw
                if call.arguments is not None
                else json.dumps({"unreadable": call.raw}),
            },
        }
        for call in message.tool_calls
    ]
    return {"role": "assistant", "content": message.text or None, "tool_calls": calls}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        },
    }


_STOP_REASONS = {"content_filter": "refused", "function_call": "tool_calls"}


def _answer(form: _Completion) -> Answer:
    choice = form.choices[0]
    calls = tuple(
        ToolCall(
            id=call.id,
            tool=call.function.name,
            arguments=read_arguments(call.function.arguments),
            raw=call.function.arguments,
        )
        for call in choice.message.tool_calls or ()
    )
    reason = choice.finish_reason or ""
    refusal = choice.message.refusal
    return Answer(
        text=refusal or choice.message.content or "",
        model=form.model,
        stop_reason="refused" if refusal else _STOP_REASONS.get(reason, reason),
        tool_calls=calls,
        usage=_usage(form.usage),
    )


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    details = usage.prompt_tokens_details
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cached_input_tokens=(details.cached_tokens or 0) if details else 0,
    )
