"""The decisions of a reviewer: a verdict with its checklist, or an edit of the draft.

As many different people as the refresh asks for must give the same verdict before it counts.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from stages.construct.assembling import assembled
from stages.construct.history import VIOLATIONS
from stages.construct.rules.violation import Violation, of_tree
from stages.release.review import Decision, awaiting, require_decidable
from stages.release.reviewing.votes import Standing, outcome
from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData, Misuse
from taskdata.places import UNSTORABLE, first_place, is_unstorable
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    Origin,
    ReviewDecision,
    TaskDraft,
)
from taskdata.schema.review import Checklist, ChecklistItem, Verdict
from taskdata.schema.task import Task
from taskdata.store import Store
from taskdata.store.construction import Following
from taskdata.version import code_version

Rules = Callable[[Candidate, TaskDraft], tuple[str, ...]]
"""Returns the rules that a candidate's draft breaks, each as a sentence."""

_LONGEST_NAME = 200

_FIELDS = {
    ChecklistItem.SOLVABLE: "files",
    ChecklistItem.TOOLS_SUFFICIENT: "tools",
    ChecklistItem.RUBRIC_RIGHT: of_tree(),
}
"""The field of a draft that a checklist item is about; items that are not here: the query."""


def decide(
    store: Store,
    candidate: Candidate,
    decision: Verdict,
    reviewer: str,
    comment: str = "",
    checklist: Checklist = (),
) -> Standing:
    """Store a person's verdict; return where the review of the candidate stands then.

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
    draft = _sound_draft(store, candidate, fields, rules)
    decision = _decision(candidate, "edit", reviewer, comment, ())
    store.record_review(
        decision.model_copy(update={"draft": draft}),
        stage=Construction.PROVE,
        status=CandidateStatus.OPEN,
    )
    return draft


def _sound_draft(
    store: Store, candidate: Candidate, fields: dict[str, Any], rules: Rules
) -> TaskDraft:
    """Return the draft with these fields; raises `BadTaskData` as `edit`."""
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
    return draft


def approve_all(store: Store, refresh_id: str, reviewer: str, comment: str) -> int:
    """Approve every candidate of the refresh that awaits review; return how many."""
    waiting = awaiting(store, refresh_id)
    for candidate in waiting:
        decide(store, candidate, "approve", reviewer, comment)
    return len(waiting)


def _back(candidate: Candidate, now: Standing, attempt: int) -> Following:
    """Return the stage that mends the candidate; it is told what reviewers found as violations."""
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


def reviewer_name(given: str) -> str:
    """Return the name of a reviewer in one line, without spaces around.

    Raises:
        Misuse: if it is none, or longer than a name.
    """
    name = " ".join(given.split())
    if not name:
        raise Misuse("a decision needs a reviewer: --reviewer NAME")
    if len(name) > _LONGEST_NAME:
        raise Misuse(f"the name of a reviewer has at most {_LONGEST_NAME} characters")
    return name


def _decision(
    candidate: Candidate,
    decision: Decision,
    reviewer: str,
    comment: str,
    checklist: Checklist,
) -> ReviewDecision:
    if len({one.item for one in checklist}) < len(checklist):
        raise Misuse("the checklist answers an item twice")
    fields = {
        "candidate_id": candidate.id,
        "decision": decision,
        "reviewer": reviewer_name(reviewer),
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
