"""The one layer that retries model calls.

A failed attempt is tried again after an exponential wait with jitter, or after what the provider
asked for, a bounded number of times and within the request's own time. Time in line for a slot
of the provider is no part of that time; it has the same length for itself.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_exponential_jitter,
)

from environments.models.faults import AttemptFailed, NoAnswerInTime, one_line
from environments.models.limits.seam import Outcome, Slot
from taskdata.errors import ModelRejected, ModelUnavailable
from taskdata.schema.usage import FailedAttempt

_logger = logging.getLogger(__name__)
_CAUSE_CHARS = 300
T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often, how long and how far apart attempts are."""

    attempts: int = 5
    attempt_seconds: float = 300.0
    """A single attempt is given up after this, so that a lost connection is not waited out."""
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 60.0
    """Also caps what a provider's `retry-after` may ask for."""


@dataclass
class Unlimited:
    """The slot of a service whose limits nobody minds."""

    waited_seconds: float = 0.0

    def report(self, outcome: Outcome) -> None:
        """Nothing is learned from it."""


def _no_line(_: float) -> AbstractAsyncContextManager[Slot]:
    return nullcontext(Unlimited())


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
    return await RetriedCall(where, total_seconds, policy).run(lambda seconds, _: attempt(seconds))


@dataclass
class RetriedCall:
    """One call, made in as many attempts as it takes; run it once."""

    where: str
    total_seconds: float
    policy: RetryPolicy
    admission: Callable[[float], AbstractAsyncContextManager[Slot]] = _no_line
    """Opens a slot for one attempt, given the longest wait for it."""
    failed: list[FailedAttempt] = field(default_factory=list)
    waited_seconds: float = 0.0
    _counted: int = 0
    """Failed attempts without those that only taught us how to ask."""
    _started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since the start, without the time in line."""
        return time.monotonic() - self._started - self.waited_seconds

    async def run(self, attempt: Callable[[float, Slot], Awaitable[T]]) -> T:
        """Return what `attempt` returns, given the seconds it may take and its slot.

        Raises:
            ModelUnavailable: Attempts or time ran out, the time in line included.
            NoAnswerInTime: The time ran out during the very first attempt.
            ModelRejected: As raised by `attempt`. All of them carry the failed attempts.
        """
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(AttemptFailed),
            after=self._count,
            wait=_waiting(self.policy),
            stop=self._is_over,
            before_sleep=_log,
            reraise=True,
        )
        try:
            return await retrying(self._once, attempt)
        except AttemptFailed as exc:
            raise self._exhausted(exc) from None
        except (ModelUnavailable, ModelRejected) as exc:
            exc.failed_attempts = tuple(self.failed)
            raise

    async def _once(self, attempt: Callable[[float, Slot], Awaitable[T]]) -> T:
        async with self.admission(self.total_seconds - self.waited_seconds) as slot:
            self.waited_seconds += slot.waited_seconds
            left = self.total_seconds - self.seconds
            seconds = min(left, self.policy.attempt_seconds)
            is_last_chance = not self.failed and left <= self.policy.attempt_seconds
            too_late = NoAnswerInTime if is_last_chance else AttemptFailed
            begun = time.monotonic()
            try:
                async with asyncio.timeout(seconds) as limit:
                    return await attempt(seconds, slot)
            except TimeoutError:
                if not limit.expired():
                    raise
                late = too_late(f"{self.where}: no answer within {seconds:.1f} s")
                self._note(late, begun)
                raise late from None
            except (ModelUnavailable, ModelRejected) as exc:
                self._note(exc, begun)
                raise

    def _note(self, fault: ModelUnavailable | ModelRejected, begun: float) -> None:
        cause = str(fault).removeprefix(f"{self.where}: ")
        self.failed.append(
            FailedAttempt(
                status=fault.status,
                cause=one_line(cause, limit=_CAUSE_CHARS),
                seconds=time.monotonic() - begun,
            )
        )

    def _count(self, state: RetryCallState) -> None:
        self._counted += not _fault(state).at_once

    def _is_over(self, state: RetryCallState) -> bool:
        # Tenacity's own limit would count the time in line.
        too_late = self.seconds + state.upcoming_sleep >= self.total_seconds
        return too_late or self._counted >= self.policy.attempts

    def _exhausted(self, last: AttemptFailed) -> ModelUnavailable:
        attempts = f"{len(self.failed)} attempt{'s' * (len(self.failed) != 1)}"
        over = ModelUnavailable(f"{last} (gave up after {attempts} in {self.seconds:.1f} s)")
        over.status, over.failed_attempts = last.status, tuple(self.failed)
        return over


def _waiting(policy: RetryPolicy) -> Callable[[RetryCallState], float]:
    # With jitter, so that calls which failed together do not come back together.
    backoff = wait_exponential_jitter(
        multiplier=policy.first_wait_seconds,
        max=policy.longest_wait_seconds,
        jitter=policy.first_wait_seconds,
    )

    def wait(state: RetryCallState) -> float:
        fault = _fault(state)
        if fault.at_once:
            return 0.0
        asked = min(fault.retry_after_seconds or 0.0, policy.longest_wait_seconds)
        return max(backoff(state), asked)

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
