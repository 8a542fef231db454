"""Keeps personal data from a model, and out of what is recorded of its replies.

Where the policy is to mask, questions and replies go through here before they are recorded: what a
model invents is stored with [IBAN] in its place, and so is what is made of it.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from environments.ports import ModelClient, ModelReply, ModelRequest
from quality.safety.personal import masked
from stages.construct.answers.json_text import read_json
from taskdata.errors import BadTaskData
from taskdata.schema.safety import SafetyRules
from taskdata.schema.transcript import ToolCall

Mask = Callable[[str], str]


def masking(client: ModelClient, rules: SafetyRules) -> ModelClient:
    """Return the client, which masks personal data where that is the policy."""
    return MaskingClient(client, rules) if rules.personal_data == "mask" else client


class MaskingClient:
    """A `ModelClient` that masks personal data in questions and replies."""

    def __init__(self, client: ModelClient, rules: SafetyRules) -> None:
        self._client, self._allowed = client, rules.allowed_personal_data

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply to the masked request, masked; raises like the client."""
        messages = [replace(m, text=self._mask(m.text)) for m in request.messages]
        asked = replace(request, messages=messages)
        try:
            reply = await self._client.reply(asked)
        finally:
            request.failed.extend(asked.failed)
        shown = replace(
            reply,
            text=masked_answer(reply.text, self._mask),
            thinking=self._mask(reply.thinking),
            tool_calls=tuple(self._masked_call(call) for call in reply.tool_calls),
        )
        # What the provider wants back is opaque: it may hold what was masked.
        return reply if shown == reply else replace(shown, replay=())

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    def _mask(self, text: str) -> str:
        return masked(text, self._allowed)

    def _masked_call(self, call: ToolCall) -> ToolCall:
        arguments = _masked_values(call.arguments, self._mask)
        if arguments == call.arguments and self._mask(call.raw) == call.raw:
            return call
        raw = json.dumps(arguments, ensure_ascii=False) if arguments is not None else ""
        return call.model_copy(update={"arguments": arguments, "raw": raw})


def masked_answer(text: str, mask: Mask) -> str:
    """Return a reply with the texts and numbers of its JSON masked; as it is if there is nothing.

    Each value is masked by itself, so that the answer remains JSON.
    """
    try:
        value = read_json(text)
    except BadTaskData:
        return mask(text)
    hidden = _masked_values(value, mask)
    return text if hidden == value else json.dumps(hidden, ensure_ascii=False)


def _masked_values(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {mask(key): _masked_values(part, mask) for key, part in value.items()}
    if isinstance(value, list):
        return [_masked_values(part, mask) for part in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if mask(str(value)) == str(value) else mask(str(value))
    return value
