"""What model calls use, and what became of the attempts at one."""

from typing import ClassVar

from pydantic import Field

from taskdata.schema.base import GrowingValue


class Usage(GrowingValue):
    """Tokens as the provider reported them."""

    added_later: ClassVar[frozenset[str]] = frozenset({"cache_write_tokens", "reasoning_tokens"})

    input_tokens: int = Field(default=0, ge=0)
    """All that was read, cached and newly cached tokens included."""
    output_tokens: int = Field(default=0, ge=0)
    """All that was written, reasoning included."""
    cached_input_tokens: int = Field(default=0, ge=0)
    """Of the input: read from the provider's cache."""
    cache_write_tokens: int = Field(default=0, ge=0)
    """Of the input: written to the provider's cache."""
    reasoning_tokens: int = Field(default=0, ge=0)
    """Of the output: thought, and not part of the reply's text; 0 where it is not told apart."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )

    @property
    def total(self) -> int:
        """Input plus output tokens."""
        return self.input_tokens + self.output_tokens


class FailedAttempt(GrowingValue):
    """One attempt at a model call that brought no answer."""

    added_later: ClassVar[frozenset[str]] = frozenset({"cost_at_most_usd"})

    status: int | None = None
    """HTTP status; None: no whole response came, or it did not come in time."""
    cause: str
    """One line, at most 300 characters, free of keys and prompts."""
    seconds: float = Field(ge=0)
    """How long it took; waiting before it is not counted."""
    cost_at_most_usd: float | None = Field(default=None, ge=0)
    """What the provider may charge for it all the same, in USD: the most that such a call can cost
    where it may have been worked on (no whole response to what was sent, or one with status 2xx
    that could not be used), 0 where it was turned down (an error status) or never sent. None: not
    known, for the price is not, or nobody noted it yet."""
