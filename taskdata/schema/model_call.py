"""One model call about a trial that was paid for, as it is kept from the moment of its reply."""

from datetime import datetime
from typing import Any

from pydantic import Field

from taskdata.schema.base import Sha256, Value
from taskdata.schema.usage import Usage

SCORING = 0
"""In place of an attempt's number: its judge was asked, not the agent's model."""


NO_REPLY = ""
"""In place of a model's id: no attempt brought a reply, and they may be charged all the same."""


class ModelCall(Value):
    """A call and its reply; what a trial has paid for is not lost when its process dies.

    What attempts without an answer may be charged is a call of its own, beside the one that
    brought the reply, if any did.
    """

    trial_id: str
    attempt: int = Field(ge=SCORING)
    """The attempt that paid for it, from 1; or `SCORING`."""
    key: Sha256
    """Of everything that was asked."""
    model: str
    """Model id as reported by the provider, else as it was asked for; or `NO_REPLY`."""
    usage: Usage
    cost_usd: float | None = None
    """None: unknown, as the price may be, or what was used. Without a reply it is the most that may
    be charged."""
    cost_at_most_usd: float | None = None
    """Where the cost is unknown, the most that it can be, in USD; None: that is unknown, too."""
    at: datetime
    reply: dict[str, Any] | None = None
    """The reply as JSON; None once the trial has finished, whose transcript holds it. A judge's
    stays: a score holds a part of it only."""
