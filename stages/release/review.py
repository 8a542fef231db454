"""Human review: candidates that await a decision, what the reviewer sees, and the decision.

A reviewer answers a checklist, gives a verdict, and can change the draft first; who decided, when
and why is stored with it (GTA-2, section 3.3.4, human verification).
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import ValidationError

from stages.construct.assembling import assembled
from stages.construct.history import VIOLATIONS, confirmation, reference_kind
from stages.construct.proof.adversarial.report import Resistance
from stages.construct.rules.coverage import ExplicitRequirement, coverage_map
from stages.construct.rules.violation import Violation, of_tree
from stages.release.evidence import evidence_of
from stages.release.votes import Standing, outcome, standing, visible
from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData, Misuse
from taskdata.places import UNSTORABLE, first_place, is_unstorable
from taskdata.schema.base import Value
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    Origin,
    ReviewDecision,
    TaskDraft,
)
from taskdata.schema.evidence import SafetyFinding, TaskEvidence
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.release import ReferenceKind
from taskdata.schema.review import Checklist, ChecklistItem, Verdict
from taskdata.schema.run import TrialResult
from taskdata.schema.seed import QuarantineEntry, StoredSeed
from taskdata.schema.task import Task
from taskdata.store import Store
from taskdata.store.construction import Following
from taskdata.version import code_version

AUTOMATIC = "auto-approve"
"""Recorded as the reviewer of candidates that were approved automatically, on explicit request."""

Decision = Literal["approve", "reject", "send_back", "edit"]

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
    safety: tuple[SafetyFinding, ...] = ()
    """Personal data, harm and orders to the model that were found on the way."""
    reviewers: int = 1
    """How many different people must give the same verdict."""
    voted: int = 0
    """How many have given one about the current draft."""
    is_disputed: bool = False
    """Whether enough people have voted and do not agree."""

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
        coverage=coverage_map(draft) if draft else (),
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
    decision: Verdict,
    reviewer: str,
    comment: str = "",
    checklist: Checklist = (),
) -> Standing:
    """Store a person's verdict; return where the review of the candidate is with it.

    The candidate stays in review until as many different people as its refresh asks for have given
    the same verdict. A candidate that is sent back is rewritten, or only its tree is, if that alone
    is wrong; the model is told what the reviewers answered `no` to, and why.

    Raises:
        Misuse: see `require_decidable`; or the verdict does not fit the checklist, or has no
            reason where it needs one.
    """
    require_decidable(candidate, decision)
    given = _decision(candidate, decision, reviewer, comment, checklist)
    _require_grounds(candidate, given)
    if decision == "approve":
        _require_not_withdrawn(store, assembled(store, candidate))
    # One decision is enough about a candidate on which a stage fails.
    at_review = candidate.stage is Construction.REVIEW
    needed = store.refresh(candidate.refresh_id).config.reviewers if at_review else 1
    attempt = 1 + sum(s.stage is Construction.VALIDATE for s in store.steps(candidate.id))

    def follows(decided: Sequence[ReviewDecision]) -> Following:
        now = outcome(decided, needed)
        match now.verdict:
            case "approve":
                return Following(status=CandidateStatus.APPROVED)
            case "reject":
                return Following(status=CandidateStatus.REJECTED)
            case "send_back":
                return _back(candidate, now, attempt)
        return Following()

    return outcome(store.record_vote(given, candidate, follows), needed)


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
    decision = _decision(candidate, "edit", reviewer, comment, ())
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


_FIELDS = {
    ChecklistItem.SOLVABLE: "files",
    ChecklistItem.TOOLS_SUFFICIENT: "tools",
    ChecklistItem.RUBRIC_RIGHT: of_tree(),
}
"""The field of a draft that an item is about; without one, it is the query."""


def _back(candidate: Candidate, now: Standing, attempt: int) -> Following:
    """Return the way back of a candidate: what reviewers found is a validation that failed."""
    found = tuple(dict.fromkeys(_violations(now.votes)))
    step = ConstructionStep(
        candidate_id=candidate.id,
        stage=Construction.VALIDATE,
        attempt=attempt,
        verdict=VIOLATIONS,
        reasons=tuple(map(str, found)),
        facts={VIOLATIONS: [one.model_dump() for one in found]},
        cost_usd=0,
        code_version=code_version(),
        at=datetime.now(UTC),
    )
    is_tree = all(one.is_of_tree for one in found)
    stage = Construction.CHECKPOINTS if is_tree else Construction.REWRITE
    return Following(stage=stage, step=step)


def _violations(votes: Sequence[ReviewDecision]) -> Iterator[Violation]:
    for vote in votes:
        wrong = [one for one in vote.checklist if one.answer == "no"]
        for one in wrong:
            said = one.note or vote.comment
            yield Violation(
                field=_FIELDS.get(one.item, "query"),
                rule=one.item.value,
                message=f"a reviewer answered no to: {one.item.question} {said}".strip(),
            )
        if not wrong:
            yield Violation(field="query", rule="review", message=f"a reviewer: {vote.comment}")


def _require_not_withdrawn(store: Store, task: Task) -> None:
    tombstone = store.withdrawals().get(task.content_hash)
    if tombstone is not None:
        raise Misuse(
            f"task {task.id!r} was withdrawn on {tombstone.told}, and a release does without it; "
            "edit it, or reject it"
        )


def _require_grounds(candidate: Candidate, given: ReviewDecision) -> None:
    """Raise `Misuse` unless the checklist and the comment carry the verdict."""
    task = candidate.task_id
    wrong = [one.item.value for one in given.checklist if one.answer == "no"]
    has_reason = bool(given.comment) or any(one.note for one in given.checklist)
    if given.decision == "approve":
        if wrong:
            raise Misuse(
                f"approving {task!r} does not go with no to {', '.join(wrong)}: reject it, or send "
                "it back"
            )
        yes = sum(one.answer == "yes" for one in given.checklist)
        if yes < len(ChecklistItem) and not has_reason:
            raise Misuse(
                f"approving {task!r} needs yes to all {len(ChecklistItem)} items of the checklist "
                "(--yes), or a reason: --comment"
            )
    elif not has_reason:
        doing = "rejecting" if given.decision == "reject" else "sending back"
        raise Misuse(f"{doing} {task!r} needs a reason: --comment")
    if given.decision == "send_back" and candidate.origin is Origin.EXPANSION:
        raise Misuse(
            f"sending back {task!r} is not possible: it varies an exemplar, and its tools were "
            "recorded with it; edit or reject it"
        )


def _decision(
    candidate: Candidate,
    decision: Decision,
    reviewer: str,
    comment: str,
    checklist: Checklist,
) -> ReviewDecision:
    if not reviewer.strip():
        raise Misuse("a decision needs a reviewer: --reviewer NAME")
    if len({one.item for one in checklist}) < len(checklist):
        raise Misuse("the checklist answers an item twice")
    fields = {
        "candidate_id": candidate.id,
        "decision": decision,
        "reviewer": " ".join(reviewer.split()),
        "comment": comment.strip(),
        "checklist": checklist,
        "at": datetime.now(UTC),
    }
    place = first_place([reviewer, comment, *(one.note for one in checklist)], is_unstorable)
    if place is not None:
        raise Misuse(f"a decision about {candidate.task_id!r} {UNSTORABLE}")
    try:
        return ReviewDecision.model_validate(fields)
    except ValidationError as exc:
        raise Misuse(f"a decision about {candidate.task_id!r}: {describe(exc)}") from exc
