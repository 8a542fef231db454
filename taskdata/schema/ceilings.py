"""Limits of a model provider that a user sets."""

from pydantic import Field

from taskdata.schema.base import Value


class Ceilings(Value):
    """Limits that are never exceeded, whatever the provider would put up with."""

    concurrency: int = Field(default=1000, ge=1)
    """Calls in flight at a time, over all workers."""
    requests_per_minute: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    tokens_per_minute: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    def and_also(self, other: "Ceilings") -> "Ceilings":
        """Return the limits that keep both."""
        return Ceilings(
            concurrency=min(self.concurrency, other.concurrency),
            requests_per_minute=_least(self.requests_per_minute, other.requests_per_minute),
            tokens_per_minute=_least(self.tokens_per_minute, other.tokens_per_minute),
        )


def _least(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)
