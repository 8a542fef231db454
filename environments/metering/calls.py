"""What is known of one call of a metered program while it runs."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from environments.metering.dialects import Dialect
from environments.metering.ledger import Reservation
from environments.metering.paid import PaidAnswer
from environments.metering.requests import Asked, limited
from environments.models.client import Answer
from environments.models.limits.seam import Allowance, Outcome
from environments.models.money.spending import Spending
from environments.ports import ModelReply
from taskdata.schema.usage import Usage

if TYPE_CHECKING:
    from aiohttp import web


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
    started: float = field(default_factory=time.monotonic)
    paid_usd: float = 0.0
    """What it cost, as far as that is known; 0 where nobody answered."""
    waited: float = 0.0
    """Seconds in line for the provider's rate limits, before `started`."""
    was_sent: bool = False
    is_settled: bool = False
    """Its room in the budget was given back."""
    answer: Answer | None = None
    """Set once the provider has answered, be it in part."""
    whole: ModelReply | None = None
    """For the record; set once the answer has come to its end."""
    used: Spending | None = None
    """Of a call that was not answered; None: we cut it off, and it may have used all it could."""
    outcome: Outcome | None = None
    """For the provider's rate limits; None: nothing is learned from it."""
    allowances: dict[str, Allowance | None] = field(default_factory=dict)
    """What the provider said is left of its limits."""

    def __post_init__(self) -> None:
        self.body = limited(self.asked, self.dialect, self.room.reply_tokens)

    def reply(self, answer: Answer, model: str, cost_usd: float | None, stop: str) -> ModelReply:
        """Return an answer for the record; `model` is the one that was asked."""
        return ModelReply(
            text=answer.text,
            model=answer.model or model,
            tool_calls=answer.tool_calls,
            usage=answer.usage or Usage(),
            cost_usd=cost_usd,
            stop_reason=stop,
            seconds=self.kept.seconds if self.kept else time.monotonic() - self.started,
            waited_seconds=self.waited,
        )

    def spent(self) -> Spending:
        """Return what an answered call used; where that is not known, what it used at most."""
        usage = None if self.whole is None or self.answer is None else self.answer.usage
        if self.whole is None or usage is None or usage.total == 0:
            return self.room.bound
        cost = self.whole.cost_usd
        return Spending(1, usage.total, self.room.bound.usd if cost is None else cost)
