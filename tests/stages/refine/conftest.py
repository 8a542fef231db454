"""A run whose trials are executed and scored by hand, so that refinement has something to do."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from taskdata.schema.run import OutcomeStatus, Run, Trial, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending, Transcript
from taskdata.store import Store

REACT = "react:openai/gpt-5.2"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def night(new_run: Callable[..., Run], task: Task) -> Run:
    return new_run(task, agents=(REACT, "reference", "nop"), repetitions=8, refinement_rounds=2)


@pytest.fixture
def score_trial(store: Store) -> Callable[..., None]:
    """Store a finished outcome without files, and `score` for every leaf."""

    def scored(
        trial: Trial, task: Task, score: float | None, keeps_transcript: bool = True
    ) -> None:
        empty = Transcript(events=(), final_answer="", ending=Ending.OUT_OF_TURNS)
        kept = store.artifacts.put_bytes(empty.model_dump_json().encode())
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                attempt=1,
                status=OutcomeStatus.FINISHED,
                transcript_sha256=kept if keeps_transcript else None,
                sandbox="bubblewrap",
                code_version="test",
                started_at=NOON,
                finished_at=NOON,
            )
        )
        coverage = 0 if score is None else 1
        nodes = tuple(
            NodeScore(
                id=leaf.id,
                requirement=leaf.requirement,
                weight=leaf.weight,
                score=score,
                coverage=coverage,
                leaf=LeafScore(
                    leaf_id=leaf.id,
                    score=score,
                    verifier="check:json_values@1",
                    reason="found 4, expected 5",
                ),
            )
            for leaf in task.checkpoints.leaves()
        )
        root = NodeScore(
            id="root", requirement="r", weight=1, score=score, coverage=coverage, children=nodes
        )
        store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())

    return scored


@pytest.fixture
def play(
    night: Run, task: Task, plan_trial: Callable[..., Trial], score_trial: Callable[..., None]
) -> Callable[..., Trial]:
    """Plan, execute and score a trial of the first round."""

    def played(
        score: float | None,
        agent: str = REACT,
        repetition: int = 0,
        run: Run = night,
        keeps_transcript: bool = True,
    ) -> Trial:
        trial = plan_trial(run, task, agent, repetition)
        score_trial(trial, task, score, keeps_transcript)
        return trial

    return played
