"""Commands about candidates in quarantine: override a rule, gate again, drop."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.bank.options import ReviewerOption, reviewer_of
from taskdata.errors import GateFailed

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.construct import Candidate
    from taskdata.schema.quarantine import QuarantineDecision
    from taskdata.schema.seed import QuarantineEntry
    from taskdata.store import Store

CandidateArgument = Annotated[str, typer.Argument(help="Candidate or task id, as in the list.")]
ReasonOption = Annotated[str, typer.Option(help="Why; required.")]


def override(
    candidate: CandidateArgument,
    rule: Annotated[str, typer.Option(help="The rule that it may break, as in the list.")],
    reason: ReasonOption,
    reviewer: ReviewerOption = None,
) -> None:
    """Let one candidate break one rule; the reason goes with the task into its release."""
    from stages.release.quarantine import override
    from stages.release.review import find

    store = _opened()[1]
    left = override(store, candidate, rule, reason, reviewer_of(reviewer))
    found = find(store, candidate)
    if left:
        console.say(f"{found.task_id}: may break {rule}; still stopped by {', '.join(left)}")
        return
    console.say(f"{found.task_id}: may break {rule}, and goes on at {found.stage.value}")
    say_who_takes_it_up(found)


def regate(candidate: CandidateArgument, reviewer: ReviewerOption = None) -> None:
    """Have the gate or stage that stopped a candidate judge this one again."""
    from flows.banks.gates import hold_refresh_gate
    from flows.locks import run_lock
    from stages.release.quarantine import reopen, sentence, stopped
    from stages.release.review import find

    settings, store = _opened()
    refresh_id = stopped(store, candidate).candidate.refresh_id
    with run_lock(settings, refresh_id):
        found = reopen(store, candidate, reviewer_of(reviewer))
        one = found.candidate
        if not found.is_gated:
            console.say(f"{one.task_id}: is due again at {one.stage.value}")
            say_who_takes_it_up(one)
            return
        try:
            hold_refresh_gate(
                store, refresh_id, "candidates", settings.gates, {one.id}, settings.home
            )
        except GateFailed:
            if not store.quarantine_entries(item=one.id, lasting=True):
                raise
    entries = store.quarantine_entries(item=one.id, lasting=True)
    for entry in entries:
        console.paragraph(f"{one.task_id}: {entry.stage} stops it: {sentence(entry)}")
    if not entries:
        console.say(f"{one.task_id}: passes, and goes on at {find(store, one.id).stage.value}")
        say_who_takes_it_up(one)


def drop(
    candidate: CandidateArgument, reason: ReasonOption, reviewer: ReviewerOption = None
) -> None:
    """Reject a candidate in quarantine for good."""
    from stages.release.quarantine import drop

    dropped = drop(_opened()[1], candidate, reason, reviewer_of(reviewer))
    console.say(f"{dropped.task_id}: dropped")


def say_who_takes_it_up(candidate: "Candidate") -> None:
    """Say how a candidate that has left quarantine goes on."""
    console.say(f"`nightshift refresh --resume {candidate.refresh_id}` takes it up")


def stopped_lines(
    store: "Store", entries: "list[QuarantineEntry]", refresh: str | None
) -> list[dict[str, str]]:
    """Return a line for each rule that stops a candidate or a seed, of one refresh or of all."""
    candidates = {one.id: one for one in store.candidates(refresh)}
    of_seeds = {one.seed_id: one for one in candidates.values() if one.seed_id}
    lines = []
    for entry in entries:
        one = candidates.get(str(entry.item))
        is_seed = one is None and entry.stage == "gate seeds" and entry.item in of_seeds
        if one is None and not is_seed:
            continue
        lines.append(
            {
                "item": f"seed {entry.item}" if one is None else one.task_id,
                "gate": entry.stage.removeprefix("gate "),
                "rule": entry.rule or "",
                "value": entry.value or "",
                "row": _row(store, entry, one),
                "reason": entry.reason,
            }
        )
    return lines


def _row(store: "Store", entry: "QuarantineEntry", candidate: "Candidate | None") -> str:
    """Return where the seed stood from which a candidate is made."""
    origin, row = entry.origin, entry.row
    if candidate is not None:
        if candidate.seed_id is None:
            return candidate.origin.value
        seed = store.seed(candidate.seed_id)
        origin, row = seed.origin, seed.row
    return origin + (f", row {row}" if row else "")


def write_quarantine(
    entries: "tuple[QuarantineEntry, ...]", decisions: "tuple[QuarantineDecision, ...]"
) -> None:
    """Write by which rules something was stopped, and what people decided about it."""
    rows = [
        {
            "gate": entry.stage.removeprefix("gate "),
            "rule": entry.rule or "",
            "value": entry.value or "",
            "reason": entry.reason,
            "ended": entry.ended or "no",
        }
        for entry in entries
    ]
    if rows:
        console.table(rows, title="Quarantine")
    for one in decisions:
        what = f" of {one.rule}" if one.rule else ""
        became = f" (now seed {one.replaced_by})" if one.replaced_by else ""
        console.paragraph(
            f"{one.at:%Y-%m-%d %H:%M} {one.kind}{what} by {one.by}{became}: "
            f"{one.reason or 'no reason given'}"
        )


def _opened() -> "tuple[Settings, Store]":
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    return settings, Store.open(settings.address)
