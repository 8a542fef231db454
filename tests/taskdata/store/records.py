"""A trial of a run, an outcome and a score, as tests of the store record them."""

from datetime import UTC, datetime, timedelta

from taskdata.schema.run import (
    OutcomeStatus,
    Trial,
    TrialOutcome,
)
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.transcript import Ending

NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


def trial_of(run, task, round_=0, **changes):
    agent = run.config.agents[0].name
    fields = {
        "id": Trial.make_id(run.id, agent, task.id, 0, round_),
        "run_id": run.id,
        "agent": agent,
        "task_id": task.id,
        "task_hash": task.content_hash,
        "tier": task.tier,
        "category": task.category,
        "repetition": 0,
        "round": round_,
    }
    return Trial(**fields | changes)


def outcome_of(trial, status=OutcomeStatus.FINISHED, attempt=1, **changes):
    fields = {
        "trial_id": trial.id,
        "attempt": attempt,
        "status": status,
        "ending": Ending.FINISHED if status is OutcomeStatus.FINISHED else None,
        "sandbox": "bubblewrap",
        "code_version": "test",
        "started_at": NOW,
        "finished_at": NOW + timedelta(seconds=3),
        "wall_seconds": 3.0,
    }
    return TrialOutcome(**fields | changes)


def score_of(trial, value=8.0):
    leaf = LeafScore(leaf_id="sum", score=value, verifier="check:json_values@1", reason="found 5")
    node = NodeScore(id="sum", requirement="r", weight=1, score=value, coverage=1, leaf=leaf)
    root = NodeScore(
        id="root", requirement="r", weight=1, score=value, coverage=1, children=(node,)
    )
    return TrialScore(trial_id=trial.id, root=root, scorer_version="1")
