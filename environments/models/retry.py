"""The one layer that retries model calls.

A failed attempt is retried after an exponential backoff with jitter, or after the time that the
provider asked for, a limited number of times and within the request's timeout. Waiting for a slot
of the provider and for the run's money does not count towards that timeout; it has a timeout of the
same length. Money is reserved for one attempt at a time: a failed attempt that may be charged is
paid for with its upper bound, and the next attempt needs a reservation of its own.
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
    """How many attempts are made, how long each may take, and the pauses between them."""

    attempts: int = 5
    attempt_seconds: float = ATTEMPT_SECONDS
    """Longest single attempt: a server that hangs is the provider's fault, not the agent's."""
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 60.0
    """Longest backoff of our own. A provider's `retry-after` is waited for in full, or the call
    fails at once if the request's timeout does not allow it."""


@dataclass
class Unlimited:
    """The slot of a service without rate limits."""

    waited_seconds: float = 0.0

    def report(self, outcome: Outcome) -> None:
        """Do nothing."""

    def give_back(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class Try:
    """One attempt, as the code that makes it sees it."""

    seconds: float
    """How long the attempt may take."""
    slot: Slot
    cost_usd: float | None = None
    """Cost of the attempt so far; None: unknown, so its upper bound is assumed."""


def _no_line(_: float) -> AbstractAsyncContextManager[Slot]:
    return nullcontext(Unlimited())


def _unpriced() -> float | None:
    return None


def is_hung(seconds: float, longest_reply_seconds: float | None) -> bool:
    """Return whether a missing answer means that the provider hangs, and not a slow model.

    A trial whose time runs out while its model thinks has a slow model: its earlier replies tell
    how slow. Once it has replied, a wait that any model may need for thinking is no hang.

    Args:
        seconds: How long the answer was waited for.
        longest_reply_seconds: Time of the trial's slowest reply; None: there was no reply yet.
    """
    if longest_reply_seconds is None:
        return True
    return seconds > max(_LEAST_PATIENCE_SECONDS, _PATIENCE * longest_reply_seconds)


def is_silence(fault: Exception) -> bool:
    """Return whether a fault means that a provider did not answer at all."""
    return isinstance(fault, ModelUnavailable) and not isinstance(fault, MoneyHeld)


async def with_retries(
    attempt: Callable[[float], Awaitable[T]],
    where: str,
    total_seconds: float,
    policy: RetryPolicy,
) -> T:
    """Return what `attempt` returns, retried as needed; it is given the seconds it may take.

    Raises:
        ModelUnavailable: attempts or time ran out; the message names the last cause.
        NoAnswerInTime: `total_seconds` passed during the first attempt.
    """
    return await RetriedCall(where, total_seconds, policy).run(lambda one: attempt(one.seconds))


@dataclass
class RetriedCall:
    """One call with its retries; run it once."""

    where: str
    total_seconds: float
    policy: RetryPolicy
    line: OpenSlot = _no_line
    most_usd: Callable[[], float | None] = _unpriced
    """Returns the most that one attempt can cost; None if that is unknown."""
    run_budget: RunBudget | None = None
    """Reserves money for each attempt, whose price must be known; None: the run has no cap."""
    max_usd: float | None = None
    """Most that all attempts together may cost; None: no limit."""
    noted: list[FailedAttempt] = field(default_factory=list)
    """Receives the failed attempts too, for callers that get no exception because of a timeout."""
    failed: list[FailedAttempt] = field(default_factory=list)
    waited_seconds: float = 0.0
    _counted: int = 0
    """Failed attempts, without those after which only the form of the request changed."""
    _started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Time since the start, without waiting for rate limits and money."""
        return time.monotonic() - self._started - self.waited_seconds

    async def run(self, attempt: Callable[[Try], Awaitable[T]]) -> T:
        """Return what `attempt` returns.

        Raises:
            ModelUnavailable: attempts or time ran out, waiting time included, or another attempt
                could exceed `max_usd`.
            NoAnswerInTime: the time ran out during the first attempt.
            ModelRejected: as raised by `attempt`.
            BudgetExhausted: the run's money does not cover an attempt. Each of these errors carries
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
        """Return the answer of the first successful attempt.

        The first attempt runs without tenacity, which costs a tenth of a call's CPU time; tenacity
        is then given its result.
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
                # Reported as a rate limit: calls that hang may be charged, so fewer must run at a
                # time.
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
        # Tenacity's own limit would include the time spent waiting for slots.
        too_late = self.seconds + state.upcoming_sleep >= self.total_seconds
        return too_late or self._counted >= self.policy.attempts or self._is_too_dear()

    def _is_too_dear(self) -> bool:
        """Return whether another attempt could exceed `max_usd`, failed ones included."""
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

    The wait doubles each time, with jitter, so that calls which failed together are not
    retried together; where the provider asked for a longer one, it is that.
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
