"""Decides when a call to one provider may start; knows no clock, loop or network.

By itself it searches for the provider's window (`window`) alone. Told shares by a coordinator, it
keeps to them, and reports what it learns; what it does then is immediate only where it is less: a
refusal halves the share at once, which then grows back to what was dealt. Requests and tokens per
minute are buckets that refill evenly, as configured or as the provider's headers describe its own.
"""

import math
from dataclasses import dataclass

from environments.models.limits.seam import Allowance, Outcome, Share, Want
from environments.models.limits.window import Window
from taskdata.schema.ceilings import Ceilings

LONGEST_PAUSE_SECONDS = 900.0
"""A longer `retry-after` is not waited out: the provider may be back before."""

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_OWN_PAUSE_SECONDS = 60.0
"""Where the provider refuses time and again, and does not say for how long."""
_PROBE_SECONDS = 60.0
"""What was said to be left is doubted after so long without a word: then one call finds out."""
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

    def take(self, amount: float, now: float) -> None:
        """Remove `amount`; a negative one gives back."""
        self._level = min(self._capacity, self.level(now) - amount)
        self._at = max(self._at, now)


class Governor:
    """The limits of one provider, and what is in flight to it; times are any rising seconds."""

    def __init__(self, ceilings: Ceilings, now: float) -> None:
        """Start with few calls at a time."""
        self._most = ceilings.concurrency
        self._window = Window().within(ceilings.concurrency)
        self._shared: Window | None = None
        """Of all workers, as the coordinator last told; `_window` is then this worker's share."""
        self._part = 1.0
        self._in_flight = 0
        self._paused_until = now
        self._full_at = -math.inf
        self._decreased_at = -math.inf
        self._pauses_in_a_row = 0
        self._heard_at = now
        self._rates = (ceilings.requests_per_minute, ceilings.tokens_per_minute)
        self._requests, self._tokens = (_bucket(rate, now) for rate in self._rates)
        self._said_requests: Bucket | None = None
        self._said_tokens: Bucket | None = None
        self._untold = _Untold()

    @property
    def in_flight(self) -> int:
        """Calls started and not ended."""
        return self._in_flight

    @property
    def concurrency(self) -> int:
        """Calls that may be in flight now; below 1 only where a coordinator dealt out none."""
        return min(self._most, int(self._window.size))

    def want(self, waiting: int, now: float) -> Want:
        """Return what to tell the coordinator, where so many calls wait."""
        return Want(
            calls=self._in_flight + waiting,
            in_flight=self._in_flight,
            pause_seconds=max(0.0, self._paused_until - now),
            window=self._shared,
            answers=self._untold.answers,
            refused=self._untold.refused,
            requests=self._untold.requests,
            input_tokens=self._untold.input_tokens,
        )

    def wait_for_share(self) -> None:
        """Start no call before `deal` was called."""
        self._most = 0

    def deal(self, share: Share, now: float, told: Want | None = None) -> None:
        """Keep to a share of what all workers have together, dealt in answer to what was `told`."""
        self._untold.forget(told)
        if self._shared is not None and share.window.decreases != self._shared.decreases:
            # Calls that are under way began before the others' refusals, too.
            self._decreased_at, self._untold.refused = now, None
        self._shared, self._most, self._part = share.window, share.concurrency, share.part
        self._window = Window(size=max(1, share.concurrency), is_starting=False)
        if self._untold.refused is not None:
            # The coordinator does not know yet: this share and the news of it crossed.
            self._window = self._window.halved()
        rates = (share.requests_per_minute, share.tokens_per_minute)
        if rates != self._rates:
            self._rates = rates
            self._requests, self._tokens = (_bucket(rate, now) for rate in rates)
        pause = min(share.pause_seconds, LONGEST_PAUSE_SECONDS)
        self._paused_until = max(self._paused_until, now + pause)
        self._hear(share.requests, share.input_tokens, now)

    def wait(self, tokens: int, now: float) -> float:
        """Return 0 if a call of `tokens` may start now, else the seconds until it may.

        Infinite where only the end of another call can help.
        """
        if self._in_flight >= self.concurrency:
            return math.inf
        # The other workers use what is theirs meanwhile, so a call stands for some of theirs.
        one, size = 1.0 / self._part, tokens / self._part
        ours = [(self._requests, one), (self._tokens, size)]
        said = [(self._said_requests, one), (self._said_tokens, size)]
        need = max((b.wait(n, now) for b, n in ours if b is not None), default=0.0)
        asked = max((b.wait(n, now) for b, n in said if b is not None), default=0.0)
        if not self._in_flight:
            asked = min(asked, self._heard_at + _PROBE_SECONDS - now)
        return max(0.0, need, asked, self._paused_until - now)

    def start(self, tokens: int, now: float) -> None:
        """Count a call that starts."""
        self._in_flight += 1
        if self._in_flight >= self.concurrency:
            self._full_at = now
        self._take(1.0, float(tokens), now)

    def forget(self, tokens: int, now: float) -> None:
        """Let a call that started and was never sent count for no rate; it has still to `end`."""
        self._take(-1.0, -float(tokens), now)

    def end(
        self, estimated_tokens: int, started_at: float, outcome: Outcome | None, now: float
    ) -> bool:
        """Count the end of a call; without an outcome nothing is learned from it.

        Returns:
            Whether the coordinator, where there is one, should know at once.
        """
        self._in_flight -= 1
        if outcome is None:
            return False
        if outcome.tokens is not None:
            self._take(0.0, float(outcome.tokens - estimated_tokens), now)
        self._heard_at = now
        self._hear(outcome.requests, outcome.input_tokens, now)
        self._untold.hear(outcome)
        if outcome.kind == "limited":
            return self._back_off(outcome, started_at, now)
        if outcome.kind == "ok":
            self._pauses_in_a_row = 0
            # Only calls that used the width up, at some time of their own, show it is bearable.
            if self._full_at >= started_at:
                self._window = self._window.grown(1, max(1, self._most))
                self._untold.answers += 1
                return self._shared is not None and self._shared.is_starting
        return False

    def _back_off(self, outcome: Outcome, started_at: float, now: float) -> bool:
        # Calls that were under way when it was last halved tell nothing new.
        is_news = started_at > self._decreased_at
        if is_news:
            self._window = self._window.halved()
            self._decreased_at = now
            self._pauses_in_a_row += 1
            self._untold.refused = None if self._shared is None else self._shared.decreases
        pause = outcome.retry_after_seconds
        if pause is None:
            if not is_news:
                return False
            pause = _FIRST_PAUSE_SECONDS * 2.0 ** min(self._pauses_in_a_row - 1, 10)
            pause = min(pause, _LONGEST_OWN_PAUSE_SECONDS)
        until = now + min(pause, LONGEST_PAUSE_SECONDS)
        self._paused_until = max(self._paused_until, until)
        return is_news

    def _hear(self, requests: Allowance | None, tokens: Allowance | None, now: float) -> None:
        if requests is not None:
            self._said_requests, self._heard_at = Bucket.of_allowance(requests, now), now
        if tokens is not None:
            self._said_tokens, self._heard_at = Bucket.of_allowance(tokens, now), now

    def _take(self, requests: float, tokens: float, now: float) -> None:
        for bucket in (self._requests, self._said_requests):
            if bucket is not None and requests:
                bucket.take(requests / self._part, now)
        for bucket in (self._tokens, self._said_tokens):
            if bucket is not None:
                bucket.take(tokens / self._part, now)


@dataclass
class _Untold:
    """What was learned since the last word that the coordinator has answered."""

    answers: int = 0
    refused: int | None = None
    requests: Allowance | None = None
    input_tokens: Allowance | None = None

    def hear(self, outcome: Outcome) -> None:
        self.requests = outcome.requests or self.requests
        self.input_tokens = outcome.input_tokens or self.input_tokens

    def forget(self, told: Want | None) -> None:
        """Drop what the coordinator knows now; a refusal stays until it has acted on it."""
        if told is None:
            return
        self.answers -= told.answers
        self.requests = None if self.requests is told.requests else self.requests
        if self.input_tokens is told.input_tokens:
            self.input_tokens = None


def _bucket(per_minute: float | None, now: float) -> Bucket | None:
    return None if per_minute is None else Bucket.of_rate(per_minute, now)
