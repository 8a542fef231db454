"""The page on which a person reviews one candidate: the task, what speaks for it, the checklist.

What a seed or a model wrote passes the templates' escaping; files are downloads of bytes without a
type, and pictures that we drew.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dashboards.agreement.annotation import Place, file_context, rendered_page, script_policy
from dashboards.pages import formats
from dashboards.pages.expectations import expectations, plain_value
from dashboards.pages.trial.caps import CAPS, Shown, shown
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.construct import Candidate, ConstructionStep, ReviewDecision, TaskDraft
from taskdata.schema.evidence import TaskEvidence
from taskdata.schema.input_file import InputFile
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.release import ReferenceKind
from taskdata.schema.review import ANSWERS, VERDICTS, Checklist, ChecklistItem
from taskdata.schema.run import TrialResult
from taskdata.schema.seed import StoredSeed
from taskdata.schema.views import RenderedDeliverable

_CAP = CAPS[0]
_SCRIPT = "review.js"

VERDICT_WORDS: Mapping[str, str] = {
    "approve": "approve",
    "reject": "reject",
    "send_back": "send back to be rewritten",
}


@dataclass(frozen=True)
class Reviewed:
    """A candidate with everything that a reviewer is shown."""

    candidate: Candidate
    draft: TaskDraft
    evidence: TaskEvidence
    reference: ReferenceKind
    seed: StoredSeed | None = None
    steps: Sequence[ConstructionStep] = ()
    disputed: Sequence[str] = ()
    """Where a second solution and the reference differ."""
    decisions: Sequence[ReviewDecision] = ()
    """Those that the reviewer may see."""
    mending: Sequence[QuarantineDecision] = ()
    files: Sequence[InputFile] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    """The beginning of files that are text, by hash."""
    played: TrialResult | None = None
    """The trial of the reference solution."""
    rendered: Sequence[RenderedDeliverable] = ()


@dataclass(frozen=True)
class EnteredReview:
    """What stands in the form."""

    answers: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    verdict: str = ""
    comment: str = ""
    problem: str = ""
    """Why it was not saved; empty: nothing is wrong with it."""

    @classmethod
    def of(cls, decision: ReviewDecision | None) -> "EnteredReview":
        """Return what the person decided before, or an empty form."""
        if decision is None:
            return cls()
        given: Checklist = decision.checklist
        return cls(
            answers={one.item.value: one.answer for one in given},
            notes={one.item.value: one.note for one in given},
            verdict=decision.decision,
            comment=decision.comment,
        )


def review_page(
    place: Place, reviewed: Reviewed, entered: EnteredReview, token: str, standing: str
) -> str:
    """Return the page of one candidate.

    Args:
        place: Where the reviewer is.
        reviewed: The candidate.
        entered: What stands in the form.
        token: Sent along with the answers, to show that they are from this page.
        standing: How many reviewers have decided, in words; empty: one is enough.
    """
    outcome = None if reviewed.played is None else reviewed.played.outcome
    draft = reviewed.draft
    return rendered_page(
        "review.html",
        _SCRIPT,
        place=place,
        one=reviewed,
        draft=draft,
        standing=standing,
        tree=list(_nodes(draft.checkpoints, 0))[: _CAP.nodes],
        inputs=[
            {"file": file, "head": shown(reviewed.heads.get(file.sha256, ""), _CAP.text)}
            for file in reviewed.files
        ],
        solution=list(_solution(draft)),
        proofs=_proofs(reviewed.steps),
        answer="" if outcome is None else outcome.final_answer,
        **file_context(() if outcome is None else outcome.deliverables, reviewed.rendered),
        items=list(ChecklistItem),
        answers=ANSWERS,
        verdicts={name: VERDICT_WORDS[name] for name in VERDICTS},
        entered=entered,
        token=token,
    )


def reviewed_page(decided: int, total: int) -> str:
    """Return the page after the last candidate."""
    return rendered_page("reviewed.html", _SCRIPT, decided=decided, total=total)


def gone_page(place: Place, told: str) -> str:
    """Return the page of a candidate that waits for no decision any more."""
    return rendered_page("review_gone.html", _SCRIPT, place=place, told=told)


def review_policy() -> str:
    """Return the content security policy of these pages."""
    return script_policy(_SCRIPT)


def _nodes(node: Checkpoint, depth: int) -> Iterator[dict[str, object]]:
    """Yield the nodes of a tree from the root down, each with its depth and what it expects."""
    verifier = node.verifier
    how = "" if verifier is None else str(getattr(verifier, "name", verifier.kind))
    if node.rule == "all_required":
        how = f"all required, each from {node.passes_from:g}"
    yield {
        "id": node.id,
        "depth": depth,
        "weight": f"{node.weight:g}",
        "requirement": shown(node.requirement, _CAP.reason),
        "how": how,
        "expects": []
        if verifier is None
        else [shown(line, _CAP.reason) for line in expectations(verifier)],
    }
    for child in node.children:
        yield from _nodes(child, depth + 1)


def _solution(draft: TaskDraft) -> Iterator[tuple[str, list[tuple[str, Shown]]]]:
    """Yield the steps of the reference solution: the tool, and its arguments."""
    for step in draft.reference.steps if draft.reference else ():
        arguments = [
            (name, shown(plain_value(value), _CAP.text)) for name, value in step.arguments.items()
        ]
        yield step.tool, arguments


def _proofs(steps: Sequence[ConstructionStep]) -> list[dict[str, object]]:
    """Return every step in words: stage, verdict and reasons."""
    return [
        {
            "stage": step.stage.value,
            "verdict": formats.words(step.verdict),
            "reasons": [shown(reason, _CAP.reason) for reason in step.reasons],
            "model": step.model_id or "",
        }
        for step in steps
    ]
