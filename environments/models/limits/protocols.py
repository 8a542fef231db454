"""What clients ask of a limiter and report to it; all values travel as JSON."""

from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from pydantic import Field

from taskdata.schema.base import Value


class Allowance(Value):
    """What is left of one of a provider's limits; it refills at a constant rate."""

    limit: float = Field(gt=0, allow_inf_nan=False)
    remaining: float = Field(ge=0, allow_inf_nan=False)
    reset_seconds: float = Field(ge=0, allow_inf_nan=False)
    """Time until the whole `limit` is available again."""


class Outcome(Value):
    """The result of one attempt at a provider, as far as rate limits are concerned."""

    kind: Literal["ok", "limited", "fault"]
    """`limited`: the provider wants fewer calls; `fault`: any other failure."""
    tokens: int | None = Field(default=None, ge=0)
    """Input plus output tokens; None: unknown."""
    retry_after_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    requests: Allowance | None = None
    input_tokens: Allowance | None = None
    """Also used for a limit on all tokens, if one limit covers input and output."""


class Slot(Protocol):
    """The permission for one attempt at a provider."""

    waited_seconds: float
    """How long the caller waited in the queue for the slot."""

    def report(self, outcome: Outcome) -> None:
        """Report the result of the attempt; without a report the limiter learns nothing from it."""
        ...

    def give_back(self) -> None:
        """Report that nothing was sent, so that the attempt counts towards no rate limit."""
        ...


class Limiter(Protocol):
    """Shares a provider's limits among all its callers; providers do not affect each other."""

    def slot(
        self, provider: str, estimated_tokens: int, seconds: float
    ) -> AbstractAsyncContextManager[Slot]:
        """Hold one of the provider's slots for the length of the block.

        Args:
            provider: Name under which the limits are shared, see `limited_as`.
            estimated_tokens: About how many tokens the attempt will use.
            seconds: Longest wait for the slot.

        Raises:
            ModelUnavailable: no slot was free in time.
        """
        ...


def limited_as(provider: str) -> str:
    """Return the name under which limits are shared, for `provider` or `provider@host`.

    `openai-chat` and `openai-responses` are two ways to call one provider and share its limits.
    """
    name, at, host = provider.partition("@")
    return name.partition("-")[0] + at + host
