"""One model call of a trial that was paid for, as it is kept from the moment of its reply."""

from datetime import datetime
from typing import Any

from pydantic import Field

from taskdata.schema.base import Sha256, Value
from taskdata.schema.usage import Usage


class ModelCall(Value):
    """A call and its reply; what a trial has paid for is not lost when its process dies."""

    trial_id: str
    attempt: int = Field(ge=1)
    """The attempt that paid for it."""
    key: Sha256
    """Of everything that was asked."""
    model: str
    """Model id as reported by the provider."""
    usage: Usage
    cost_usd: float | None = None
    """None: the price is unknown."""
    at: datetime
    reply: dict[str, Any] | None = None
    """The reply as JSON; None once the trial has finished, whose transcript holds it."""
