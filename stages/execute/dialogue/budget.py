"""What a trial has used of its budget, and which limit it has reached.

Turns, tokens and time are counted as they are used, and the call or tool that reaches a limit is
the last one. Money is held: a call is only made if the most that it can cost is left.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from environments.models.faults import lost_money
from environments.models.money.budget import Spending
from environments.models.money.prices import Price
from environments.models.money.spending import call_bound, longest_reply
from environments.ports import ModelReply, ModelRequest
from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending
from taskdata.schema.usage import FailedAttempt

_SHORTEST_REPLY = 256
"""Tokens; no agent gets further with less, so what is left for it is not spent."""
_SHORTEST_WITH_THOUGHT = 2048
"""The same for one that was told to reason."""


class Meter:
    """Counts turns, tokens, money and time of one trial; time runs from its creation.

    Time in line for a provider's rate limits or the run's money is not the agent's. What is not
    known counts as the most that it can be.
    """

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
        price: Price | None = None,
    ) -> None:
        """Hold `budget`; `price` is that of the agent's model, None where it is unknown."""
        self.budget = budget
        self._clock = clock
        self._price = price
        self._started = clock()
        self._spent = Spending()
        self._lost_usd = 0.0
        """Of what was spent: what attempts without an answer may be charged."""
        self._waited = 0.0

    def afford(self, request: ModelRequest) -> ModelRequest | Ending:
        """Return the request as the rest of the budget allows it, or what allows none.

        Its reply may have become shorter, and its attempts may together cost what is left.

        Raises:
            ModelUnavailable: The money would suffice, had the provider answered every attempt.
        """
        thinks = request.reasoning_effort not in (None, "none")
        shortest = _SHORTEST_WITH_THOUGHT if thinks else _SHORTEST_REPLY
        if thinks and request.max_tokens < min(shortest, self.budget.max_reply_tokens):
            return Ending.OUT_OF_TOKENS
        left = self._usd_left
        if left is None:
            return request
        needed = min(shortest, request.max_tokens)
        longest = longest_reply(request, self._price, left)
        if longest < needed:
            if longest_reply(request, self._price, left + self._lost_usd) >= needed:
                raise lost_money(self._lost_usd)
            return Ending.OUT_OF_MONEY
        return replace(request, max_tokens=longest, max_usd=left)

    def count(self, request: ModelRequest, reply: ModelReply) -> None:
        """Add a model call, with the attempts before its reply and its time in line."""
        self.wait(reply.waited_seconds)
        tokens, usd = reply.usage.total, reply.cost_usd
        if not tokens or (usd is None and self.budget.max_usd is not None):
            bound = call_bound(request, self._price)
            tokens, usd = tokens or bound.tokens, bound.usd if usd is None else usd
        self._spent = self._spent + Spending(1, tokens, usd)
        if not reply.is_kept:
            self.count_failed(reply.failed_attempts)

    def wait(self, seconds: float) -> None:
        """Leave out time that is not the agent's."""
        self._waited += seconds

    def count_failed(self, attempts: Sequence[FailedAttempt]) -> None:
        """Add what attempts at a model call may be charged though they brought no reply."""
        for attempt in attempts:
            self.lose(attempt.cost_at_most_usd)

    def lose(self, usd: float | None) -> None:
        """Add what an attempt without an answer may be charged: no doing of the agent's."""
        self._spent = self._spent + Spending(usd=usd)
        self._lost_usd += usd or 0.0

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[float | None]:
        """Yield what a tool's model may cost, None without a limit; nothing else is paid then."""
        yield self._usd_left

    def charge(self, usd: float | None) -> None:
        """Add what a tool's model cost, or may have cost; its tokens are not the agent's.

        A cost that is unknown may be any: where money is limited, there is none left then.
        """
        self._spent = self._spent + Spending(usd=usd)

    @property
    def _usd_left(self) -> float | None:
        """Money left, never below 0; None without a limit."""
        if self.budget.max_usd is None:
            return None
        return 0.0 if self._spent.usd is None else max(0.0, self.budget.max_usd - self._spent.usd)

    @property
    def seconds_left(self) -> float:
        """Wall time left, never below 0."""
        used = self._clock() - self._started - self._waited
        return max(0.0, self.budget.max_seconds - used)

    @property
    def turns_left(self) -> int:
        """Turns left, never below 0."""
        return max(0, self.budget.max_turns - self._spent.calls)

    @property
    def reply_tokens(self) -> int:
        """Most tokens the next reply may have, at least 1; less money may make it fewer."""
        left = self.budget.max_tokens - self._spent.tokens
        return max(1, min(self.budget.max_reply_tokens, left))

    def exhausted(self) -> Ending | None:
        """Return the ending of the first limit reached; None while another call is allowed."""
        budget, spent = self.budget, self._spent
        if self.seconds_left <= 0:
            return Ending.OUT_OF_TIME
        if budget.max_usd is not None and (
            spent.usd is None or spent.usd - self._lost_usd >= budget.max_usd
        ):
            return Ending.OUT_OF_MONEY
        if spent.tokens >= budget.max_tokens:
            return Ending.OUT_OF_TOKENS
        return Ending.OUT_OF_TURNS if spent.calls >= budget.max_turns else None
