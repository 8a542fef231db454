"""The limits of one provider in one process: its share of the slots, its rates, and pauses.

This module reads no clock and needs no event loop: times are in seconds of any monotonic clock.
"""

import math

from environments.models.limits.protocols import Outcome
from environments.models.limits.rates import LONGEST_PAUSE_SECONDS, TokenBucket
from environments.models.limits.shared_limits import Demand, Share

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_OWN_PAUSE_SECONDS = 60.0
"""For a provider that refuses repeatedly without a `retry-after`."""


class ProviderLimits:
    """Decides when a call may start; none may before the first share has arrived."""

    def __init__(self, now: float) -> None:
        self.share = Share()
        self.in_flight = 0
        self._paused_until = now
        self._refusals_in_a_row = 0
        self._requests, self._tokens = TokenBucket(None, now), TokenBucket(None, now)
        # Both are counted since the last report that the coordinator has answered.
        self._answers = 0
        self._refused: int | None = None

    def demand(self, waiting: int, now: float) -> Demand:
        """Return the demand to report while `waiting` calls wait."""
        return Demand(
            calls=self.in_flight + waiting,
            in_flight=self.in_flight,
            pause_seconds=max(0.0, self._paused_until - now),
            answers=self._answers,
            refused=self._refused,
        )

    def keep_to(self, share: Share, told: Demand, now: float) -> None:
        """Apply a share, the coordinator's answer to the demand `told`."""
        before, self.share = self.share, share
        self._answers -= told.answers
        if share.window.decreases != before.window.decreases:
            self._refused = None
        new = share.ceilings
        if new != before.ceilings:
            self._requests = TokenBucket(new.requests_per_minute, now)
            self._tokens = TokenBucket(new.tokens_per_minute, now)
        self._pause(share.pause_seconds, now)

    def wait(self, tokens: int, now: float) -> float:
        """Return 0 if a call of `tokens` may start now, else the seconds until it may.

        Infinite if only the end of another call or a new share can help.
        """
        if self.in_flight >= self.share.slots:
            return math.inf
        # Other workers use their parts of the rate too, so one call is counted as several.
        one, size = 1.0 / self.share.part, tokens / self.share.part
        rates = max(self._requests.wait(one, now), self._tokens.wait(size, now))
        return max(rates, self._paused_until - now)

    def start(self, tokens: int, now: float) -> int:
        """Count a call that starts; return the window's `decreases`, to be passed to `end`."""
        self.in_flight += 1
        self.count(1, tokens, now)
        return self.share.window.decreases

    def count(self, requests: int, tokens: int, now: float) -> None:
        """Count requests and tokens towards the rates; negative numbers give unused ones back."""
        self._requests.take(requests / self.share.part, now)
        self._tokens.take(tokens / self.share.part, now)

    def end(self, tokens: int, decreases: int, outcome: Outcome | None, now: float) -> bool:
        """Count the end of a call; without an outcome nothing is learned from it.

        Returns:
            Whether to report to the coordinator at once.
        """
        needed_all = self.in_flight >= self.share.slots
        self.in_flight -= 1
        if outcome is None:
            return False
        if outcome.tokens is not None:
            self.count(0, outcome.tokens - tokens, now)
        if outcome.requests is not None:
            self._requests.hear(outcome.requests, now)
        if outcome.input_tokens is not None:
            self._tokens.hear(outcome.input_tokens, now)
        if outcome.kind == "limited":
            return self._back_off(outcome.retry_after_seconds, decreases, now)
        if outcome.kind == "fault":
            return False
        self._refusals_in_a_row = 0
        # A call that did not need all slots does not show that more are possible.
        self._answers += needed_all
        return needed_all and self.share.window.is_starting

    def _back_off(self, retry_after: float | None, decreases: int, now: float) -> bool:
        # Refusals of calls begun before the last halving, or during a pause, carry no new
        # information.
        is_told = self._refused is not None and now < self._paused_until
        is_news = decreases == self.share.window.decreases and not is_told
        if is_news:
            self._refused = decreases
            self._refusals_in_a_row += 1
        if retry_after is not None:
            self._pause(retry_after, now)
        elif is_news:
            pause = _FIRST_PAUSE_SECONDS * 2.0 ** min(self._refusals_in_a_row - 1, 10)
            self._pause(min(pause, _LONGEST_OWN_PAUSE_SECONDS), now)
        return is_news

    def _pause(self, seconds: float, now: float) -> None:
        until = now + min(seconds, LONGEST_PAUSE_SECONDS)
        self._paused_until = max(self._paused_until, until)
