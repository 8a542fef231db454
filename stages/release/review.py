"""Human review: candidates that await a decision, what the reviewer sees, and the decision.

A reviewer answers a checklist, gives a verdict, and can change the draft first; who decided, when
and why is stored with it (GTA-2, section 3.3.4, human verification).
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal

from stages.construct.history import confirmation, covered, reference_kind
from stages.construct.proof.adversarial.report import Resistance
from stages.release.reviewing.evidence import evidence_of
from stages.release.reviewing.votes import standing, visible
from taskdata.errors import Misuse
from taskdata.schema.base import Value
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    ReviewDecision,
    TaskDraft,
)
from taskdata.schema.evidence import SafetyFinding, TaskEvidence
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.release import ReferenceKind
from taskdata.schema.requirement import ExplicitRequirement
from taskdata.schema.run import TrialResult
from taskdata.schema.seed import QuarantineEntry, StoredSeed
from taskdata.store import Store

AUTOMATIC = "auto-approve"
"""Recorded as the reviewer of candidates that were approved automatically, on explicit request."""

Decision = Literal["approve", "reject", "send_back", "edit"]


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
    safety: tuple[SafetyFinding, ...] = ()
    """Personal data, harm and orders to the model that were found on the way."""
    reviewers: int = 1
    """How many different people must give the same verdict."""
    voted: int = 0
    """How many people have given a verdict on the current draft."""
    is_disputed: bool = False
    """Whether enough people have given a verdict, and do not agree."""

    @property
    def evidence(self) -> TaskEvidence:
        """What speaks for the candidate and against it."""
        return evidence_of(self.draft, self.steps, self.quarantine)


def awaiting(store: Store, refresh_id: str | None = None) -> list[Candidate]:
    """Return the candidates that await a decision, of one refresh or of all."""
    return store.candidates(refresh_id, stage=Construction.REVIEW, status=CandidateStatus.OPEN)


def sheet(store: Store, name: str, viewer: str | None = None) -> ReviewSheet:
    """Return the review sheet of the candidate with that id or task id.

    Args:
        store: Where it is.
        name: The candidate id or task id.
        viewer: A reviewer, who is not shown what others decided before enough people have; None:
            everything is shown.

    Raises:
        Misuse: if there is none, or the task id is ambiguous.
    """
    candidate = find(store, name)
    steps, decisions = tuple(store.steps(candidate.id)), tuple(store.reviews(candidate.id))
    draft = store.draft(candidate.id)
    items = [candidate.id, *filter(None, [candidate.seed_id])]
    quarantine = tuple(e for item in items for e in store.quarantine_entries(item=item))
    needed = store.refresh(candidate.refresh_id).config.reviewers
    now = standing(decisions, needed)
    shown = decisions
    if viewer is not None and candidate.status is CandidateStatus.OPEN:
        shown = visible(decisions, needed, viewer)
    return ReviewSheet(
        candidate=candidate,
        draft=draft,
        seed=store.seed(candidate.seed_id) if candidate.seed_id else None,
        steps=steps,
        decisions=shown,
        played=_played(store, steps),
        resistance=_resistance(steps),
        coverage=covered(draft, steps) if draft else (),
        reference=reference_kind(draft, steps, decisions) if draft else ReferenceKind.NONE,
        confirmation=confirmation(draft, steps) if draft else None,
        quarantine=quarantine,
        mending=tuple(store.quarantine_decisions(items)),
        safety=evidence_of(draft, steps, quarantine).safety,
        reviewers=needed,
        voted=len(now.votes),
        is_disputed=now.is_disputed,
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
    known: list[str] = []
    for refresh in store.refreshes():
        for candidate in store.candidates(refresh.id):
            if name in (candidate.id, candidate.task_id):
                return candidate
            known.append(candidate.task_id)
    raise Misuse(f"candidate {name!r} is not in the store; {_meant(name, known)}")


def _meant(name: str, known: Sequence[str]) -> str:
    """Return what may have been meant: ids are long, and people shorten them."""
    close = [task_id for task_id in known if name and task_id.startswith(name)]
    close = close or get_close_matches(name, known, n=1)
    if len(set(close)) == 1:
        return f"did you mean {close[0]}?"
    return "`nightshift review list` names them"


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
