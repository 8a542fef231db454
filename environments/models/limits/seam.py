"""What a client asks of a limiter, and what it tells it; all of it travels as JSON."""

from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from pydantic import Field

from environments.models.limits.window import Window
from taskdata.schema.base import Value


class Allowance(Value):
    """What is left of one of a provider's limits, refilled evenly until it is whole again."""

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
    """Also a provider's limit on all tokens, where it has one for both ways."""


class Want(Value):
    """What one worker would use of one provider now, and what it has learned since its last word.

    A word that is not answered is said again with what was learned meanwhile.
    """

    calls: int = Field(ge=0)
    """In flight and waiting."""
    in_flight: int = Field(default=0, ge=0)
    pause_seconds: float = Field(default=0.0, ge=0)
    """How much longer the provider told it to stay away."""
    window: Window | None = None
    """As last told, for a coordinator that begins; None: nothing was told yet."""
    answers: int = Field(default=0, ge=0)
    """To calls that needed all of the worker's share."""
    refused: int | None = None
    """`decreases` of the window by which the last call began that the provider found too many."""
    requests: Allowance | None = None
    """As the provider's last answer said, if it was since the last word; so `input_tokens`."""
    input_tokens: Allowance | None = None


class Share(Value):
    """What one worker may use of one provider until it hears otherwise."""

    concurrency: int = Field(ge=0)
    """Calls at a time; 0: not its turn, or nothing was wanted."""
    part: float = Field(default=1.0, gt=0, le=1)
    """Of everything below that is counted per minute."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """As configured, for all workers together; so `tokens_per_minute`."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    requests: Allowance | None = None
    """As the provider said to another worker, if that is news; so `input_tokens`."""
    input_tokens: Allowance | None = None
    pause_seconds: float = Field(default=0.0, ge=0)
    window: Window = Window()
    """Of all workers together."""


def limited_as(provider: str) -> str:
    """Return under which name limits are shared, of `provider` or `provider@host`.

    Ways to ask one provider, such as `openai-chat`, have its limits together.
    """
    name, at, host = provider.partition("@")
    return name.partition("-")[0] + at + host


class Slot(Protocol):
    """Leave to make one attempt at a provider."""

    waited_seconds: float
    """Spent in line for it."""

    def report(self, outcome: Outcome) -> None:
        """Tell how the attempt ended; without this nothing is learned from it."""
        ...

    def give_back(self) -> None:
        """Tell that nothing was sent, so that no rate limit counts it."""
        ...


class Limiter(Protocol):
    """Shares a provider's limits among all who call it; each provider by itself."""

    def slot(
        self, provider: str, estimated_tokens: int, seconds: float
    ) -> AbstractAsyncContextManager[Slot]:
        """Hold one of the provider's slots for the length of the block.

        Args:
            provider: Name of whoever sets the limits; another one never waits for it.
            estimated_tokens: What the attempt will use at about.
            seconds: Longest wait for the slot.

        Raises:
            ModelUnavailable: There was none in time.
        """
        ...
