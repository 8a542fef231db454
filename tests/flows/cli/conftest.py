"""Runs that are over, for the commands that read them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest

from flows.config import load_settings
from stages.prepare.work import first_trial
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.run import OutcomeStatus, Run, RunConfig, RunStatus, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore, Unscored
from taskdata.schema.transcript import Ending, Transcript
from taskdata.store import Store

LEAVES = Checkpoint(
    id="root",
    requirement="x",
    children=tuple(
        Checkpoint(id=f"leaf-{n}", requirement="x", verifier=Judge(rubric="x")) for n in range(4)
    ),
)
NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


def finished_outcome(store: Store, trial_id: str, error: str | None, transcript: Transcript):
    """Return the outcome of a trial that ended, or was lost to `error`."""
    return TrialOutcome(
        trial_id=trial_id,
        attempt=1,
        status=OutcomeStatus.INFRASTRUCTURE if error else OutcomeStatus.FINISHED,
        ending=None if error else transcript.ending,
        error=error,
        transcript_sha256=store.artifacts.put_bytes(transcript.model_dump_json().encode()),
        sandbox="bubblewrap",
        code_version="test",
        cost_usd=0.25,
        started_at=NOW,
        finished_at=NOW,
    )


def _node(node_id: str, score: float | Unscored | None, **fields: object) -> NodeScore:
    value = score if isinstance(score, float) else None
    found = {"score": value, "coverage": float(value is not None)} | fields
    return NodeScore(id=node_id, requirement="x", weight=1, **found)


def _tree(scores: tuple[float | Unscored, ...]) -> NodeScore:
    known = [score for score in scores if isinstance(score, float)]
    leaves = tuple(
        _node(
            leaf.id,
            score,
            leaf=LeafScore(
                leaf_id=leaf.id,
                score=score if isinstance(score, float) else None,
                verifier="judge:some/model@1",
                reason="as it was",
                unscored=None if isinstance(score, float) else score,
            ),
        )
        for score, leaf in zip(scores, LEAVES.children, strict=True)
    )
    mean = sum(known) / len(known) if known else None
    return _node("root", mean, coverage=len(known) / len(scores), children=leaves)


@pytest.fixture
def stored_run(home, new_task, open_store) -> Callable[..., dict[str, list[str]]]:
    """Store a run by the scores of its agents, a task for each; returns trial ids by agent.

    A score that is a text is the infrastructure error that the trial was lost to; None: due. One
    that is several holds those of leaves, or why they have none.
    """

    def store_run(
        scores: Mapping[str, tuple[float | str | tuple[float | Unscored, ...] | None, ...]],
        run_id: str = "run-1",
        created_at: datetime = NOW,
        checkpoints: Checkpoint = LEAVES,
    ) -> dict[str, list[str]]:
        store = open_store(load_settings().address)
        tasks = [
            new_task(f"task-{n}", checkpoints=checkpoints)
            for n in range(max(map(len, scores.values())))
        ]
        agents = tuple(AgentSpec.parse(name) for name in scores)
        run = Run(
            id=run_id,
            status=RunStatus.COMPLETED,
            config=RunConfig(bank="test", agents=agents),
            release_hash=store.add_release("test", tuple(tasks), {}).hash,
            code_version="test",
            created_at=created_at,
        )
        store.add_run(run)
        transcript = Transcript(events=(), final_answer="", ending=Ending.FINISHED)
        planned: dict[str, list[str]] = {}
        for agent, own in scores.items():
            for task, score in zip(tasks, own, strict=True):
                trial = first_trial(run.id, agent, task.content_hash, task, 0)
                store.plan_trials([trial])
                planned.setdefault(agent, []).append(trial.id)
                if score is None:
                    continue
                error = score if isinstance(score, str) else None
                store.record_outcome(finished_outcome(store, trial.id, error, transcript))
                if error is None:
                    root = _tree(score) if isinstance(score, tuple) else _node("root", score)
                    store.record_score(
                        TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ()
                    )
        store.close()
        return planned

    return store_run
