"""Accounts for the calls of one trial: counts faults, settles the budget, records and journals.

Programs retry by themselves. Failed attempts are journalled with the answer to the next equal
request, as they are for our own agents, and as attempts without a reply where no answer came.
"""

import asyncio
from dataclasses import replace

from environments.metering.answers import stored_answer
from environments.metering.calls import Call, Fault, Terms
from environments.models.client import Answer
from environments.models.faults import AttemptFailed, NotSent, lost_money, one_line
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
"""Journalled of one trial; of further ones, which a fast program may cause, only the number is."""
_CAUSE_CHARS = 300
_PART_CHARS = 20_000


class CallAccounting:
    """The accounting of one trial's calls."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._answered_formats: set[str] = set()
        """Names of the formats in which a call was answered."""
        self._failed: dict[str, list[FailedAttempt]] = {}
        """Failed attempts by request, until the request is answered."""
        self._failures = 0
        self._left_out = 0
        self._was_cut = False
        self._faults = 0
        """Number of calls that failed through a fault of the provider's or of ours."""
        self._last_fault: Fault | BudgetExhausted | None = None
        """Why the call that ended last failed; None: it was answered."""
        self.longest_reply_seconds: float | None = None
        """How long the slowest reply took; None: there was no reply yet."""
        self.store_fault: StoreUnavailable | None = None
        """Why an answer could not be stored; the proxy makes no further call then."""

    def was_answered_in(self, dialect_name: str) -> bool:
        """Return whether a call in that format was answered."""
        return dialect_name in self._answered_formats

    def error(self) -> NightshiftError | None:
        """Return why the program's last call has no answer, if that is not the program's fault."""
        if self.store_fault is not None:
            return self.store_fault
        if self._terms.ledger.is_cut_short:
            return lost_money(self._terms.ledger.lost_usd)
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
        """Note that the last call ended without a fault of the provider's or of ours."""
        self._last_fault = None

    def failed(self, call: Call, fault: Fault) -> None:
        """Note that a call failed through the provider's fault."""
        self.count_fault(fault)
        call.fault, call.outcome = fault, _outcome(fault)

    def can_pay_another(self, call: Call) -> bool:
        """Return whether the trial's money covers this failed attempt and another one."""
        lost = _lost(call, self._failure(call))
        return lost == 0 or self._terms.ledger.bears(lost)

    def will_retry(self, call: Call) -> None:
        """Count an attempt that the provider made fail, and reset the call for the next one."""
        failure = self._failure(call)
        self._terms.ledger.lose(_lost(call, failure))
        if failure is not None:
            self._note(call, failure)
        # A call that fails counts once, however many attempts it had.
        self._faults -= 1
        call.begin_again()

    def rejected(self, call: Call, fault: Fault) -> None:
        """Note that a call failed through the program's fault: its request is not valid."""
        self.clear_fault()
        call.fault, call.is_programs_fault = fault, True

    async def answered(
        self, call: Call, answer: Answer, content_type: str, content: bytes | None
    ) -> None:
        """Count a whole answer; return once it is stored, before the program gets its end."""
        usage, log = answer.usage, self._terms.log
        if call.replayed is not None:
            cost = call.replayed.cost_usd
        else:
            # Every call uses tokens, so a server that reports none has not counted them.
            counted = usage if usage is not None and usage.total > 0 else None
            cost = None if counted is None else self._terms.ledger.cost_usd(counted)
        call.whole = call.reply(answer, self._terms.endpoint.spec.model, cost)
        self.clear_fault()
        self._answered_formats.add(call.dialect.name)
        self.longest_reply_seconds = max(self.longest_reply_seconds or 0.0, call.whole.seconds)
        call.outcome = Outcome(kind="ok", tokens=None if usage is None else usage.total)
        if log is not None and call.replayed is None:
            stored = stored_answer(content_type, content, call.whole.seconds)
            await log.record(call.key, call.whole, stored, call.room.bound)

    def settle(self, call: Call) -> None:
        """Count once what the call used, and journal what is known of it."""
        if call.is_settled:
            return
        call.is_settled = True
        failure = self._failure(call)
        self._terms.ledger.settle(call.room, _spent(call, failure))
        self._terms.ledger.lose(_lost(call, failure))
        if failure is not None:
            self._note(call, failure)
        elif call.whole is not None:
            attempts = tuple(self._failed.pop(call.asked.digest, ()))
            reply = replace(call.whole, failed_attempts=attempts)
            self._terms.record.model_call(reply, call.started_at)
            self._note_cut(call, reply)

    def paid_usd(self, call: Call) -> float:
        """Return what the call cost in USD; where that is unknown, the most it may have cost."""
        failure = self._failure(call)
        return (_spent(call, failure).usd or 0.0) + (_lost(call, failure) or 0.0)

    def close(self) -> None:
        """Journal the failed attempts at requests that were never answered."""
        failed, self._failed = self._failed, {}
        for attempts in failed.values():
            self._terms.record.no_reply(attempts)
        if self._left_out:
            said = f"{self._left_out} more attempts at model calls failed and are not on record."
            self._terms.record.message("system", said)
            self._left_out = 0

    def _failure(self, call: Call) -> FailedAttempt | None:
        """Return the failed attempt, if the call was sent and has no whole answer."""
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
            cost_at_most_usd=0.0 if is_free else call.room.bound.usd,
        )

    def _note(self, call: Call, failure: FailedAttempt) -> None:
        log, storing = self._terms.log, None
        if log is not None:
            storing = log.record_failed(call.key, (failure,), call.room.bound)
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
        """Tell the program's journal once that our limit cut a reply."""
        if reply.stop_reason == "length" and call.asked.reply_tokens is None and not self._was_cut:
            self._was_cut = True
            self._terms.record.message(
                "system",
                f"The reply was cut at {call.room.reply_tokens} tokens, for its request named no "
                "limit; `max_reply_tokens` in the agent's budget gives it more.",
            )

    def _note_store_fault(self, kept: asyncio.Future[None]) -> None:
        error = None if kept.cancelled() else kept.exception()
        if isinstance(error, StoreUnavailable):
            self.store_fault = error


def _spent(call: Call, failure: FailedAttempt | None) -> Spending:
    """Return what a call used; where that is unknown, the most it can have used."""
    bound = call.room.bound
    if failure is not None:
        if call.fault is None:
            return bound
        # A provider's fault must not use up the agent's turns, tokens or money.
        return Spending(1, 0, failure.cost_at_most_usd) if call.is_programs_fault else Spending()
    if call.whole is None:
        return Spending()
    usage, cost = call.whole.usage, call.whole.cost_usd
    if usage.total == 0:
        return bound
    return Spending(1, usage.total, bound.usd if cost is None else cost)


def _outcome(fault: Fault) -> Outcome:
    """Return what a fault of the provider's or of ours says about the provider's rate limits."""
    if not isinstance(fault, AttemptFailed):
        return Outcome(kind="fault")
    return Outcome(
        kind="limited" if fault.is_limit else "fault",
        retry_after_seconds=fault.retry_after_seconds,
    )


def _lost(call: Call, failure: FailedAttempt | None) -> float | None:
    """Return what may be charged, in USD, for a call that failed through the provider's fault."""
    if failure is None or call.fault is None or call.is_programs_fault:
        return 0.0
    return failure.cost_at_most_usd
