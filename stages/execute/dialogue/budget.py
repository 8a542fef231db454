"""What a trial has used of its budget, and which limit it has reached."""

import time
from collections.abc import Callable

from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending, Usage


class Meter:
    """Counts turns, tokens, money and time of one trial; time runs from its creation.

    Time in line for a provider's rate limits is not the agent's.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._clock = clock
        self._started = clock()
        self._turns = 0
        self._tokens = 0
        self._cost_usd = 0.0
        self._waited = 0.0

    def count(self, usage: Usage, cost_usd: float | None, waited_seconds: float = 0.0) -> None:
        """Add one model call and its time in line; an unknown cost adds nothing."""
        self._turns += 1
        self._waited += waited_seconds
        self._tokens += usage.total
        self._cost_usd += cost_usd or 0.0

    def count_tool(self, cost_usd: float | None) -> None:
        """Add what a tool call cost; its tokens are not the agent's, and an unknown cost is 0."""
        self._cost_usd += cost_usd or 0.0

    @property
    def seconds_left(self) -> float:
        """Wall time left, never below 0."""
        used = self._clock() - self._started - self._waited
        return max(0.0, self.budget.max_seconds - used)

    @property
    def turns_left(self) -> int:
        """Turns left, never below 0."""
        return max(0, self.budget.max_turns - self._turns)

    @property
    def reply_tokens(self) -> int:
        """Most tokens the next reply may have, at least 1."""
        return max(1, min(self.budget.max_reply_tokens, self.budget.max_tokens - self._tokens))

    def exhausted(self) -> Ending | None:
        """Return the ending of the first limit reached; None while another call is allowed."""
        budget = self.budget
        if self.seconds_left <= 0:
            return Ending.OUT_OF_TIME
        if budget.max_usd is not None and self._cost_usd >= budget.max_usd:
            return Ending.OUT_OF_MONEY
        if self._tokens >= budget.max_tokens:
            return Ending.OUT_OF_TOKENS
        return Ending.OUT_OF_TURNS if self._turns >= budget.max_turns else None
