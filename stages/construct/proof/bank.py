"""Prove tasks: each is run with its reference solution and with the agent that does nothing.

The trials are ordinary ones, executed and scored by the ordinary stages, in a run with the purpose
`proof`. They are found by task hash, so no task is run twice. A task without a reference that a
program decides is proven by workspaces instead (`workspaces.py`), a planning case by marks
(`plans.py`).
"""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import stages.execute.work as executing
import stages.score.work as scoring
from stages.construct.proof.plans import is_proven_by_marks, prove_cases
from stages.construct.proof.verdict import NOP, REFERENCE, ProofVerdict, TaskProof, verdict_on
from stages.construct.proof.workspaces import (
    Proven,
    is_proven_by_workspaces,
    prove_workspaces,
)
from stages.prepare.work import HOME, first_trial, require, require_usable
from taskdata.errors import BadTaskData
from taskdata.schema.run import (
    Run,
    RunConfig,
    RunStatus,
    SandboxName,
    Trial,
    TrialResult,
)
from taskdata.schema.task import Task
from taskdata.store import Store
from taskdata.version import code_version

_BANK = "proof"


def prove_bank(
    store: Store,
    tasks: Sequence[Task],
    files: Mapping[str, Path],
    sandbox: SandboxName,
    proven: Proven = lambda proof: None,
    home: Path = HOME,
    *,
    faults: bool = False,
) -> dict[str, TaskProof]:
    """Return the proof of each task by content hash; earlier trials are reused.

    Args:
        store: Holds the trials.
        tasks: Tasks with distinct ids.
        files: Input files by sha256 that are not in the artifact store yet.
        sandbox: The provider to run them with.
        proven: Called with each proof as soon as it exists.
        home: Folder for files that take long to make, such as a database server's.
        faults: Whether programs that score a task also run over ground truth with faults.

    Raises:
        SandboxFailed: the sandbox does not work on this machine.
    """
    usable, proofs = _sorted_out(tasks)
    for proof in proofs.values():
        proven(proof)
    proofs |= prove_cases([t for t in usable.values() if is_proven_by_marks(t)], proven)
    by_workspaces = [task for task in usable.values() if is_proven_by_workspaces(task)]
    proofs |= prove_workspaces(store.artifacts, by_workspaces, sandbox, home, proven, faults=faults)
    played = {h: task for h, task in usable.items() if h not in proofs}
    known = {trial.task_hash for trial in store.proof_trials(played)}
    _plan(store, [task for h, task in played.items() if h not in known], files, sandbox)
    trials = store.proof_trials(played)
    _play(store, trials, home)
    verdicts = _verdicts(store, played, trials)
    for proof in verdicts.values():
        proven(proof)
    return proofs | verdicts


def _sorted_out(tasks: Sequence[Task]) -> tuple[dict[str, Task], dict[str, TaskProof]]:
    """Return the tasks that can be used, and the proofs of the others, by content hash."""
    usable: dict[str, Task] = {}
    refused: dict[str, TaskProof] = {}
    for task in tasks:
        try:
            require_usable(task)
            usable[task.content_hash] = task
        except BadTaskData as exc:
            refused[task.content_hash] = _refused(task, exc)
    return usable, refused


def _refused(task: Task, error: BadTaskData) -> TaskProof:
    return TaskProof(
        task_id=task.id,
        task_hash=task.content_hash,
        verdict=ProofVerdict.FAILED,
        reasons=(str(error),),
    )


def _plan(
    store: Store, tasks: Sequence[Task], files: Mapping[str, Path], sandbox: SandboxName
) -> None:
    """Store a proof run over the tasks, with the possible trials of each."""
    if not tasks:
        return
    agents = (REFERENCE, NOP)
    config = RunConfig(
        bank=_BANK,
        agents=agents,
        refinement_rounds=0,
        sandbox=sandbox,
        trials_per_worker=len(os.sched_getaffinity(0)),
        purpose="proof",
    )
    require(config)
    release = store.add_release(_BANK, tasks, files)
    # The id depends on the tasks, so an interrupted pass continues the same run.
    run_id = f"proof-{release.hash[:16]}"
    if store.find_run(run_id) is None:
        store.add_run(
            Run(
                id=run_id,
                status=RunStatus.RUNNING,
                config=config,
                release_hash=release.hash,
                code_version=code_version(),
                created_at=datetime.now(UTC),
            )
        )
    store.plan_trials(
        [
            first_trial(run_id, agent.name, task.content_hash, task, 0)
            for task in tasks
            for agent in agents
            if task.reference is not None or agent != REFERENCE
        ]
    )


def _play(store: Store, trials: Sequence[Trial], home: Path) -> None:
    """Execute and score the trials that are not finished."""
    for run_id in dict.fromkeys(trial.run_id for trial in trials):
        ours = {trial.id for trial in trials if trial.run_id == run_id}
        to_execute = ours.intersection(executing.due(store, run_id, 0))
        if to_execute:
            executing.execute_trials(store, run_id, sorted(to_execute), {}, home)
        to_score = ours.intersection(scoring.due(store, run_id, 0))
        if to_score:
            scoring.score_trials(store, run_id, sorted(to_score), home=home)
        if not (executing.due(store, run_id, 0) or scoring.due(store, run_id, 0)):
            store.set_run_status(run_id, RunStatus.COMPLETED)


def _verdicts(
    store: Store, tasks: Mapping[str, Task], trials: Sequence[Trial]
) -> dict[str, TaskProof]:
    results: dict[tuple[str, str], TrialResult] = {}
    for run_id in dict.fromkeys(trial.run_id for trial in trials):
        for result in store.results(run_id):
            results.setdefault((result.trial.task_hash, result.trial.agent), result)
    return {
        task_hash: verdict_on(
            task, results.get((task_hash, REFERENCE.name)), results.get((task_hash, NOP.name))
        )
        for task_hash, task in tasks.items()
    }
