"""Decides when one of our own harnesses may make another model call in a trial.

Turns, tokens and time are counted as they are used, and the call or tool that reaches a limit is
the last one. Money is reserved: a call is made only if its upper bound is left, and nothing else is
paid until it is settled.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from environments.models.faults import lost_money
from environments.models.money.budget import AwaitedBudget, Spending
from environments.models.money.prices import Price
from environments.models.money.spending import call_bound, longest_reply
from environments.models.money.trial_budget import TrialBudget
from environments.ports import ModelReply, ModelRequest
from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending
from taskdata.schema.usage import FailedAttempt

_SHORTEST_REPLY = 256
"""Tokens; no agent makes progress with less, so a smaller rest is not spent."""
_SHORTEST_WITH_THOUGHT = 2048
"""Tokens, for an agent whose model was asked to reason."""


class HarnessBudget(TrialBudget):
    """The budget of one trial with a harness of ours; time runs from its creation."""

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
        price: Price | None = None,
    ) -> None:
        """Hold `budget`; `price` is the price of the agent's model, None if it is unknown."""
        super().__init__(budget, AwaitedBudget(max_usd=budget.max_usd), price, clock)
        self.begin()

    @asynccontextmanager
    async def reserved(self, request: ModelRequest) -> AsyncIterator[ModelRequest | Ending]:
        """Reserve the money that is left for one call, for the length of the block.

        Yields and raises what `afford` returns and raises; the block counts what the call used.
        """
        async with self.hold():
            yield self.afford(request)

    def afford(self, request: ModelRequest) -> ModelRequest | Ending:
        """Return the request within the rest of the budget, or the limit that allows none.

        Its reply limit may be lower than before, and its `max_usd` is what is left.

        Raises:
            ModelUnavailable: the money would suffice if the provider had answered every attempt.
        """
        thinks = request.reasoning_effort not in (None, "none")
        shortest = _SHORTEST_WITH_THOUGHT if thinks else _SHORTEST_REPLY
        if thinks and request.max_tokens < min(shortest, self.budget.max_reply_tokens):
            return Ending.OUT_OF_TOKENS
        if self.budget.max_usd is None:
            return request
        # The current reservation belongs to this call.
        spent = self.spent.usd
        left = 0.0 if spent is None else max(0.0, self.budget.max_usd - spent)
        needed = min(shortest, request.max_tokens)
        longest = longest_reply(request, self._price, left)
        if longest < needed:
            if longest_reply(request, self._price, left + self.lost_usd) >= needed:
                raise lost_money(self.lost_usd)
            return Ending.OUT_OF_MONEY
        return replace(request, max_tokens=longest, max_usd=left)

    def count(self, request: ModelRequest, reply: ModelReply) -> None:
        """Count a model call, with the failed attempts before its reply and its waiting time."""
        self.wait(reply.waited_seconds)
        tokens, usd = reply.usage.total, reply.cost_usd
        if not tokens or (usd is None and self.budget.max_usd is not None):
            bound = call_bound(request, self._price)
            tokens, usd = tokens or bound.tokens, bound.usd if usd is None else usd
        self._tracker.spend(Spending(1, tokens, usd))
        if not reply.is_kept:
            self.count_failed(reply.failed_attempts)

    def count_failed(self, attempts: Sequence[FailedAttempt]) -> None:
        """Count what failed attempts at a model call may cost, when there was no reply."""
        for attempt in attempts:
            self.lose(attempt.cost_at_most_usd)

    @property
    def turns_left(self) -> int:
        """Turns left, at least 0."""
        return max(0, self.budget.max_turns - self.spent.calls)

    @property
    def reply_tokens(self) -> int:
        """Most tokens of the next reply, at least 1; lack of money may lower it further."""
        left = self.budget.max_tokens - self.spent.tokens
        return max(1, min(self.budget.max_reply_tokens, left))

    def exhausted(self) -> Ending | None:
        """Return the ending for the first limit reached; None if another call is allowed."""
        budget, spent = self.budget, self.spent
        if self.seconds_left <= 0:
            return Ending.OUT_OF_TIME
        if budget.max_usd is not None and (
            spent.usd is None or spent.usd - self.lost_usd >= budget.max_usd
        ):
            return Ending.OUT_OF_MONEY
        if spent.tokens >= budget.max_tokens:
            return Ending.OUT_OF_TOKENS
        return Ending.OUT_OF_TURNS if spent.calls >= budget.max_turns else None
