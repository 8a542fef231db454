"""Where trajectories come from: what people supplied, finished trials, reference solutions."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence

from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from stages.construct.planning.trajectory import Trajectory, of_solution, of_trial
from stages.construct.proof.recording import record_chain, task_files
from stages.construct.proof.verdict import FULL_SCORE
from taskdata.errors import BadTaskData, SandboxFailed
from taskdata.schema.run import SandboxName
from taskdata.schema.task import Task
from taskdata.store import Store

_logger = logging.getLogger(__name__)
_ROUNDING = 1e-6


def trajectories_of(
    store: Store,
    tasks: Sequence[Task],
    supplied: Mapping[str, Trajectory],
    sandbox: SandboxName,
) -> dict[str, Trajectory]:
    """Return a trajectory of each task that has one, by task id.

    It is what people supplied for just this task; else the shortest of the finished trials with
    the full score; else the reference solution, which is played if its results were not recorded.

    Raises:
        SandboxFailed: the sandbox does not work on this machine, and a reference has to be played.
    """
    found, unplayed = known_trajectories(store, tasks, supplied)
    return found | _played(store, unplayed, sandbox)


def known_trajectories(
    store: Store, tasks: Sequence[Task], supplied: Mapping[str, Trajectory]
) -> tuple[dict[str, Trajectory], list[Task]]:
    """Return the trajectories that are known already, and the tasks to be played for theirs."""
    by_hash = {task.content_hash: task for task in tasks if task.planning is None}
    found = {
        task.id: supplied[task.id]
        for task_hash, task in by_hash.items()
        if task.id in supplied and supplied[task.id].task_hash == task_hash
    }
    found |= _of_trials(store, [task for task in by_hash.values() if task.id not in found])
    unplayed = list[Task]()
    for task in by_hash.values():
        if task.id in found or task.reference is None or not task.reference.steps:
            continue
        if all(step.result is not None for step in task.reference.steps):
            found[task.id] = of_solution(task, task.reference)
        else:
            unplayed.append(task)
    return found, unplayed


def _of_trials(store: Store, tasks: Iterable[Task]) -> dict[str, Trajectory]:
    wanted = {task.content_hash: task for task in tasks}
    shortest = dict[str, Trajectory]()
    for run in store.runs():
        for result in store.each_result(run.id) if wanted else ():
            task = wanted.get(result.trial.task_hash)
            score = result.root_score
            if task is None or score is None or score < FULL_SCORE - _ROUNDING:
                continue
            transcript = store.transcript(result.trial.id)
            made = None if transcript is None else of_trial(task, result.trial.id, transcript)
            best = shortest.get(task.id)
            if made is not None and (best is None or len(made.steps) < len(best.steps)):
                shortest[task.id] = made
    return shortest


def _played(store: Store, tasks: Sequence[Task], sandbox: SandboxName) -> dict[str, Trajectory]:
    if not tasks:
        return {}
    provider, found = sandbox_provider(sandbox), dict[str, Trajectory]()
    if reason := provider.unavailable():
        raise SandboxFailed(f"sandbox {sandbox}: {reason}")
    with reaped(), working_folder() as folder:
        for task in tasks:
            try:
                files = task_files(store, task)
                recording = asyncio.run(record_chain(task, files, provider, folder))
                if recording.faults:
                    raise BadTaskData(recording.faults[0])
                found[task.id] = of_solution(task, recording.solution)
            except BadTaskData as exc:
                _logger.warning("no planning case is made of task %s: %s", task.id, exc)
    return found
