"""One agent's conversation with its model: budgets, tools, context, and the record of it all."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Literal

from environments.models.faults import ConversationRefused, ConversationTooLong, NoAnswerInTime
from environments.ports import Message, ModelClient, ModelReply, ModelRequest
from environments.tools.finish import ENDING_TOOLS
from stages.execute.assignment import Assignment
from stages.execute.dialogue import prompts
from stages.execute.dialogue.budget import Meter
from stages.execute.dialogue.context import shortened
from taskdata.errors import Misuse
from taskdata.schema.tool import ToolResult
from taskdata.schema.transcript import Ending, ToolCall, Transcript

MAX_REPLY_SECONDS = 900.0
"""Longest wait for one reply with all its retries, where the trial has more time than that."""


class Conversation:
    """Instructions, task and turns; every exchange is recorded and counted."""

    def __init__(
        self,
        assignment: Assignment,
        prompt: str,
        *,
        native_tools: bool = False,
        stop: tuple[str, ...] = (),
    ) -> None:
        if assignment.model is None:
            raise Misuse(f"agent {assignment.agent.name!r}: its harness needs a model")
        self._model: ModelClient = assignment.model
        self._assignment = assignment
        self._journal = assignment.journal
        self._meter = Meter(assignment.agent.budget)
        self._tools = assignment.tools.specs if native_tools else ()
        self._stop = stop
        opening = prompts.opening(prompt, assignment.brief, assignment.tools.specs)
        self._messages = list(opening)
        self._protected = len(opening)
        for message in opening:
            role: Literal["system", "user"] = "user" if message.role == "user" else "system"
            # The transcript has no place for a reply that no model gave: an example's is a notice.
            example = message.role == "assistant"
            self._journal.message(
                role, f"Example reply: {message.text}" if example else message.text
            )

    def tell(self, text: str) -> None:
        """Give the agent a message of ours."""
        self._messages.append(Message("user", text))
        self._journal.message("user", text)

    def observe(self, text: str) -> None:
        """Give the agent a tool's result as text; the journal has it with the call."""
        self._messages.append(Message("user", text))

    def answer_call(self, call: ToolCall, result: ToolResult) -> None:
        """Give the agent a tool's result as the answer to its native call."""
        self._messages.append(
            Message("tool", result.text, call_id=call.id, is_error=result.error is not None)
        )

    def end(self, ending: Ending, final_answer: str = "") -> Transcript:
        """Return the transcript of the conversation."""
        return self._journal.close(ending, final_answer)

    async def ask(self) -> ModelReply | Ending:
        """Return the model's next reply, or why there is none.

        Raises:
            ModelUnavailable: Not the agent's doing; nor is `ModelRejected`.
        """
        while True:
            if (ending := self._meter.exhausted()) is not None:
                return ending
            started_at = datetime.now(UTC)
            seconds = min(MAX_REPLY_SECONDS, self._meter.seconds_left)
            try:
                reply = await self._model.reply(self._request(seconds))
            except ConversationTooLong as exc:
                if not self._shorten():
                    self._journal.message("system", f"The conversation cannot go on: {exc}")
                    return Ending.REFUSED
            except ConversationRefused as exc:
                self._journal.message("system", f"The provider refused: {exc}")
                return Ending.REFUSED
            except NoAnswerInTime:
                # Only the agent's own time was too short: no attempt had failed.
                if seconds < MAX_REPLY_SECONDS:
                    return Ending.OUT_OF_TIME
                raise
            else:
                self._take(reply, started_at)
                return Ending.REFUSED if reply.stop_reason == "refused" else reply

    async def use(self, call: ToolCall) -> ToolResult | Ending:
        """Return the result of a tool call, or that the trial's time ran out during it."""
        started_at, started = datetime.now(UTC), time.monotonic()
        try:
            async with asyncio.timeout(self._meter.seconds_left) as limit:
                result = await self._assignment.tools.call(call)
        except TimeoutError:
            if limit.expired():
                return Ending.OUT_OF_TIME
            raise
        self._meter.count_tool(result.cost_usd)
        self._journal.tool_call(call, result, started_at, time.monotonic() - started)
        return result

    def _request(self, seconds: float) -> ModelRequest:
        return ModelRequest(
            messages=tuple(self._messages),
            tools=self._tools,
            max_tokens=self._meter.reply_tokens,
            temperature=self._assignment.agent.temperature,
            stop=self._stop,
            timeout_seconds=seconds,
        )

    def _take(self, reply: ModelReply, started_at: datetime) -> None:
        self._meter.count(reply.usage, reply.cost_usd)
        self._journal.model_call(reply, started_at)
        self._messages.append(Message("assistant", reply.text, tool_calls=reply.tool_calls))

    def _shorten(self) -> bool:
        shorter = shortened(self._messages, self._protected)
        if shorter is None:
            return False
        self._messages, left_out = shorter
        self._journal.message("system", f"Left out to fit the model's context: {left_out}.")
        return True


def final_answer(call: ToolCall, result: ToolResult) -> str | None:
    """Return the final answer if this call ended the trial, else None."""
    return result.text if call.tool in ENDING_TOOLS and result.error is None else None
