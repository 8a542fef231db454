"""The one layer that retries model calls; the SDKs' own retries are off.

A failed attempt is tried again after an exponential wait with jitter, or after what the provider
asked for, a bounded number of times and within the request's own time.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential_jitter,
)

from environments.models.faults import AttemptFailed, NoAnswerInTime
from taskdata.errors import ModelUnavailable

_logger = logging.getLogger(__name__)
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
    started = time.monotonic()
    number = 0

    async def next_attempt() -> T:
        nonlocal number
        number += 1
        left = total_seconds - (time.monotonic() - started)
        if number == 1 and left <= policy.attempt_seconds:
            return await _within(left, attempt, where, NoAnswerInTime)
        return await _within(min(left, policy.attempt_seconds), attempt, where, AttemptFailed)

    retrying = AsyncRetrying(
        stop=stop_after_attempt(policy.attempts) | stop_before_delay(total_seconds),
        wait=_waiting(policy),
        retry=retry_if_exception_type(AttemptFailed),
        before_sleep=_log,
        reraise=True,
    )
    try:
        return await retrying(next_attempt)
    except AttemptFailed as exc:
        spent = time.monotonic() - started
        raise ModelUnavailable(
            f"{exc} (gave up after {number} attempts in {spent:.1f} s)"
        ) from None


async def _within(
    seconds: float,
    attempt: Callable[[float], Awaitable[T]],
    where: str,
    too_late: type[ModelUnavailable],
) -> T:
    try:
        async with asyncio.timeout(seconds) as limit:
            return await attempt(seconds)
    except TimeoutError:
        if not limit.expired():
            raise
        raise too_late(f"{where}: no answer within {seconds:.3g} s") from None


def _waiting(policy: RetryPolicy) -> Callable[[RetryCallState], float]:
    backoff = wait_exponential_jitter(
        multiplier=policy.first_wait_seconds,
        max=policy.longest_wait_seconds,
        jitter=policy.first_wait_seconds,
    )

    def wait(state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome else None
        asked = failure.retry_after_seconds if isinstance(failure, AttemptFailed) else None
        return max(backoff(state), min(asked or 0.0, policy.longest_wait_seconds))

    return wait


def _log(state: RetryCallState) -> None:
    failure = state.outcome.exception() if state.outcome else None
    wait = state.next_action.sleep if state.next_action else 0.0
    _logger.warning("attempt %d: %s; again in %.1f s", state.attempt_number, failure, wait)
