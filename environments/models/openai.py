"""Client of the OpenAI chat completions format: OpenAI itself, compatible servers, local models.

The conversation travels in `extra_body`: the SDK's own transformation of `messages` costs several
times the rest of the call and grows with the conversation.
"""

import base64
import json
from typing import Any

import openai
from pydantic import Field

from environments.models import faults
from environments.models.arguments import read_arguments
from environments.models.client import Answer, Endpoint, ProviderClient, Wire
from environments.models.faults import AttemptFailed
from environments.models.retry import RetryPolicy
from environments.ports import Media, Message, ModelRequest
from taskdata.errors import ModelRejected
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
        # Newer OpenAI models refuse `max_tokens`; most compatible servers know nothing else.
        is_openai = endpoint.spec.provider == "openai"
        self._limit_field = "max_completion_tokens" if is_openai else "max_tokens"
        self._sends_stop = True
        self._sdk = new_sdk(endpoint)

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
        except (openai.APIConnectionError, openai.APIStatusError) as exc:
            if self._stop_is_unsupported(exc, body):
                return await self._attempt(request, seconds)
            # `from None`: an SDK exception quotes the response, which may quote the key.
            raise fault_of(self.endpoint, exc) from None
        form = self._read(content, headers.get("content-type", ""), _Completion)
        return _answer(form)

    def _stop_is_unsupported(self, exc: openai.APIError, body: dict[str, Any]) -> bool:
        """Whether a reasoning model turned `stop` down; it is then cut on our side for good."""
        if not isinstance(exc, openai.BadRequestError) or "stop" not in body:
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


def new_sdk(endpoint: Endpoint) -> openai.AsyncOpenAI:
    """Return the SDK's client for the endpoint, its own retries off."""
    provider = endpoint.spec.provider
    sdk = openai.AsyncOpenAI(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        max_retries=0,
        # A local server is reached directly, whatever proxy the environment names.
        http_client=openai.DefaultAioHttpClient(trust_env=provider != "local"),
    )
    if provider != "openai":
        # Read from the environment by the SDK; none of a third party's business.
        sdk.organization = sdk.project = None
    return sdk


def fault_of(
    endpoint: Endpoint, error: openai.APIConnectionError | openai.APIStatusError
) -> AttemptFailed | ModelRejected:
    """Return the fault that an exception of the SDK stands for, free of the key."""
    if isinstance(error, openai.APIStatusError):
        headers, body = error.response.headers, error.body
        return faults.from_status(str(endpoint), error.status_code, headers, body, endpoint.key)
    cause = faults.one_line(str(error.__cause__ or error), endpoint.key)
    return AttemptFailed(f"{endpoint}: the connection failed: {cause}")


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if not message.tool_calls:
        return {"role": message.role, "content": _content(message)}
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


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.media:
        return message.text
    text = [{"type": "text", "text": message.text}] if message.text else []
    return [*(_part(media) for media in message.media), *text]


def _part(media: Media) -> dict[str, Any]:
    encoded = base64.b64encode(media.data).decode()
    url = f"data:{media.media_type};base64,{encoded}"
    if media.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    if media.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": media.name, "file_data": url}}
    kind = {"audio/wav": "wav", "audio/mpeg": "mp3"}[media.media_type]
    return {"type": "input_audio", "input_audio": {"data": encoded, "format": kind}}


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
