"""What the calls of a trial came to: counted, settled, kept and recorded.

Programs ask again by themselves. What failed is recorded with the answer to the next equal request,
as it is for our own agents, and where no answer came, as attempts at a call without a reply.
"""

import asyncio
from dataclasses import replace

from environments.metering.calls import Call, Fault, Terms
from environments.models.faults import AttemptFailed, NotSent, lost_money, one_line
from environments.models.formats.reply import ParsedReply
from environments.models.limits.purse import MoneyHeld
from environments.models.limits.seam import Outcome
from environments.models.money.spending import Spending
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
"""Of one trial; a program may ask as fast as it can. Of the rest only their number is kept."""
_CAUSE_CHARS = 300
_PART_CHARS = 20_000


class Books:
    """One trial's."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._spoken: set[str] = set()
        """Names of the formats in which a call was answered."""
        self._failed: dict[str, list[FailedAttempt]] = {}
        """By request, until that is answered."""
        self._failures = 0
        self._left_out = 0
        self._was_cut = False
        self._faults = 0
        """Calls that failed for the provider's fault, or for ours."""
        self._last_fault: Fault | BudgetExhausted | None = None
        """Of the call that ended last; None where that was answered."""
        self.longest_reply_seconds: float | None = None
        """How long the slowest reply took; None: there was none yet."""
        self.unkept: StoreUnavailable | None = None
        """Why an answer could not be kept; no call is made any more then."""

    def was_answered_in(self, dialect_name: str) -> bool:
        """Whether a call in that format was answered."""
        return dialect_name in self._spoken

    def error(self) -> NightshiftError | None:
        """Return why the program is without the answer it asked for last, if it is not to blame."""
        if self.unkept is not None:
            return self.unkept
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

    def count(self, fault: Fault | BudgetExhausted) -> None:
        """Count a fault that is not the program's."""
        self._faults += 1
        self._last_fault = fault

    def forgive(self) -> None:
        """Note that the last call ended without a fault of the provider's, or of ours."""
        self._last_fault = None

    def failed(self, call: Call, fault: Fault) -> None:
        """Book a call to the provider."""
        self.count(fault)
        call.fault, call.outcome = fault, _outcome(fault)

    def bears_another(self, call: Call) -> bool:
        """Whether the trial's money lasts for what the attempt may be charged, and for the next."""
        lost = _lost(call, self._failure(call))
        return lost == 0 or self._terms.ledger.bears(lost)

    def asks_again(self, call: Call) -> None:
        """Count an attempt that the provider made fail, and make the call ready for the next."""
        failure = self._failure(call)
        self._terms.ledger.lose(_lost(call, failure))
        if failure is not None:
            self._note(call, failure)
        # One call that failed, however often it was asked.
        self._faults -= 1
        call.begin_again()

    def turned_down(self, call: Call, fault: Fault) -> None:
        """Book a call to the program, which asked for what it cannot have."""
        self.forgive()
        call.fault, call.is_programs = fault, True

    async def answered(
        self, call: Call, answer: ParsedReply, content_type: str, content: bytes | None
    ) -> None:
        """Count a whole answer; return once it is kept, before its program has the end of it."""
        usage, paid = answer.usage, self._terms.paid
        if call.kept is not None:
            cost = call.kept.cost_usd
        else:
            # No call uses no tokens: a server that says so has not counted.
            counted = usage if usage is not None and usage.total > 0 else None
            cost = None if counted is None else self._terms.ledger.cost_usd(counted)
        call.whole = call.reply(answer, self._terms.endpoint.spec.model, cost)
        self.forgive()
        self._spoken.add(call.dialect.name)
        self.longest_reply_seconds = max(self.longest_reply_seconds or 0.0, call.whole.seconds)
        call.outcome = Outcome(kind="ok", tokens=None if usage is None else usage.total)
        if paid is not None and call.kept is None:
            most = call.room.bound.usd
            await paid.keep(call.key, call.whole, most, content_type, content)

    def settle(self, call: Call) -> None:
        """Count once what the call used, and record what is known of it."""
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
        """Return what the call cost; where that is not known, what it may have cost at most."""
        failure = self._failure(call)
        return (_spent(call, failure).usd or 0.0) + (_lost(call, failure) or 0.0)

    def close(self) -> None:
        """Record what failed and was not asked again."""
        failed, self._failed = self._failed, {}
        for attempts in failed.values():
            self._terms.record.no_reply(attempts)
        if self._left_out:
            said = f"{self._left_out} more attempts at model calls failed and are not on record."
            self._terms.record.message("system", said)
            self._left_out = 0

    def _failure(self, call: Call) -> FailedAttempt | None:
        """Return what became of a call that was sent and not answered whole."""
        if call.whole is not None or not call.was_sent:
            return None
        endpoint, fault = self._terms.endpoint, call.fault
        cause = "we cut it off" if fault is None else str(fault).removeprefix(f"{endpoint}: ")
        status = None if fault is None else fault.status
        is_free = call.was_turned_down or isinstance(fault, NotSent)
        return FailedAttempt(
            status=status,
            cause=one_line(cause, endpoint.key, _CAUSE_CHARS),
            seconds=call.seconds,
            cost_at_most_usd=0.0 if is_free else call.room.bound.usd,
        )

    def _note(self, call: Call, failure: FailedAttempt) -> None:
        paid = self._terms.paid
        if paid is not None and (kept := paid.owe(call.key, failure)) is not None:
            kept.add_done_callback(self._note_unkept)
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
        """Say once that a limit was ours which cut a reply."""
        if reply.stop_reason == "length" and call.asked.reply_tokens is None and not self._was_cut:
            self._was_cut = True
            self._terms.record.message(
                "system",
                f"The reply was cut at {call.room.reply_tokens} tokens, for its request named no "
                "limit; `max_reply_tokens` in the agent's budget gives it more.",
            )

    def _note_unkept(self, kept: asyncio.Future[None]) -> None:
        error = None if kept.cancelled() else kept.exception()
        if isinstance(error, StoreUnavailable):
            self.unkept = error


def _spent(call: Call, failure: FailedAttempt | None) -> Spending:
    """Return what a call used; where that is not known, what it used at most."""
    bound = call.room.bound
    if failure is not None:
        if call.fault is None:
            return bound
        # Turns, tokens and money are the agent's, and a provider's fault is not.
        return Spending(1, 0, failure.cost_at_most_usd) if call.is_programs else Spending()
    if call.whole is None:
        return Spending()
    usage, cost = call.whole.usage, call.whole.cost_usd
    if usage.total == 0:
        return bound
    return Spending(1, usage.total, bound.usd if cost is None else cost)


def _outcome(fault: Fault) -> Outcome:
    """Return what a fault of the provider's, or of ours, says of its limits."""
    if not isinstance(fault, AttemptFailed):
        return Outcome(kind="fault")
    return Outcome(
        kind="limited" if fault.is_limit else "fault",
        retry_after_seconds=fault.retry_after_seconds,
    )


def _lost(call: Call, failure: FailedAttempt | None) -> float | None:
    """Return what may be charged for a call that the provider made fail."""
    if failure is None or call.fault is None or call.is_programs:
        return 0.0
    return failure.cost_at_most_usd
