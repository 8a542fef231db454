"""Decides when a call to one provider may start; knows no clock, loop or network.

Concurrency is adaptive (AIMD, Chiu and Jain 1989, with the slow start of TCP, RFC 5681 §3.1): it
starts low, grows by one with each answer until the provider first says "too many", is halved then,
and grows by one per window of answers from there. Requests and tokens per minute are buckets that
refill evenly, as configured or as the provider's headers describe its own.
"""

import math

from environments.models.limits.seam import Allowance, Outcome
from taskdata.schema.ceilings import Ceilings

START_CONCURRENCY = 16.0
LONGEST_PAUSE_SECONDS = 60.0
"""Nothing a provider says holds its next call back for longer."""

_DECREASE = 0.5
_FIRST_PAUSE_SECONDS = 0.5
_BURST_SECONDS = 6.0
"""What may start at once of a configured rate: a tenth of a minute's worth."""


class Bucket:
    """An amount that refills evenly up to its capacity; what is taken may put it in debt."""

    def __init__(self, capacity: float, per_second: float, level: float, now: float) -> None:
        """Start with `level` at time `now`; `per_second` is above 0."""
        self._capacity = capacity
        self._per_second = per_second
        self._level = level
        self._at = now

    @classmethod
    def of_rate(cls, per_minute: float, now: float) -> "Bucket":
        """Return a full bucket for a configured rate; it always holds at least one unit."""
        capacity = max(1.0, per_minute * _BURST_SECONDS / 60)
        return cls(capacity, per_minute / 60, capacity, now)

    @classmethod
    def of_allowance(cls, allowance: Allowance, now: float) -> "Bucket":
        """Return what the provider says it has."""
        missing = allowance.limit - allowance.remaining
        if missing <= 0 or allowance.reset_seconds <= 0:
            # Whole: nothing tells how fast it refills, and minutes are what providers count in.
            return cls(allowance.limit, allowance.limit / 60, allowance.limit, now)
        per_second = missing / allowance.reset_seconds
        return cls(allowance.limit, per_second, allowance.remaining, now)

    def level(self, now: float) -> float:
        """Return what is there at `now`; below 0 in debt."""
        refilled = self._level + max(0.0, now - self._at) * self._per_second
        return min(self._capacity, refilled)

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` is there, or all that it can hold if that is less."""
        # A rounding error must not make a full bucket look short.
        missing = min(amount, self._capacity) - self.level(now) - 1e-9 * self._capacity
        return max(0.0, missing / self._per_second)

    def refill_by(self, per_minute: float, now: float) -> None:
        """Refill at another rate from `now` on; what is there stays, as far as it can be held."""
        self._level, self._at = self.level(now), now
        self._per_second = per_minute / 60
        self._capacity = max(1.0, per_minute * _BURST_SECONDS / 60)

    def take(self, amount: float, now: float) -> None:
        """Remove `amount`; a negative one gives back."""
        self._level = min(self._capacity, self.level(now) - amount)
        self._at = max(self._at, now)


class Governor:
    """The limits of one provider, and what is in flight to it; times are any rising seconds."""

    def __init__(self, ceilings: Ceilings, now: float) -> None:
        """Start with few calls at a time."""
        self._ceilings = ceilings
        self._window = min(START_CONCURRENCY, float(ceilings.concurrency))
        self._is_starting = True
        self._in_flight = 0
        self._paused_until = now
        self._full_at = -math.inf
        self._decreased_at = -math.inf
        self._pauses_in_a_row = 0
        self._heard_at = now
        rate, tokens = ceilings.requests_per_minute, ceilings.tokens_per_minute
        self._requests = None if rate is None else Bucket.of_rate(rate, now)
        self._tokens = None if tokens is None else Bucket.of_rate(tokens, now)
        self._said_requests: Bucket | None = None
        self._said_tokens: Bucket | None = None
        self._dealt: int | None = None

    @property
    def in_flight(self) -> int:
        """Calls started and not ended."""
        return self._in_flight

    @property
    def concurrency(self) -> int:
        """Calls that may be in flight now; below 1 only where a coordinator dealt out none."""
        own = max(1, min(self._ceilings.concurrency, int(self._window)))
        return own if self._dealt is None else min(own, self._dealt)

    def pause_seconds(self, now: float) -> float:
        """Return how much longer the provider is to be left alone."""
        return max(0.0, self._paused_until - now)

    def deal(
        self,
        slots: int | None,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        pause_seconds: float,
        now: float,
    ) -> None:
        """Keep to a share of limits that others have a part in; None: the provider's alone hold."""
        self._dealt = slots
        self._requests = _at_rate(self._requests, requests_per_minute, now)
        self._tokens = _at_rate(self._tokens, tokens_per_minute, now)
        pause = min(pause_seconds, LONGEST_PAUSE_SECONDS)
        self._paused_until = max(self._paused_until, now + pause)

    def wait(self, tokens: int, now: float) -> float:
        """Return 0 if a call of `tokens` may start now, else the seconds until it may.

        Infinite where only the end of another call can help.
        """
        if self._in_flight >= self.concurrency:
            return math.inf
        ours = [(self._requests, 1.0), (self._tokens, float(tokens))]
        said = [(self._said_requests, 1.0), (self._said_tokens, float(tokens))]
        need = max((b.wait(n, now) for b, n in ours if b is not None), default=0.0)
        asked = max((b.wait(n, now) for b, n in said if b is not None), default=0.0)
        asked = max(asked, self._paused_until - now)
        # What was said long ago holds for calls that others make us wait for, not for ever.
        probe = self._heard_at + LONGEST_PAUSE_SECONDS - now if not self._in_flight else asked
        return max(0.0, need, min(asked, max(0.0, probe)))

    def start(self, tokens: int, now: float) -> None:
        """Count a call that starts."""
        self._in_flight += 1
        if self._in_flight >= self.concurrency:
            self._full_at = now
        self._take(1.0, float(tokens), now)

    def end(
        self, estimated_tokens: int, started_at: float, outcome: Outcome | None, now: float
    ) -> None:
        """Count the end of a call; without an outcome nothing is learned from it."""
        self._in_flight -= 1
        if outcome is None:
            return
        if outcome.tokens is not None:
            self._take(0.0, float(outcome.tokens - estimated_tokens), now)
        self._hear(outcome, now)
        if outcome.kind == "ok":
            self._pauses_in_a_row = 0
            # Only calls that used the width up, at some time of their own, show it is bearable.
            if self._full_at >= started_at:
                self._window += 1.0 if self._is_starting else 1.0 / self._window
                self._window = min(self._window, float(self._ceilings.concurrency))
        elif outcome.kind == "limited":
            self._back_off(outcome, started_at, now)

    def _back_off(self, outcome: Outcome, started_at: float, now: float) -> None:
        # Calls that were under way when it was last halved tell nothing new.
        is_news = started_at > self._decreased_at
        if is_news:
            self._is_starting = False
            self._window = max(1.0, self._window * _DECREASE)
            self._decreased_at = now
            self._pauses_in_a_row += 1
        pause = outcome.retry_after_seconds
        if pause is None:
            if not is_news:
                return
            pause = _FIRST_PAUSE_SECONDS * 2.0 ** min(self._pauses_in_a_row - 1, 10)
        until = now + min(pause, LONGEST_PAUSE_SECONDS)
        self._paused_until = max(self._paused_until, until)

    def _hear(self, outcome: Outcome, now: float) -> None:
        self._heard_at = now
        if outcome.requests is not None:
            self._said_requests = Bucket.of_allowance(outcome.requests, now)
        if outcome.input_tokens is not None:
            self._said_tokens = Bucket.of_allowance(outcome.input_tokens, now)

    def _take(self, requests: float, tokens: float, now: float) -> None:
        for bucket in (self._requests, self._said_requests):
            if bucket is not None and requests:
                bucket.take(requests, now)
        for bucket in (self._tokens, self._said_tokens):
            if bucket is not None:
                bucket.take(tokens, now)


def _at_rate(bucket: Bucket | None, per_minute: float | None, now: float) -> Bucket | None:
    if per_minute is None:
        return None
    if bucket is None:
        return Bucket.of_rate(per_minute, now)
    bucket.refill_by(per_minute, now)
    return bucket
