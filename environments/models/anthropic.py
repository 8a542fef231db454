"""Client of the Anthropic messages format.

What the SDK's signature has no name for (temperature) travels in `extra_body`, and so does the
rest: measured, it makes no difference to this SDK, which sends `messages` as they are.
"""

import base64
import json
from typing import Any

import anthropic
from pydantic import Field

from environments.models import faults
from environments.models.arguments import read_arguments
from environments.models.client import Answer, Endpoint, ProviderClient, Wire
from environments.models.faults import AttemptFailed
from environments.models.retry import RetryPolicy
from environments.ports import Media, Message, ModelRequest
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import ToolCall, Usage


class _Block(Wire):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = Field(default_factory=dict)


class _Usage(Wire):
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Reply(Wire):
    model: str
    content: list[_Block]
    stop_reason: str | None
    usage: _Usage


class AnthropicClient(ProviderClient):
    """One model behind a messages endpoint; safe to share within one event loop."""

    takes_audio = False

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy | None = None) -> None:
        super().__init__(endpoint, policy or RetryPolicy())
        self._sdk = anthropic.AsyncAnthropic(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            max_retries=0,
            http_client=anthropic.DefaultAioHttpClient(),
            # Its spans may carry the conversation, and would go wherever the environment says.
            open_telemetry=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    async def _attempt(self, request: ModelRequest, seconds: float) -> Answer:
        try:
            response = await self._sdk.messages.with_raw_response.create(
                model=self.endpoint.spec.model,
                max_tokens=request.max_tokens,
                messages=[],
                extra_body=_body(request),
                timeout=seconds + 5,
            )
            content, headers = await response.read(), response.headers
        # `from None` throughout: an SDK exception quotes the response, which may quote the key.
        except anthropic.APIConnectionError as exc:
            cause = faults.one_line(str(exc.__cause__ or exc), self.endpoint.key)
            raise AttemptFailed(f"{self.endpoint}: the connection failed: {cause}") from None
        except anthropic.APIStatusError as exc:
            raise faults.from_status(
                str(self.endpoint),
                exc.status_code,
                exc.response.headers,
                exc.body,
                self.endpoint.key,
            ) from None
        form = self._read(content, headers.get("content-type", ""), _Reply)
        return _answer(form)


def _body(request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"messages": _messages(request)}
    system = "\n\n".join(m.text for m in request.messages if m.role == "system")
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    if request.json_schema is not None:
        # Keywords that the service refuses move into descriptions.
        schema = anthropic.transform_schema(request.json_schema)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


def _messages(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the turns: roles alternate, so neighbours of one role become one message."""
    turns: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(_blocks(message))
        else:
            turns.append({"role": role, "content": _blocks(message)})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id}
        if message.text:
            result["content"] = message.text
        return [result | ({"is_error": True} if message.is_error else {})]
    calls: list[dict[str, Any]] = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": call.tool,
            "input": {"unreadable": call.raw} if call.arguments is None else call.arguments,
        }
        for call in message.tool_calls
    ]
    shown = [_media_block(media) for media in message.media]
    # The service refuses blank text blocks, and messages without any block.
    if message.text.strip() or not (calls or shown):
        shown.append({"type": "text", "text": message.text.rstrip() or "(no text)"})
    return shown + calls


def _media_block(media: Media) -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": media.media_type,
        "data": base64.b64encode(media.data).decode(),
    }
    if media.media_type == "application/pdf":
        return {"type": "document", "source": source, "title": media.name}
    return {"type": "image", "source": source}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.parameters,
    }


def _call(block: _Block) -> ToolCall:
    raw = json.dumps(block.input)
    return ToolCall(id=block.id, tool=block.name, arguments=read_arguments(raw), raw=raw)


_STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


def _answer(form: _Reply) -> Answer:
    calls = tuple(_call(block) for block in form.content if block.type == "tool_use")
    read = form.usage.cache_read_input_tokens or 0
    written = form.usage.cache_creation_input_tokens or 0
    reason = form.stop_reason or ""
    return Answer(
        text="".join(block.text for block in form.content if block.type == "text"),
        model=form.model,
        stop_reason=_STOP_REASONS.get(reason, reason),
        tool_calls=calls,
        usage=Usage(
            input_tokens=form.usage.input_tokens + read + written,
            output_tokens=form.usage.output_tokens,
            cached_input_tokens=read,
        ),
        cache_write_tokens=written,
    )
