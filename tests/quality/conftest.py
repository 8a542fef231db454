"""Small tasks and trial results, spelled out where a test cares and filled in where not."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.run import OutcomeStatus, Trial, TrialOutcome, TrialResult
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore, Unscored
from taskdata.schema.task import DeliverableSpec, InputFile, ReferenceSolution, Task
from taskdata.schema.transcript import Ending, Usage

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _leaf(leaf_id: str, deliverable: str | None, name: str = "xlsx_table") -> Checkpoint:
    return Checkpoint(
        id=leaf_id,
        requirement=f"{leaf_id} is right",
        verifier=Check(name=name, deliverable=deliverable),
    )


@pytest.fixture
def make_task() -> Callable[..., Task]:
    """A sound workflow task with three checks and one judged leaf; keywords replace fields."""

    def make(task_id: str = "shop-totals", **fields: object) -> Task:
        judged = Checkpoint(
            id="tone",
            requirement="The memo reads well",
            verifier=Judge(rubric="Is it plain?", deliverables=("memo.docx",)),
        )
        values: dict[str, object] = {
            "id": task_id,
            "tier": "workflow",
            "category": "data_analysis",
            "capabilities": ("logic", "operation"),
            "title": "Totals of a shop",
            "query": "Please work out what every region sold and write me a memo about it.",
            "files": (InputFile(path="sales.csv", sha256="a" * 64, size_bytes=12),),
            "tools": ("ReadCSV", "XlsxFileGenerator", "finish"),
            "deliverables": (
                DeliverableSpec(name="totals.xlsx", type="xlsx"),
                DeliverableSpec(name="memo.docx", type="docx"),
            ),
            "checkpoints": Checkpoint(
                id="root",
                requirement="all",
                children=(
                    _leaf("totals", "totals.xlsx"),
                    _leaf("sheets", "totals.xlsx", "xlsx_sheets"),
                    _leaf("answer", None, "answer_number"),
                    judged,
                ),
            ),
            "reference": ReferenceSolution(steps=(), final_answer="42"),
        }
        return Task.model_validate(values | fields)

    return make


@pytest.fixture
def make_result(make_task: Callable[..., Task]) -> Callable[..., TrialResult]:
    """A finished trial whose leaves scored `leaves`, equally weighted.

    None: nobody was configured to score it; else the cause why it has no score.
    """

    def make(
        agent: str = "react:openai/gpt-5.2",
        task: Task | None = None,
        leaves: dict[str, float | Unscored | None] | None = None,
        repetition: int = 0,
        round_: int = 0,
        error: str | None = None,
        scored: bool = True,
        arm: str = "checkpoint",
        **outcome: object,
    ) -> TrialResult:
        task = task or make_task()
        trial = _trial(agent, task, repetition, round_, arm)
        if error is not None:
            failed = _outcome(trial.id, status=OutcomeStatus.INFRASTRUCTURE, error=error)
            return TrialResult(trial=trial, outcome=failed)
        names = [leaf.id for leaf in task.checkpoints.leaves()]
        leaves = dict.fromkeys(names, 10.0) if leaves is None else leaves
        score = _score(trial.id, leaves) if scored else None
        finished = _outcome(trial.id, ending=Ending.FINISHED, **outcome)
        return TrialResult(trial=trial, outcome=finished, score=score)

    return make


def _trial(agent: str, task: Task, repetition: int, round_: int, arm: str) -> Trial:
    def identity(number: int) -> str:
        return Trial.make_id("r1", agent, task.id, repetition, number, arm if number else "")

    return Trial(
        id=identity(round_),
        run_id="r1",
        agent=agent,
        task_id=task.id,
        task_hash=task.content_hash,
        tier=task.tier,
        category=task.category,
        repetition=repetition,
        round=round_,
        arm=arm if round_ else "",
        parent_trial_id=identity(round_ - 1) if round_ else None,
    )


def _outcome(trial_id: str, **fields: object) -> TrialOutcome:
    values: dict[str, object] = {
        "trial_id": trial_id,
        "attempt": 1,
        "status": OutcomeStatus.FINISHED,
        "sandbox": "bubblewrap",
        "code_version": "test",
        "usage": Usage(),
        "started_at": NOON,
        "finished_at": NOON,
    }
    return TrialOutcome.model_validate(values | fields)


def _score(trial_id: str, leaves: dict[str, float | Unscored | None]) -> TrialScore:
    known = [score for score in leaves.values() if isinstance(score, float)]
    nodes = tuple(
        NodeScore(
            id=leaf_id,
            requirement=f"{leaf_id} is right",
            weight=1,
            score=score if isinstance(score, float) else None,
            coverage=isinstance(score, float),
            leaf=_leaf_score(leaf_id, score),
        )
        for leaf_id, score in leaves.items()
    )
    root = NodeScore(
        id="root",
        requirement="all",
        weight=1,
        score=sum(known) / len(known) if known else None,
        coverage=len(known) / len(leaves),
        children=nodes,
    )
    return TrialScore(trial_id=trial_id, root=root, scorer_version="1")


def _leaf_score(leaf_id: str, score: float | Unscored | None) -> LeafScore:
    if isinstance(score, float):
        verifier = "judge:some/model@1" if leaf_id == "tone" else "check:x@1"
        return LeafScore(leaf_id=leaf_id, score=score, verifier=verifier, reason="seen")
    return LeafScore(
        leaf_id=leaf_id,
        score=None,
        verifier="judge:some/model@1",
        reason="not seen",
        unscored=score or Unscored.NOT_CONFIGURED,
    )
