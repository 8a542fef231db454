"""What the calls of a program used: counted, settled in the trial's budget, stored and recorded.

Programs repeat failed requests by themselves. A failed attempt is recorded with the answer to the
next equal request, as it is for our own agents; without such an answer it is recorded as an attempt
at a call that got no reply.
"""

import asyncio
from dataclasses import replace

from environments.metering.answers import stored_answer
from environments.metering.calls import Call, Fault, Terms
from environments.models.faults import AttemptFailed, NotSent, lost_money, one_line
from environments.models.formats.reply import ParsedReply
from environments.models.limits.protocols import Outcome
from environments.models.money.budget import Spending
from environments.models.money.run_budget import MoneyHeld
from environments.ports import ModelReply
from taskdata.errors import (
    BudgetExhausted,
    ModelRejected,
    ModelUnavailable,
    NightshiftError,
    StoreUnavailable,
)
from taskdata.schema.usage import FailedAttempt

MAX_FAILED_ATTEMPTS = 500
"""Per trial, because a program may call as fast as it can; further attempts are only counted."""
_CAUSE_CHARS = 300
_PART_CHARS = 20_000


class CallAccounting:
    """Accounts for the calls of one trial."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._answered_formats: set[str] = set()
        """Names of the formats in which a call was answered."""
        self._failed: dict[str, list[FailedAttempt]] = {}
        """Failed attempts by digest of the request, until an equal request is answered."""
        self._failures = 0
        self._left_out = 0
        self._was_cut = False
        self._faults = 0
        """How many calls failed through a fault of the provider or of this process."""
        self._last_fault: Fault | BudgetExhausted | None = None
        """Fault of the call that ended last; None if it was answered or the program is to blame."""
        self.longest_reply_seconds: float | None = None
        """How long the slowest reply took; None before the first reply."""
        self.store_fault: StoreUnavailable | None = None
        """Why an answer could not be stored; no further call is made then."""

    def was_answered_in(self, dialect_name: str) -> bool:
        """Whether a call in that format was answered."""
        return dialect_name in self._answered_formats

    def error(self) -> NightshiftError | None:
        """Return why the last call has no answer, None if it has one or the program is to blame."""
        if self.store_fault is not None:
            return self.store_fault
        if self._terms.budget.is_cut_short:
            return lost_money(self._terms.budget.lost_usd)
        fault = self._last_fault
        if fault is None or isinstance(fault, BudgetExhausted):
            return fault
        kinds: tuple[type[Fault], ...] = (ModelRejected, MoneyHeld, ModelUnavailable)
        kind = next(kind for kind in kinds if isinstance(fault, kind))
        error = kind(f"{fault} ({self._faults} of the agent's calls failed at the provider)")
        error.__cause__ = fault
        return error

    def count_fault(self, fault: Fault | BudgetExhausted) -> None:
        """Count a call that failed through no fault of the program."""
        self._faults += 1
        self._last_fault = fault

    def clear_fault(self) -> None:
        """Note that the last call did not fail because of the provider or this process."""
        self._last_fault = None

    def failed(self, call: Call, fault: Fault) -> None:
        """Note that a call failed because of the provider."""
        self.count_fault(fault)
        call.fault, call.outcome = fault, _outcome(fault)

    def can_pay_another(self, call: Call) -> bool:
        """Return whether the trial's budget covers both the failed attempt and the next one."""
        lost = _lost(call, self._failure(call))
        return lost == 0 or self._terms.budget.can_lose(lost)

    def will_retry(self, call: Call) -> None:
        """Count an attempt that the provider made fail, and reset the call for the next one."""
        failure = self._failure(call)
        self._terms.budget.lose(_lost(call, failure))
        if failure is not None:
            self._note(call, failure)
        # A call counts as one failed call, however many of its attempts fail.
        self._faults -= 1
        call.begin_again()

    def rejected(self, call: Call, fault: Fault) -> None:
        """Note that a call failed because the program asked for something that is not allowed."""
        self.clear_fault()
        call.fault, call.is_programs_fault = fault, True

    async def answered(
        self, call: Call, answer: ParsedReply, content_type: str, content: bytes | None
    ) -> None:
        """Count and store a complete answer; the program gets its end after this returns."""
        usage, log = answer.usage, self._terms.log
        if call.replayed is not None:
            cost = call.replayed.cost_usd
        else:
            # A server that reports 0 tokens does not count tokens.
            counted = usage if usage is not None and usage.total > 0 else None
            cost = None if counted is None else self._terms.budget.cost_usd(counted)
        call.whole = call.reply(answer, self._terms.endpoint.spec.model, cost)
        self.clear_fault()
        self._answered_formats.add(call.dialect.name)
        self.longest_reply_seconds = max(self.longest_reply_seconds or 0.0, call.whole.seconds)
        call.outcome = Outcome(kind="ok", tokens=None if usage is None else usage.total)
        if log is not None and call.replayed is None:
            stored = stored_answer(content_type, content, call.whole.seconds)
            await log.record(call.key, call.whole, stored, call.reservation.bound)

    def settle(self, call: Call) -> None:
        """Settle and record a call; further calls have no effect."""
        if call.is_settled:
            return
        call.is_settled = True
        failure = self._failure(call)
        self._terms.budget.settle(call.reservation, _spent(call, failure))
        self._terms.budget.lose(_lost(call, failure))
        if failure is not None:
            self._note(call, failure)
        elif call.whole is not None:
            attempts = tuple(self._failed.pop(call.asked.digest, ()))
            reply = replace(call.whole, failed_attempts=attempts)
            self._terms.record.model_call(reply, call.started_at)
            self._note_cut(call, reply)

    def paid_usd(self, call: Call) -> float:
        """Return the cost of the call in USD, or its upper bound if the cost is unknown."""
        failure = self._failure(call)
        return (_spent(call, failure).usd or 0.0) + (_lost(call, failure) or 0.0)

    def close(self) -> None:
        """Record the failed attempts that were not followed by an answer."""
        failed, self._failed = self._failed, {}
        for attempts in failed.values():
            self._terms.record.no_reply(attempts)
        if self._left_out:
            said = f"{self._left_out} more attempts at model calls failed and are not on record."
            self._terms.record.message("system", said)
            self._left_out = 0

    def _failure(self, call: Call) -> FailedAttempt | None:
        """Return the failed attempt of a call that was sent but not fully answered, else None."""
        if call.whole is not None or not call.was_sent:
            return None
        endpoint, fault = self._terms.endpoint, call.fault
        cause = "we cut it off" if fault is None else str(fault).removeprefix(f"{endpoint}: ")
        status = None if fault is None else fault.status
        is_free = call.was_rejected or isinstance(fault, NotSent)
        return FailedAttempt(
            status=status,
            cause=one_line(cause, endpoint.key, _CAUSE_CHARS),
            seconds=call.seconds,
            cost_at_most_usd=0.0 if is_free else call.reservation.bound.usd,
        )

    def _note(self, call: Call, failure: FailedAttempt) -> None:
        log, storing = self._terms.log, None
        if log is not None:
            storing = log.record_failed(call.key, (failure,), call.reservation.bound)
        if storing is not None:
            storing.add_done_callback(self._note_store_fault)
        self._failures += 1
        if self._failures > MAX_FAILED_ATTEMPTS:
            self._left_out += 1
            return
        self._failed.setdefault(call.asked.digest, []).append(failure)
        if call.part is not None and call.part.text:
            said = call.part.text[:_PART_CHARS]
            self._terms.record.message(
                "system", f"A model call ended early; it had said:\n\n{said}"
            )

    def _note_cut(self, call: Call, reply: ModelReply) -> None:
        """Note once per trial that our default limit cut a reply."""
        if reply.stop_reason == "length" and call.asked.reply_tokens is None and not self._was_cut:
            self._was_cut = True
            self._terms.record.message(
                "system",
                f"The reply was cut at {call.reservation.reply_tokens} tokens, for its request "
                "named no limit; `max_reply_tokens` in the agent's budget gives it more.",
            )

    def _note_store_fault(self, kept: asyncio.Future[None]) -> None:
        error = None if kept.cancelled() else kept.exception()
        if isinstance(error, StoreUnavailable):
            self.store_fault = error


def _spent(call: Call, failure: FailedAttempt | None) -> Spending:
    """Return what a call used of the agent's budget, or an upper bound if that is unknown."""
    bound = call.reservation.bound
    if failure is not None:
        if call.fault is None:
            return bound
        # A fault of the provider is not charged to the agent's turns, tokens or money.
        return Spending(1, 0, failure.cost_at_most_usd) if call.is_programs_fault else Spending()
    if call.whole is None:
        return Spending()
    usage, cost = call.whole.usage, call.whole.cost_usd
    if usage.total == 0:
        return bound
    return Spending(1, usage.total, bound.usd if cost is None else cost)


def _outcome(fault: Fault) -> Outcome:
    """Return how to report a fault to the rate limiter."""
    if not isinstance(fault, AttemptFailed):
        return Outcome(kind="fault")
    return Outcome(
        kind="limited" if fault.is_limit else "fault",
        retry_after_seconds=fault.retry_after_seconds,
    )


def _lost(call: Call, failure: FailedAttempt | None) -> float | None:
    """Return the most in USD that a failed call of the provider may be charged; None: unknown."""
    if failure is None or call.fault is None or call.is_programs_fault:
        return 0.0
    return failure.cost_at_most_usd
