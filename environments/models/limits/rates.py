"""Token buckets for rates, and an AIMD window for concurrency; neither reads a clock."""

import math

from pydantic import Field

from environments.models.limits.protocols import Allowance
from taskdata.schema.base import Value

LONGEST_PAUSE_SECONDS = 900.0
"""A longer `retry-after` or reset time is ignored: the provider may recover earlier."""
START_CONCURRENCY = 16.0

_DECREASE = 0.5
_BURST_SECONDS = 6.0
"""A configured rate allows this many seconds' worth at once."""


class TokenBucket:
    """An amount that refills at a constant rate up to its capacity; it may become negative.

    The rate is the configured one, or the provider's own if its headers report a lower one.
    """

    def __init__(self, per_minute: float | None, now: float) -> None:
        """Start full; without a configured rate it is unlimited until the provider reports one."""
        rate = math.inf if per_minute is None else per_minute
        self._configured = (rate / 60, max(1.0, rate * _BURST_SECONDS / 60))
        self._per_second, self._capacity = self._configured
        self._level = self._capacity
        self._at = now

    def hear(self, allowance: Allowance, now: float) -> None:
        """Adopt what the provider reports, if it is below the configured rate."""
        missing, reset = allowance.limit - allowance.remaining, allowance.reset_seconds
        # A full allowance does not tell how fast it refills; providers count per minute.
        is_full = missing <= 0 or reset <= 0
        rate = allowance.limit / 60 if is_full else missing / min(reset, LONGEST_PAUSE_SECONDS)
        is_configured = math.isfinite(self._configured[0])
        level = min(self.level(now), allowance.remaining) if is_configured else allowance.remaining
        self._per_second = min(self._configured[0], rate)
        self._capacity = min(self._configured[1], allowance.limit)
        self._level = min(level, self._capacity)
        self._at = now

    def level(self, now: float) -> float:
        """Return the amount at `now`; negative in debt."""
        if math.isinf(self._per_second):
            return math.inf
        refilled = self._level + max(0.0, now - self._at) * self._per_second
        return min(self._capacity, refilled)

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` is available, or the capacity if that is less."""
        if math.isinf(self._per_second):
            return 0.0
        # A rounding error must not make a full bucket look incomplete.
        missing = min(amount, self._capacity) - self.level(now) - 1e-9 * self._capacity
        return max(0.0, missing / self._per_second)

    def take(self, amount: float, now: float) -> None:
        """Remove `amount`; a negative amount is added back."""
        self._level = min(self._capacity, self.level(now) - amount)
        self._at = max(self._at, now)


class AimdWindow(Value):
    """How many concurrent calls a provider accepts, as far as it is known.

    AIMD (Chiu and Jain 1989) with the slow start of TCP (RFC 5681, section 3.1): the window grows
    by one with each answer until the provider first refuses a call; a refusal halves it, and from
    then on it grows by one per window of answers.
    """

    size: float = Field(default=START_CONCURRENCY, ge=1, allow_inf_nan=False)
    is_starting: bool = True
    """Slow start: neither the provider nor a configured limit has been reached yet."""
    decreases: int = Field(default=0, ge=0)
    """How often the window was halved. Only calls begun after the last time may halve it again."""

    def grown(self, answers: int, most: float) -> "AimdWindow":
        """Return the window after `answers` calls that needed all of it; `most` is its limit."""
        step = answers if self.is_starting else answers / self.size
        return self.model_copy(update={"size": self.size + step}).within(most)

    def halved(self) -> "AimdWindow":
        """Return the window after a refusal; its size is at least 1."""
        size = max(1.0, self.size * _DECREASE)
        return AimdWindow(size=size, is_starting=False, decreases=self.decreases + 1)

    def within(self, most: float) -> "AimdWindow":
        """Return the window, cut to a limit of at least 1."""
        if self.size < most:
            return self
        return AimdWindow(size=most, is_starting=False, decreases=self.decreases)
