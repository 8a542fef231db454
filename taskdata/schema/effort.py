"""What attempts of agents used, and what the paid calls around them took."""

from pydantic import Field

from taskdata.schema.base import Sha256, Value


class PastEffort(Value):
    """What one finished attempt of an agent used."""

    task_hash: Sha256
    turns: int = Field(ge=0)
    tokens: int = Field(ge=0)
    """Input and output."""
    cost_usd: float | None = None
    """None: a price is unknown."""


class CallEffort(Value):
    """What the paid calls of a judge, a simulated user, a critic or a labeller took together."""

    calls: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    """Input and output."""
    cost_usd: float | None = 0.0
    """None: a price is unknown."""

    def __add__(self, other: "CallEffort") -> "CallEffort":
        known = self.cost_usd is not None and other.cost_usd is not None
        return CallEffort(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )
