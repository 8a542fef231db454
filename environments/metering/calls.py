"""A metered call: the settings that all calls of a trial share, and the state of one call."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from environments.metering.answers import RecordedAnswer
from environments.metering.formats.dialects import Dialect
from environments.metering.formats.requests import Asked, limited
from environments.metering.program_budget import ProgramBudget, ReplyReservation
from environments.models.formats.reply import ParsedReply
from environments.models.limits.protocols import Allowance, Limiter, Outcome
from environments.models.money.run_budget import RunBudget
from environments.models.record.log import CallLog
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.ports import ModelReply
from taskdata.errors import ModelRejected, ModelUnavailable
from taskdata.schema.tool import ToolSpec
from taskdata.schema.usage import FailedAttempt, Usage

if TYPE_CHECKING:
    from aiohttp import web

Fault = ModelUnavailable | ModelRejected
"""Why a call has no answer."""


class Record(Protocol):
    """Receives the calls of a trial; the trial's journal implements it."""

    def model_call(self, reply: ModelReply, started_at: datetime) -> None:
        """Record a call that was answered."""
        ...

    def no_reply(self, attempts: Sequence[FailedAttempt]) -> None:
        """Record the attempts at a call that was never answered."""
        ...

    def message(self, role: Literal["system", "user"], text: str) -> None:
        """Record a message for the reader of the transcript."""
        ...

    def offered(self, tools: Sequence[ToolSpec]) -> None:
        """Record tools that the model was offered."""
        ...


@dataclass(frozen=True)
class Terms:
    """What all calls of one trial share."""

    endpoint: Endpoint
    """The agent's model and the real key to it."""
    budget: ProgramBudget
    """The trial's budget."""
    record: Record
    limiter: Limiter | None = None
    """Shares the provider's rate limits between all callers."""
    run_budget: RunBudget | None = None
    """Money that all calls of the run may cost together; None: unlimited."""
    log: CallLog | None = None
    """Records the trial's calls, and replays those that an earlier attempt paid for; None: calls
    are not recorded."""
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    """How often a call is retried after a 429, and how long a silent provider is waited for."""
    records_instructions: bool = False
    """Whether instructions and tools of requests are journalled, which only the proxy sees."""


@dataclass
class Call:
    """One call of a program, from its request to its result."""

    dialect: Dialect
    request: "web.Request"
    asked: Asked
    reservation: ReplyReservation
    body: dict[str, Any] = field(init=False)
    """The request body that is forwarded."""
    content: bytes = b""
    """The encoded body."""
    key: str = ""
    """Hash of the request; empty if calls are not recorded."""
    replayed: RecordedAnswer | None = None
    """The answer that an earlier attempt got; then the provider is not called."""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    arrived: float = field(default_factory=time.monotonic)
    started: float = field(default_factory=time.monotonic)
    """When the last attempt began; equal to `arrived` before the first."""
    waited: float = 0.0
    """Seconds spent waiting for the provider's rate limits and the run's money."""
    was_sent: bool = False
    was_rejected: bool = False
    """Whether the provider answered with an error status, which costs nothing."""
    is_settled: bool = False
    """Whether its reservation in the budget was settled."""
    part: ParsedReply | None = None
    """The part of a stream that had arrived when the stream ended early."""
    whole: ModelReply | None = None
    """The reply for the journal; set once the whole answer has arrived."""
    fault: Fault | None = None
    """Why the call has no answer; None if it was sent and we cut it off."""
    is_programs_fault: bool = False
    """Whether the fault is the program's own."""
    outcome: Outcome | None = None
    """The result to report to the rate limiter; None: the call says nothing about the limits."""
    allowances: dict[str, Allowance | None] = field(default_factory=dict)
    """What is left of the provider's rate limits by its own report."""

    def __post_init__(self) -> None:
        self.body = limited(self.asked, self.dialect, self.reservation.reply_tokens)

    @property
    def seconds(self) -> float:
        """Seconds since the last attempt began."""
        return time.monotonic() - self.started

    @property
    def has_begun(self) -> bool:
        """Whether a part of the answer has arrived."""
        part = self.part
        return part is not None and bool(part.text or part.thinking or part.tool_calls)

    def begin_again(self) -> None:
        """Reset the call for another attempt; the last attempt has been accounted for."""
        self.was_sent = self.was_rejected = self.is_programs_fault = False
        self.fault = self.outcome = None

    def reply(self, answer: ParsedReply, model: str, cost_usd: float | None) -> ModelReply:
        """Return a whole answer for the journal; `model` is the requested one."""
        return ModelReply(
            text=answer.text,
            model=answer.model or model,
            tool_calls=answer.tool_calls,
            usage=answer.usage or Usage(),
            cost_usd=cost_usd,
            stop_reason=answer.stop_reason,
            seconds=self.replayed.seconds if self.replayed else self._seconds_without_waits,
            waited_seconds=self.waited,
            thinking=answer.thinking,
            is_kept=self.replayed is not None,
        )

    @property
    def _seconds_without_waits(self) -> float:
        return max(0.0, time.monotonic() - self.arrived - self.waited)
