"""The one layer that retries model calls.

A failed attempt is tried again after an exponential wait with jitter, or after what the provider
asked for, a bounded number of times and within the request's own time. The time spent waiting for
a slot of the provider, and for the run's money, is no part of that time; it has the same length for
itself. Money is set aside for one attempt at a time: one that may be charged though it brought no
answer is paid for at its most, and the next one needs as much again.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from random import SystemRandom
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from environments.models.faults import AttemptFailed, NoAnswerInTime, one_line
from environments.models.limits.protocols import Outcome, Slot
from environments.models.money.admission import OpenSlot, admitted
from environments.models.money.run_budget import MoneyHeld, RunBudget
from taskdata.errors import BudgetExhausted, Misuse, ModelRejected, ModelUnavailable
from taskdata.schema.deadlines import ATTEMPT_SECONDS
from taskdata.schema.usage import FailedAttempt

_logger = logging.getLogger(__name__)
_CAUSE_CHARS = 300
_PATIENCE = 10.0
_LEAST_PATIENCE_SECONDS = 60.0
_jitter = SystemRandom().random
T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often, how long and how far apart attempts are."""

    attempts: int = 5
    attempt_seconds: float = ATTEMPT_SECONDS
    """A single attempt is given up after this: a server that hangs is the provider's fault, not
    the agent's."""
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 60.0
    """Of our own choice. What a provider's `retry-after` asks for is waited, or given up at once
    where the request has no such time."""


@dataclass
class Unlimited:
    """The slot of a service whose limits nobody minds."""

    waited_seconds: float = 0.0

    def report(self, outcome: Outcome) -> None:
        """Nothing is learned from it."""

    def give_back(self) -> None:
        """Nothing counted it."""


@dataclass(slots=True)
class Try:
    """One attempt, as whoever makes it sees it."""

    seconds: float
    """How long it may take."""
    slot: Slot
    cost_usd: float | None = None
    """What it has cost by now; None: that is not known, so it may be the most that it can."""


def _no_line(_: float) -> AbstractAsyncContextManager[Slot]:
    return nullcontext(Unlimited())


def _unpriced() -> float | None:
    return None


def is_hung(seconds: float, longest_reply_seconds: float | None) -> bool:
    """Return whether an answer that did not come is missing because the provider hangs.

    A trial whose time runs out while its model thinks has a slow model: its replies tell how slow.
    Any model may think for a minute, so who asks with less time left runs out of it.

    Args:
        seconds: How long the answer was waited for.
        longest_reply_seconds: How long the trial's slowest reply took; None: it had none yet.
    """
    if longest_reply_seconds is None:
        return True
    return seconds > max(_LEAST_PATIENCE_SECONDS, _PATIENCE * longest_reply_seconds)


def is_silence(fault: Exception) -> bool:
    """Return whether a fault says that a provider could not be brought to answer."""
    return isinstance(fault, ModelUnavailable) and not isinstance(fault, MoneyHeld)


async def with_retries(
    attempt: Callable[[float], Awaitable[T]],
    where: str,
    total_seconds: float,
    policy: RetryPolicy,
) -> T:
    """Return what `attempt` returns, given the seconds it may take, however often it takes.

    Raises:
        ModelUnavailable: Attempts or time ran out; the message names the last cause.
        NoAnswerInTime: `total_seconds` passed during the very first attempt.
    """
    return await RetriedCall(where, total_seconds, policy).run(lambda one: attempt(one.seconds))


@dataclass
class RetriedCall:
    """One call, made in as many attempts as it takes; run it once."""

    where: str
    total_seconds: float
    policy: RetryPolicy
    line: OpenSlot = _no_line
    most_usd: Callable[[], float | None] = _unpriced
    """Returns the most that one attempt can cost; None where that is not known."""
    run_budget: RunBudget | None = None
    """Reserves the money for each attempt, whose price is known then; None: the run has no cap."""
    max_usd: float | None = None
    """Most that all attempts together may cost; None: no limit."""
    noted: list[FailedAttempt] = field(default_factory=list)
    """Gets what is added to `failed`, for whoever is not told because the call was cut off."""
    failed: list[FailedAttempt] = field(default_factory=list)
    waited_seconds: float = 0.0
    _counted: int = 0
    """Failed attempts without those that only taught us how to ask."""
    _started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since the start, without the time spent waiting for rate limits and money."""
        return time.monotonic() - self._started - self.waited_seconds

    async def run(self, attempt: Callable[[Try], Awaitable[T]]) -> T:
        """Return what `attempt` returns.

        Raises:
            ModelUnavailable: Attempts or time ran out, waiting time included, or another
                attempt could go beyond `max_usd`.
            NoAnswerInTime: The time ran out during the very first attempt.
            ModelRejected: As raised by `attempt`.
            BudgetExhausted: The run's money does not suffice for an attempt. All of them carry
                the failed attempts.
        """
        try:
            return await self._answered(attempt)
        except AttemptFailed as exc:
            raise self._exhausted(exc) from None
        except (ModelUnavailable, ModelRejected, BudgetExhausted) as exc:
            exc.failed_attempts = tuple(self.failed)
            raise

    async def _answered(self, attempt: Callable[[Try], Awaitable[T]]) -> T:
        """Return the answer to the first attempt that brings one.

        The first is made without tenacity, which costs a tenth of a call, and is told how it went.
        """
        try:
            return await self._once(attempt)
        except AttemptFailed as exc:
            untold = [exc]

        async def next_one() -> T:
            if untold:
                raise untold.pop()
            return await self._once(attempt)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(AttemptFailed),
            after=self._count,
            wait=_waiting(self.policy),
            stop=self._is_over,
            before_sleep=_log,
            reraise=True,
        )
        return await retrying(next_one)

    async def _once(self, attempt: Callable[[Try], Awaitable[T]]) -> T:
        longest = max(0.0, self.total_seconds - self.waited_seconds)
        async with admitted(self.line, self.run_budget, self._usd_to_hold(), longest) as admission:
            self.waited_seconds += admission.waited_seconds
            left = self.total_seconds - self.seconds
            one = Try(min(left, self.policy.attempt_seconds), admission.slot)
            try:
                return await self._in_time(one, attempt, left)
            finally:
                admission.payment.cost_usd = self._most(one) or 0.0

    async def _in_time(self, one: Try, attempt: Callable[[Try], Awaitable[T]], left: float) -> T:
        is_last_chance = not self.failed and left <= one.seconds
        too_late = NoAnswerInTime if is_last_chance else AttemptFailed
        begun = time.monotonic()
        try:
            async with asyncio.timeout(one.seconds) as limit:
                return await attempt(one)
        except TimeoutError:
            if not limit.expired():
                raise
            if one.seconds >= self.policy.attempt_seconds:
                # As a refusal: calls that hang are charged, so there must be fewer at a time.
                one.slot.report(Outcome(kind="limited"))
            late = too_late(f"{self.where}: no answer within {one.seconds:.1f} s")
            self._note(one, begun, str(late))
            raise late from None
        except (ModelUnavailable, ModelRejected) as exc:
            self._note(one, begun, str(exc), exc.status)
            raise
        except asyncio.CancelledError:
            self._note(one, begun, "we cut it off")
            raise

    def _usd_to_hold(self) -> float:
        if self.run_budget is None:
            return 0.0
        usd = self.most_usd()
        if usd is None:
            raise Misuse(f"max_usd: the price of so long a request to {self.where} is unknown")
        return usd

    def _most(self, one: Try) -> float | None:
        return self.most_usd() if one.cost_usd is None else one.cost_usd

    def _note(self, one: Try, begun: float, fault: str, status: int | None = None) -> None:
        failed = FailedAttempt(
            status=status,
            cause=one_line(fault.removeprefix(f"{self.where}: "), limit=_CAUSE_CHARS),
            seconds=time.monotonic() - begun,
            cost_at_most_usd=self._most(one),
        )
        self.failed.append(failed)
        self.noted.append(failed)

    def _count(self, state: RetryCallState) -> None:
        self._counted += not _fault(state).at_once

    def _is_over(self, state: RetryCallState) -> bool:
        # Tenacity's own limit would count the time spent waiting.
        too_late = self.seconds + state.upcoming_sleep >= self.total_seconds
        return too_late or self._counted >= self.policy.attempts or self._is_too_dear()

    def _is_too_dear(self) -> bool:
        """Return whether another attempt, with those that may be charged, could be too much."""
        if self.max_usd is None:
            return False
        costs = [self.most_usd(), *(failed.cost_at_most_usd for failed in self.failed)]
        known = [usd for usd in costs if usd is not None]
        return len(known) < len(costs) or sum(known) > self.max_usd

    def _exhausted(self, last: AttemptFailed) -> ModelUnavailable:
        attempts = f"{len(self.failed)} attempt{'s' * (len(self.failed) != 1)}"
        money = ", for there is no money for another" if self._is_too_dear() else ""
        over = ModelUnavailable(f"{last} (gave up after {attempts} in {self.seconds:.1f} s{money})")
        over.status, over.failed_attempts = last.status, tuple(self.failed)
        return over


def pause_seconds(policy: RetryPolicy, attempts: int, fault: AttemptFailed) -> float:
    """Return how long to wait after so many failed attempts, the last with that fault.

    The wait doubles each time, with jitter, so that calls which failed together do not come back
    together; where the provider asked for a longer one, it is that.
    """
    doubled = policy.first_wait_seconds * (2.0 ** (attempts - 1) + _jitter())
    return max(min(doubled, policy.longest_wait_seconds), fault.retry_after_seconds or 0.0)


def _waiting(policy: RetryPolicy) -> Callable[[RetryCallState], float]:
    def wait(state: RetryCallState) -> float:
        fault = _fault(state)
        return 0.0 if fault.at_once else pause_seconds(policy, state.attempt_number, fault)

    return wait


def _fault(state: RetryCallState) -> AttemptFailed:
    fault = state.outcome and state.outcome.exception()
    if not isinstance(fault, AttemptFailed):
        raise TypeError(f"only failed attempts are made again, not {fault!r}")
    return fault


def _log(state: RetryCallState) -> None:
    _logger.warning(
        "attempt %d: %s; again in %.1f s",
        state.attempt_number,
        _fault(state),
        state.upcoming_sleep,
    )
