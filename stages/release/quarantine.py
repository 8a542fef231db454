"""Quarantine as a workflow: what a person does about a candidate that a gate or stage stopped.

A rule is overridden for one candidate, with a reason that goes with the task into its release; or
the draft is edited, or gated again as it is; or it ends here. `flows` holds the gates.
"""

from datetime import UTC, datetime

from stages.construct.history import RESISTS
from stages.construct.work import INVALID
from stages.release.review import find
from taskdata.errors import Misuse
from taskdata.schema.base import Value
from taskdata.schema.construct import Candidate, CandidateStatus, Construction
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.seed import QuarantinedRow, QuarantineEntry
from taskdata.store import Store

_FOLLOWING = {
    Construction.VALIDATE: Construction.CHECKPOINTS,
    Construction.CHECKPOINTS: Construction.PROVE,
    Construction.PROVE: Construction.REVIEW,
}
"""The stage that is due once the rules that a stage found broken are overridden."""


class StoppedCandidate(Value):
    """A candidate in quarantine with the rules that hold it there."""

    candidate: Candidate
    entries: tuple[QuarantineEntry, ...]

    @property
    def is_gated(self) -> bool:
        """Whether a gate stopped it, which can be held again at once; else it was a stage."""
        return all(entry.stage.startswith("gate ") for entry in self.entries)


def stopped(store: Store, name: str) -> StoppedCandidate:
    """Return the candidate in quarantine of that id or task id.

    Raises:
        Misuse: if there is none, it is not in quarantine, or it is its seed that is.
    """
    candidate = find(store, name)
    if candidate.status is not CandidateStatus.QUARANTINED:
        is_open = candidate.status is CandidateStatus.OPEN
        where = candidate.stage.value if is_open else candidate.status.value
        raise Misuse(f"candidate {candidate.task_id!r} is not in quarantine: it is at {where}")
    entries = tuple(store.quarantine_entries(item=candidate.id, lasting=True))
    if not entries:
        raise Misuse(
            f"candidate {candidate.task_id!r} is in quarantine because of its seed: "
            f"`nightshift seeds show {candidate.seed_id}`"
        )
    return StoppedCandidate(candidate=candidate, entries=entries)


def override(store: Store, name: str, rule: str, reason: str, by: str) -> tuple[str, ...]:
    """Let a candidate break a rule, wherever the rule is held; return the rules left to override.

    Once none is left, the candidate goes on.

    Raises:
        Misuse: see `stopped`; or the rule does not stop it, cannot be overridden, or there is no
            reason or name.
    """
    found = stopped(store, name)
    record_override(store, found.candidate.id, found.entries, rule, reason, by)
    left = store.quarantine_entries(item=found.candidate.id, lasting=True)
    if not left:
        stage = found.candidate.stage
        following = stage if found.is_gated else _FOLLOWING[stage]
        store.set_candidate(found.candidate.id, stage=following, status=CandidateStatus.OPEN)
    return tuple(dict.fromkeys(str(entry.rule) for entry in left))


def record_override(
    store: Store,
    item: str,
    entries: tuple[QuarantineEntry, ...],
    rule: str,
    reason: str,
    by: str,
) -> None:
    """Store that a candidate or seed may break a rule; raises as `override`."""
    of_rule = [entry for entry in entries if entry.rule == rule]
    if not of_rule:
        named = ", ".join(dict.fromkeys(str(entry.rule) for entry in entries))
        raise Misuse(f"rule {rule!r} does not stop {item}; these do: {named}")
    if not all(map(_may_be_overridden, of_rule)):
        raise Misuse(
            f"rule {rule!r} of {of_rule[0].stage} is none that can be overridden: nothing was "
            "judged by it; edit the task, or have it taken up again (`regate`)"
        )
    found = "; ".join(dict.fromkeys(map(sentence, of_rule)))
    decided = decision(item, "override", reason, by, rule=rule, found=found)
    store.record_quarantine_decision(decided, "overridden")


def reopen(store: Store, name: str, by: str) -> StoppedCandidate:
    """Have what stopped the candidate judge it again; raises as `stopped`.

    Where that was a stage, it is due again; where it was a gate, the caller holds it.
    """
    found = stopped(store, name)
    decided = decision(found.candidate.id, "regate", "", by)
    store.record_quarantine_decision(decided, "mended")
    store.set_candidate(found.candidate.id, status=CandidateStatus.OPEN)
    return found


def drop(store: Store, name: str, reason: str, by: str) -> Candidate:
    """End a candidate in quarantine for good.

    Raises:
        Misuse: see `stopped`, or there is no reason or name.
    """
    candidate = stopped(store, name).candidate
    store.record_quarantine_decision(decision(candidate.id, "drop", reason, by), "dropped")
    store.set_candidate(candidate.id, status=CandidateStatus.REJECTED, reason=reason)
    return candidate


def decision(item: str, kind: str, reason: str, by: str, **known: str | None) -> QuarantineDecision:
    """Return a decision of now.

    Raises:
        Misuse: if nobody made it, or an override or drop has no reason.
    """
    if not by.strip():
        raise Misuse("a decision needs a name: --reviewer NAME")
    if kind in ("override", "drop") and not reason.strip():
        raise Misuse(f"{kind} of {item} needs a reason: --reason")
    fields = {"item": item, "kind": kind, "reason": reason.strip(), "by": by.strip()}
    return QuarantineDecision.model_validate(fields | known | {"at": datetime.now(UTC)})


def decisions_behind(store: Store, candidate: Candidate) -> tuple[QuarantineDecision, ...]:
    """Return the overrides and edits, of a candidate and of its seed, in order of time."""
    edits = [
        decision(candidate.id, "edit", review.comment, review.reviewer).model_copy(
            update={"at": review.at}
        )
        for review in store.reviews(candidate.id)
        if review.decision == "edit"
    ]
    items = [candidate.id] + ([candidate.seed_id] if candidate.seed_id else [])
    kept = [d for d in store.quarantine_decisions(items) if d.kind in ("override", "edit")]
    return tuple(sorted((*kept, *edits), key=lambda one: one.at))


def sentence(row: QuarantinedRow) -> str:
    """Return what the rule says, and after it what was found."""
    return row.reason if row.value is None else f"{row.reason} (found: {row.value})"


def _may_be_overridden(entry: QuarantineEntry) -> bool:
    if entry.stage.startswith("gate "):
        return entry.rule != "is_a_task"
    if entry.stage in (Construction.VALIDATE, Construction.CHECKPOINTS):
        return entry.rule not in (None, entry.stage, INVALID)
    return entry.stage == Construction.PROVE and entry.rule == RESISTS
