"""Human review: candidates that await a decision, what the reviewer sees, and the decision.

A person decides once per candidate and can change the draft first; who decided, when and why is
stored with it (GTA-2, section 3.3.4, human verification).
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import ValidationError

from stages.construct.assembling import assembled
from stages.construct.history import confirmation, covered, reference_kind
from stages.construct.proof.adversarial.report import Resistance
from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData, Misuse
from taskdata.places import UNSTORABLE, first_place, is_unstorable
from taskdata.schema.base import Value
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    ReviewDecision,
    TaskDraft,
)
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.release import ReferenceKind
from taskdata.schema.requirement import ExplicitRequirement
from taskdata.schema.run import TrialResult
from taskdata.schema.seed import QuarantineEntry, StoredSeed
from taskdata.store import Store

AUTOMATIC = "auto-approve"
"""Recorded as the reviewer of candidates that were approved automatically, on explicit request."""

Decision = Literal["approve", "reject", "edit"]

Rules = Callable[[Candidate, TaskDraft], tuple[str, ...]]
"""Returns the rules that a candidate's draft breaks, each as a sentence."""


class ReviewSheet(Value):
    """Everything a reviewer needs to decide about one candidate."""

    candidate: Candidate
    draft: TaskDraft | None
    seed: StoredSeed | None
    steps: tuple[ConstructionStep, ...]
    decisions: tuple[ReviewDecision, ...]
    played: TrialResult | None = None
    """The latest trial of its reference solution; None: it has not run yet, or there is none."""
    resistance: Resistance | None = None
    """What the latest proof found with cheats and faults; None: the proof tried none."""
    coverage: tuple[ExplicitRequirement, ...] = ()
    """Explicit requirements of the query, with the leaves that score each of them."""
    reference: ReferenceKind = ReferenceKind.NONE
    confirmation: ConstructionStep | None = None
    """The step that compared a second solution with the reference; None: there was none."""
    quarantine: tuple[QuarantineEntry, ...] = ()
    """The rules by which it or its seed was stopped, including those that have ended."""
    mending: tuple[QuarantineDecision, ...] = ()
    """What people decided about it in quarantine, and about its seed."""


def awaiting(store: Store, refresh_id: str | None = None) -> list[Candidate]:
    """Return the candidates that await a decision, of one refresh or of all."""
    return store.candidates(refresh_id, stage=Construction.REVIEW, status=CandidateStatus.OPEN)


def sheet(store: Store, name: str) -> ReviewSheet:
    """Return the review sheet of the candidate with that id or task id.

    Raises:
        Misuse: if there is none, or the task id is ambiguous.
    """
    candidate = find(store, name)
    steps, decisions = tuple(store.steps(candidate.id)), tuple(store.reviews(candidate.id))
    draft = store.draft(candidate.id)
    items = [candidate.id, *filter(None, [candidate.seed_id])]
    return ReviewSheet(
        candidate=candidate,
        draft=draft,
        seed=store.seed(candidate.seed_id) if candidate.seed_id else None,
        steps=steps,
        decisions=decisions,
        played=_played(store, steps),
        resistance=_resistance(steps),
        coverage=covered(draft, steps) if draft else (),
        reference=reference_kind(draft, steps, decisions) if draft else ReferenceKind.NONE,
        confirmation=confirmation(draft, steps) if draft else None,
        quarantine=tuple(e for item in items for e in store.quarantine_entries(item=item)),
        mending=tuple(store.quarantine_decisions(items)),
    )


def _resistance(steps: Sequence[ConstructionStep]) -> Resistance | None:
    tried = [s.facts["resistance"] for s in steps if s.facts.get("resistance") is not None]
    return Resistance.model_validate(tried[-1]) if tried else None


def _played(store: Store, steps: Sequence[ConstructionStep]) -> TrialResult | None:
    proofs = [s.facts for s in steps if s.stage is Construction.PROVE and s.facts.get("run_id")]
    if not proofs:
        return None
    run_id, task_hash = proofs[-1]["run_id"], proofs[-1]["task_hash"]
    for result in store.results(run_id):
        if result.trial.agent == "reference" and result.trial.task_hash == task_hash:
            return result
    return None


def find(store: Store, name: str) -> Candidate:
    """Return the candidate of that id, or of that task id in the newest refresh that has it.

    Raises:
        Misuse: if there is none.
    """
    for refresh in store.refreshes():
        for candidate in store.candidates(refresh.id):
            if name in (candidate.id, candidate.task_id):
                return candidate
    raise Misuse(f"candidate {name!r} is not in the store; `nightshift review list` names them")


def require_decidable(candidate: Candidate, decision: Decision) -> None:
    """Raise `Misuse` unless the candidate awaits review, or is open and to be rejected.

    A draft in quarantine can be edited, too. Rejecting is also the way to remove a candidate on
    which a stage fails every time.
    """
    is_open = candidate.status is CandidateStatus.OPEN
    if decision == "edit" and candidate.status is CandidateStatus.QUARANTINED:
        return
    if is_open and (candidate.stage is Construction.REVIEW or decision == "reject"):
        return
    where = candidate.stage.value if candidate.status is CandidateStatus.OPEN else candidate.status
    raise Misuse(f"candidate {candidate.task_id!r} does not wait for review: it is at {where}")


def decide(
    store: Store,
    candidate: Candidate,
    decision: Literal["approve", "reject"],
    reviewer: str,
    comment: str = "",
) -> None:
    """Store a person's decision.

    Raises:
        Misuse: see `require_decidable`, or if a rejection has no reason.
    """
    require_decidable(candidate, decision)
    if decision == "reject" and not comment.strip():
        raise Misuse(f"rejecting {candidate.task_id!r} needs a reason: --comment")
    if decision == "approve":
        assembled(store, candidate)
    store.record_review(
        _decision(candidate, decision, reviewer, comment),
        status=CandidateStatus.APPROVED if decision == "approve" else CandidateStatus.REJECTED,
    )


def edit(
    store: Store,
    candidate: Candidate,
    fields: dict[str, Any],
    reviewer: str,
    comment: str,
    rules: Rules,
) -> TaskDraft:
    """Store a person's changed draft; the candidate is proven again before it can be approved.

    Args:
        store: The store that holds the candidate.
        candidate: It must await review, or be in quarantine.
        fields: The whole draft as a mapping.
        reviewer: The person who changed it.
        comment: The reason.
        rules: Returns the rules that the new draft breaks.

    Raises:
        Misuse: if the candidate neither awaits review nor is in quarantine.
        BadTaskData: if the fields are not a valid draft or task, or break a rule.
    """
    require_decidable(candidate, "edit")
    try:
        draft = TaskDraft.model_validate(fields)
    except ValidationError as exc:
        raise BadTaskData(f"draft of {candidate.task_id!r}: {describe(exc)}") from exc
    place = first_place(draft.model_dump(), is_unstorable)
    if place is not None:
        raise BadTaskData(f"draft of {candidate.task_id!r}: field {place.where} {UNSTORABLE}")
    assembled(store, candidate, draft)
    broken = rules(candidate, draft)
    if broken:
        raise BadTaskData(
            f"draft of {candidate.task_id!r} breaks {len(broken)} rules: {'; '.join(broken)}"
        )
    decision = _decision(candidate, "edit", reviewer, comment)
    store.record_review(
        decision.model_copy(update={"draft": draft}),
        stage=Construction.PROVE,
        status=CandidateStatus.OPEN,
    )
    return draft


def approve_all(store: Store, refresh_id: str, reviewer: str, comment: str) -> int:
    """Approve every candidate of the refresh that awaits review; return how many."""
    waiting = awaiting(store, refresh_id)
    for candidate in waiting:
        decide(store, candidate, "approve", reviewer, comment)
    return len(waiting)


def _decision(
    candidate: Candidate,
    decision: Decision,
    reviewer: str,
    comment: str,
) -> ReviewDecision:
    if not reviewer.strip():
        raise Misuse("a decision needs a reviewer: --reviewer NAME")
    return ReviewDecision(
        candidate_id=candidate.id,
        decision=decision,
        reviewer=reviewer.strip(),
        comment=comment.strip(),
        at=datetime.now(UTC),
    )
