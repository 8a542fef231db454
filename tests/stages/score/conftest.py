"""Deliverables as views, one of each kind, running a check on them, and trials to score."""

from datetime import UTC, datetime

import pytest

from stages.score.evidence import TrialEvidence
from stages.score.guide.example_files import ANSWER, VIEWS
from stages.score.library import run_check
from taskdata.schema.checkpoint import Check
from taskdata.schema.run import Deliverable, OutcomeStatus, TrialOutcome
from taskdata.schema.transcript import Ending


@pytest.fixture
def views():
    return dict(VIEWS)


@pytest.fixture(scope="session")
def run():
    """Return a function that runs one check on the views, or on others."""

    def check(name: str, deliverable: str | None, args: dict, views=VIEWS, answer: str = ANSWER):
        trial = TrialEvidence(views=views, delivered=tuple(views), final_answer=answer)
        return run_check("leaf", Check(name=name, deliverable=deliverable, args=args), trial)

    return check


@pytest.fixture
def finished(store, plan_trial):
    """Plan a trial and record its outcome with these deliverables."""
    count = iter(range(100))

    def record(
        run,
        task,
        files: dict[str, bytes] | None = None,
        agent: str = "nop",
        **changes: object,
    ) -> str:
        trial = plan_trial(run, task, agent, repetition=next(count))
        fields: dict[str, object] = {
            "trial_id": trial.id,
            "attempt": 1,
            "status": OutcomeStatus.FINISHED,
            "ending": Ending.FINISHED,
            "deliverables": tuple(
                Deliverable(name=n, sha256=store.artifacts.put_bytes(b), size_bytes=len(b))
                for n, b in (files or {}).items()
            ),
            "sandbox": "bubblewrap",
            "code_version": "test",
            "started_at": datetime.now(UTC),
            "finished_at": datetime.now(UTC),
        }
        store.record_outcome(TrialOutcome.model_validate(fields | changes))
        return trial.id

    return record
