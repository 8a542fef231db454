"""The record of a trial while it runs; it is stored however the trial ends."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal

from environments.ports import ModelReply
from stages.execute.dialogue.pictures import TrialPictures
from taskdata.schema.plan import Plan
from taskdata.schema.tool import ToolResult, ToolSpec
from taskdata.schema.transcript import (
    Ending,
    Event,
    GivenStep,
    MessageEvent,
    ModelEvent,
    Prediction,
    ShownFile,
    SimulatedTurn,
    ToolCall,
    ToolEvent,
    Transcript,
)
from taskdata.schema.usage import FailedAttempt

MAX_ANSWER_CHARS = 100_000
"""A longer final answer is cut, because it is stored in the database."""
MAX_RESULT_CHARS = 100_000
"""A longer result is cut, because every running trial keeps its record in memory."""


class Journal:
    """Ordered events of one trial."""

    def __init__(self, answered: Callable[[], None] | None = None) -> None:
        """Begin a record; `answered` is called for each reply that is not replayed."""
        self.events: list[Event] = []
        self.slowest_reply_seconds: float | None = None
        """Time of the model's slowest reply; None before the first reply."""
        self._answered = answered
        self.calls_are_seen = True
        """Whether every tool call of the agent is recorded; a program's own tools are not."""
        self._tools: list[ToolSpec] = []
        self.pictures = TrialPictures()
        """The pictures of tool results that the events refer to."""
        self.plan: Plan | None = None
        """What was planned before the first event, as far as it has come."""

    def message(
        self,
        role: Literal["system", "user"],
        text: str,
        shown: tuple[ShownFile, ...] = (),
        cost_usd: float | None = 0.0,
        given: GivenStep | None = None,
    ) -> None:
        """Record text and files for the agent, or a notice of ours (`system`)."""
        self.events.append(
            MessageEvent(role=role, text=text, shown=shown, cost_usd=cost_usd, given=given)
        )

    def user_turn(self, text: str, made: SimulatedTurn) -> None:
        """Record a turn of the simulated user."""
        self.events.append(MessageEvent(role="user", text=text, simulated=made))

    def heard(self, reply: ModelReply) -> None:
        """Note that the model replied, and how long that took."""
        self.slowest_reply_seconds = max(self.slowest_reply_seconds or 0.0, reply.seconds)
        if self._answered is not None and not reply.is_kept:
            self._answered()

    def model_call(self, reply: ModelReply, started_at: datetime) -> None:
        """Record one model call."""
        self.heard(reply)
        self.events.append(
            ModelEvent(
                text=reply.text,
                thinking=reply.thinking,
                tool_calls=reply.tool_calls,
                model=reply.model,
                stop_reason=reply.stop_reason,
                usage=reply.usage,
                cost_usd=reply.cost_usd,
                started_at=started_at,
                seconds=reply.seconds,
                waited_seconds=reply.waited_seconds,
                failed_attempts=reply.failed_attempts,
                cached=reply.cached,
            )
        )

    def no_reply(self, attempts: Sequence[FailedAttempt]) -> None:
        """Record the attempts at a model call that brought no reply."""
        for number, attempt in enumerate(attempts, start=1):
            status = "" if attempt.status is None else f"HTTP {attempt.status}, "
            usd = attempt.cost_at_most_usd
            charged = f" (may be charged, at most {usd:.4f} USD)" if usd else ""
            self.message(
                "system",
                f"Model call, attempt {number}: {status}{attempt.seconds:.1f} s: "
                f"{attempt.cause}{charged}",
            )

    def tool_call(
        self,
        call: ToolCall,
        result: ToolResult,
        started_at: datetime,
        seconds: float,
        *,
        shows_pictures: bool = False,
    ) -> None:
        """Record one tool call.

        Args:
            call: What was asked for.
            result: What came of it, as `TrialPictures.taken` returns it.
            started_at: When the call began.
            seconds: Wall time of the whole call.
            shows_pictures: Whether the model is shown the result's pictures as such.
        """
        self.events.append(
            ToolEvent(
                call=call,
                text=_bounded(result.text),
                files=result.files,
                error=result.error,
                usage=result.usage,
                cost_usd=result.cost_usd,
                pictures=self.pictures.recorded(result, shown=shows_pictures),
                started_at=started_at,
                seconds=seconds,
            )
        )

    def hide_pictures(self) -> None:
        """Record that the model was shown none of the pictures after all."""
        for at, event in enumerate(self.events):
            if isinstance(event, ToolEvent) and event.pictures:
                hidden = tuple(p.model_copy(update={"was_shown": False}) for p in event.pictures)
                self.events[at] = event.model_copy(update={"pictures": hidden})

    def offered(self, tools: Sequence[ToolSpec]) -> None:
        """Record tools that the model was offered, in addition to those recorded before."""
        self._tools += tools

    def close(
        self, ending: Ending, final_answer: str = "", predictions: Sequence[Prediction] = ()
    ) -> Transcript:
        """Return the finished transcript."""
        return Transcript(
            events=tuple(self.events),
            final_answer=final_answer[:MAX_ANSWER_CHARS],
            ending=ending,
            tools=tuple(self._tools),
            has_unseen_calls=not self.calls_are_seen,
            predictions=tuple(predictions),
            plan=self.plan,
        )


def _bounded(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARS:
        return text
    notice = f"\n[cut: {MAX_RESULT_CHARS} of {len(text)} characters are on record]"
    return text[: MAX_RESULT_CHARS - len(notice)] + notice
