"""What a client asks of a limiter, and what it reports; all values travel as JSON."""

from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from pydantic import Field

from taskdata.schema.base import Value


class Allowance(Value):
    """What is left of one of a provider's limits; it refills evenly until it is whole again."""

    limit: float = Field(gt=0, allow_inf_nan=False)
    remaining: float = Field(ge=0, allow_inf_nan=False)
    reset_seconds: float = Field(ge=0, allow_inf_nan=False)
    """Until all of `limit` is there again."""


class Outcome(Value):
    """How one attempt at a provider ended, as far as its limits are concerned."""

    kind: Literal["ok", "limited", "fault"]
    """`limited`: the provider wants fewer calls; `fault`: anything else that went wrong."""
    tokens: int | None = Field(default=None, ge=0)
    """Input plus output; None: not known."""
    retry_after_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    requests: Allowance | None = None
    input_tokens: Allowance | None = None
    """Also a provider's limit on all tokens, where one limit covers input and output."""


class Slot(Protocol):
    """The permission to make one attempt at a provider."""

    waited_seconds: float
    """Time that the caller spent in the queue for the slot."""

    def report(self, outcome: Outcome) -> None:
        """Tell how the attempt ended; without a report the limiter learns nothing from it."""
        ...

    def give_back(self) -> None:
        """Tell that nothing was sent, so that no rate limit counts the attempt."""
        ...


class Limiter(Protocol):
    """Shares a provider's limits among all its callers; providers do not affect each other."""

    def slot(
        self, provider: str, estimated_tokens: int, seconds: float
    ) -> AbstractAsyncContextManager[Slot]:
        """Hold one of the provider's slots for the length of the block.

        Args:
            provider: Name of whoever sets the limits, see `limited_as`.
            estimated_tokens: About how many tokens the attempt will use.
            seconds: Longest wait for the slot.

        Raises:
            ModelUnavailable: No slot was free in time.
        """
        ...


def limited_as(provider: str) -> str:
    """Return the name under which limits are shared, for `provider` or `provider@host`.

    `openai-chat` and `openai-responses` are two ways to call one provider and share its limits.
    """
    name, at, host = provider.partition("@")
    return name.partition("-")[0] + at + host
