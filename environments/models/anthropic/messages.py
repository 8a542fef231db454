"""Client of the Anthropic messages format.

Thinking blocks are sent back unchanged, in their place among the calls; cache breakpoints mark the
part of the conversation that will be sent again.
"""

from collections.abc import Sequence
from typing import Any

from environments.models.anthropic.blocks import FORMAT, turns_of, with_breakpoint
from environments.models.anthropic.schema import accepted
from environments.models.anthropic.sdk import anthropic_client
from environments.models.anthropic.thinking import thinking_fields
from environments.models.client import ProviderClient
from environments.models.formats.messages import blocks_of, messages_reply
from environments.models.formats.reply import ParsedReply, read_calls
from environments.models.wire.reading import (
    CallId,
    Wire,
    read_form,
)
from environments.models.wire.sdk import SdkClient
from environments.models.wire.writing import in_list, to_json, with_parts
from environments.ports import ModelRequest
from taskdata.schema.tool import ToolSpec


class _Block(Wire):
    type: str
    text: str | None = None
    id: CallId = None
    name: str | None = None
    input: Any = None


class _Reply(Wire):
    model: str | None = None
    content: str | list[dict[str, Any]]
    stop_reason: str | None = None
    usage: Any = None


class AnthropicClient(ProviderClient):
    """One model behind a messages endpoint; safe to share within one event loop."""

    takes_audio = False
    path = "/v1/messages"

    def _new_sdk(self) -> SdkClient:
        return anthropic_client(self.endpoint)

    @staticmethod
    def _tool(spec: ToolSpec) -> dict[str, Any]:
        return {
            "name": spec.name,
            "description": spec.description,
            "input_schema": spec.parameters,
        }

    def _body(self, request: ModelRequest) -> bytes:
        fields: dict[str, Any] = {
            "model": self.endpoint.spec.model,
            "max_tokens": request.max_tokens,
        }
        if request.temperature is not None:
            fields["temperature"] = request.temperature
        if request.stop:
            fields["stop_sequences"] = list(request.stop)
        fields |= thinking_fields(self.endpoint.spec.model, request)
        if request.json_schema is not None:
            schema = {"type": "json_schema", "schema": accepted(request.json_schema)}
            fields["output_config"] = fields.get("output_config", {}) | {"format": schema}
        goes_on = bool(request.tools) or any(m.role == "assistant" for m in request.messages)
        parts: dict[str, bytes | Sequence[bytes]] = {}
        system = "\n\n".join(m.text for m in request.messages if m.role == "system")
        if system.strip():
            block = to_json({"type": "text", "text": system})
            parts["system"] = in_list([with_breakpoint(block) if goes_on else block])
        if request.tools:
            *others, last = self._tools.json(request.tools)
            parts["tools"] = in_list([*others, with_breakpoint(last)])
        parts["messages"] = turns_of(request.messages, marked=goes_on)
        return with_parts(fields, parts)

    def _answer(self, body: Any) -> ParsedReply:
        where = str(self.endpoint)
        form = read_form(where, body, _Reply)
        content = blocks_of(form.content)
        blocks = [read_form(where, block, _Block) for block in content]
        reply = messages_reply(body)
        calls = read_calls(reply.calls)
        plain = all(block.type in ("text", "tool_use") for block in blocks)
        # Blocks that are sent back need the ids that their results name, and must be storable.
        given = [block.id for block in blocks if block.type == "tool_use"]
        is_readable = all(call.arguments is not None for call in calls)
        whole = is_readable and given == [call.id for call in calls]
        replay = ({"format": FORMAT, "content": content},) if whole and not plain else ()
        return ParsedReply.of(reply, calls, replay)
