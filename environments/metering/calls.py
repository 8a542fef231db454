"""A metered call: on what terms it is made, and what is known of it while it runs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from environments.metering.formats.dialects import Dialect
from environments.metering.formats.requests import Asked, limited
from environments.metering.ledger import Ledger, Reservation
from environments.metering.paid import PaidAnswer, PaidAnswers
from environments.models.formats.reply import ParsedReply
from environments.models.limits.purse import Purse
from environments.models.limits.seam import Allowance, Limiter, Outcome
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.ports import ModelReply
from taskdata.errors import ModelRejected, ModelUnavailable
from taskdata.schema.tool import ToolSpec
from taskdata.schema.usage import FailedAttempt, Usage

if TYPE_CHECKING:
    from aiohttp import web

Fault = ModelUnavailable | ModelRejected
"""Why a call was not answered."""


class Record(Protocol):
    """Takes what is known of the calls; a trial's journal is one."""

    def model_call(self, reply: ModelReply, started_at: datetime) -> None:
        """Take a call that was answered."""
        ...

    def no_reply(self, attempts: Sequence[FailedAttempt]) -> None:
        """Take the attempts at a call that was never answered."""
        ...

    def message(self, role: Literal["system", "user"], text: str) -> None:
        """Take a notice."""
        ...

    def offered(self, tools: Sequence[ToolSpec]) -> None:
        """Take tools that the model was offered."""
        ...


@dataclass(frozen=True)
class Terms:
    """On what terms the calls of one trial are made."""

    endpoint: Endpoint
    """The agent's model and the real key to it."""
    ledger: Ledger
    """The trial's budget."""
    record: Record
    limiter: Limiter | None = None
    """Shares the provider's rate limits with all other callers."""
    purse: Purse | None = None
    """Holds the money that all calls of the run may cost; None: as much as they do."""
    paid: PaidAnswers | None = None
    """Keeps what calls are answered, and answers what an earlier attempt paid for; None: nothing is
    kept."""
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    """How often a provider that wants fewer calls is asked again, and when a silent one is given
    up."""
    records_instructions: bool = False
    """Whether what a program tells its model, and offers it, goes on record: nobody else knows."""


@dataclass
class Call:
    """One call, from the program's request to what it came to."""

    dialect: Dialect
    request: "web.Request"
    asked: Asked
    room: Reservation
    body: dict[str, Any] = field(init=False)
    """As it is forwarded."""
    content: bytes = b""
    """The body as it is sent."""
    key: str = ""
    """Of everything that is asked; empty where answers are not kept."""
    kept: PaidAnswer | None = None
    """What an earlier attempt was answered; nobody is asked then."""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    arrived: float = field(default_factory=time.monotonic)
    started: float = field(default_factory=time.monotonic)
    """Its last attempt; `arrived` until there is one."""
    waited: float = 0.0
    """Seconds in line for the provider's rate limits and the run's money, in no attempt."""
    was_sent: bool = False
    was_turned_down: bool = False
    """With an error status, so nothing is charged."""
    is_settled: bool = False
    """Its room in the budget was given back."""
    part: ParsedReply | None = None
    """What had come of a stream when it ended early."""
    whole: ModelReply | None = None
    """For the record; set once the answer has come to its end."""
    fault: Fault | None = None
    """Why it was not answered; None of one that was sent and has no answer: we cut it off."""
    is_programs: bool = False
    """The fault is the program's own."""
    outcome: Outcome | None = None
    """For the provider's rate limits; None: nothing is learned from it."""
    allowances: dict[str, Allowance | None] = field(default_factory=dict)
    """What the provider said is left of its limits."""

    def __post_init__(self) -> None:
        self.body = limited(self.asked, self.dialect, self.room.reply_tokens)

    @property
    def seconds(self) -> float:
        """How long its last attempt took."""
        return time.monotonic() - self.started

    @property
    def has_begun(self) -> bool:
        """Whether something of its answer has come."""
        part = self.part
        return part is not None and bool(part.text or part.thinking or part.tool_calls)

    def begin_again(self) -> None:
        """Forget the last attempt, which is recorded."""
        self.was_sent = self.was_turned_down = self.is_programs = False
        self.fault = self.outcome = None

    def reply(self, answer: ParsedReply, model: str, cost_usd: float | None) -> ModelReply:
        """Return a whole answer for the record; `model` is the one that was asked."""
        return ModelReply(
            text=answer.text,
            model=answer.model or model,
            tool_calls=answer.tool_calls,
            usage=answer.usage or Usage(),
            cost_usd=cost_usd,
            stop_reason=answer.stop_reason,
            seconds=self.kept.seconds if self.kept else self._seconds_without_line,
            waited_seconds=self.waited,
            thinking=answer.thinking,
            is_kept=self.kept is not None,
        )

    @property
    def _seconds_without_line(self) -> float:
        return max(0.0, time.monotonic() - self.arrived - self.waited)
