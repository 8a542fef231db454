"""Programs of tasks over what trials left, run in the real sandbox."""

import asyncio
import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from environments.sandbox.providers import sandbox_provider
from environments.services.starting import ServiceHost
from stages.score.scripts.running import ScriptRunner
from taskdata.banks.loader import load_bank
from taskdata.schema.checkpoint import Checkpoint, ScriptCheck
from taskdata.schema.input_file import InputFile
from taskdata.schema.limits import SandboxLimits
from taskdata.schema.run import Deliverable, OutcomeStatus, TrialOutcome
from taskdata.schema.scores import LeafScore
from taskdata.schema.service import PostgresqlService
from taskdata.schema.task import Task, TaskEnvironment
from taskdata.schema.transcript import Ending, Transcript

BANK = Path(__file__).parent / "bank"


@pytest.fixture(scope="session")
def bank():
    return load_bank(str(BANK))


@pytest.fixture
def scored(store, tmp_path, bank):
    """Return a function that has a task's programs score what a trial left."""
    provider = sandbox_provider("bubblewrap")
    reason = provider.unavailable()
    if reason:
        pytest.skip(reason)
    for path in bank.files.values():
        store.artifacts.put_file(path)

    def score(
        task: Task,
        files: dict[str, bytes] | None = None,
        answer: str = "",
        transcript: Transcript | None = None,
        limits: SandboxLimits | None = None,
        rejected: tuple[str, ...] = (),
    ) -> dict[str, LeafScore]:
        outcome = TrialOutcome(
            trial_id="t1",
            attempt=1,
            status=OutcomeStatus.FINISHED,
            ending=Ending.FINISHED,
            deliverables=tuple(
                Deliverable(name=n, sha256=store.artifacts.put_bytes(b), size_bytes=len(b))
                for n, b in (files or {}).items()
            ),
            final_answer=answer,
            limits=limits,
            rejected_files=rejected,
            sandbox="bubblewrap",
            code_version="test",
            started_at=datetime.now(UTC),
            finished_at=datetime.now(UTC),
        )

        async def run() -> dict[str, LeafScore]:
            host = ServiceHost(store.artifacts, provider, tmp_path / "work", tmp_path, "test")
            runner = ScriptRunner(host)
            return await runner.score(task, outcome, transcript)

        return asyncio.run(run())

    return score


@pytest.fixture
def task_with(store, new_task):
    """Return a function that makes a task with one program."""

    def make(
        code: str,
        entry: str = "evaluation/main.py",
        has: tuple[PostgresqlService, ...] = (),
        **settings: object,
    ) -> Task:
        sha256 = store.artifacts.put_bytes(code.encode())
        assert sha256 == hashlib.sha256(code.encode()).hexdigest()
        program = InputFile(path=entry, sha256=sha256, size_bytes=len(code))
        script = ScriptCheck(entry=entry, **settings)
        leaf = Checkpoint(id="leaf", requirement="r", verifier=script)
        return new_task(
            checkpoints=Checkpoint(id="root", requirement="r", children=(leaf,)),
            environment=TaskEnvironment(evaluation=(program,), services=has),
        )

    return make
