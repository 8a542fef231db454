"""Phase 3 of a trial: collect and store what the agent and the task's services left."""

import asyncio
from collections.abc import Mapping
from functools import partial

from environments.sandbox.collect import Collected, collect
from stages.execute.attempt import RunningAttempt, Stored
from stages.execute.cases.planner import with_plan
from stages.execute.cases.programs import read_written
from stages.execute.dialogue.journal import Journal
from stages.execute.imported.taking import taken_in
from stages.execute.preparing import Prepared, Surroundings
from taskdata.schema.agent import AgentSpec
from taskdata.schema.asked_again import FOLDER as ASKED_AGAIN
from taskdata.schema.run import Deliverable, TrialOutcome
from taskdata.schema.self_verification import self_verification
from taskdata.schema.service import FOLDER
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending, Transcript
from taskdata.store import Store


async def collect_work(
    attempt: RunningAttempt,
    prepared: Prepared,
    transcript: Transcript,
    answers: Mapping[str, bytes],
) -> Stored:
    """Store what the agent left, once no process of the agent can change it any more.

    Args:
        attempt: The attempt.
        prepared: What the agent worked with.
        transcript: The record of its work.
        answers: The answers of tools that were called again, by file name.

    Raises:
        ServiceFailed: a server was lost, or a service for another reason than the agent's use.
        SandboxFailed: the deliverables cannot be read.
    """
    task, deadline = prepared.task, attempt.deadline
    store = partial(_store, attempt.shared.worker.store, attempt.journal, task, transcript, answers)
    deadline.step = "collecting and storing what the agent left"
    if prepared.kind.predicts or (task.planning is not None and not prepared.kind.is_program):
        # Files of predicted steps were written by the reference solution, not by the agent, and
        # a planner writes none.
        return await asyncio.to_thread(store, Collected((), ()))
    if prepared.surroundings.servers is not None:
        await prepared.surroundings.servers.require_alive()
    look = partial(collect, prepared.workspace.output, task.resources)
    if not task.services:
        return await asyncio.to_thread(lambda: store(_without_ours(look(), task)))
    own = await asyncio.to_thread(look)
    deadline.step = "collecting what its services hold"
    found = await _with_final_state(own, task, prepared.surroundings)
    deadline.step = "storing what was collected"
    return await asyncio.to_thread(store, found)


def take_in_results(attempt: RunningAttempt, agent: AgentSpec, task: Task) -> TrialOutcome:
    """Return the outcome of a system that ran elsewhere, without any sandbox; blocks.

    Raises:
        BadTaskData: the result cannot be read.
        NightshiftError: there is no result for the task.
    """
    worker, draft = attempt.shared.worker, attempt.draft
    draft.sandbox = "none"
    attempt.deadline.step = "taking in its results"
    with taken_in(agent, task, worker.folder) as result:
        closed = attempt.journal.close(Ending.FINISHED, result.final_answer)
        transcript = closed.model_copy(update={"is_outcome_only": True})
        if task.planning is not None:
            transcript = with_plan(transcript, read_written(result.final_answer))
        own = _without_ours(result.files, task)
        stored = _store(worker.store, attempt.journal, task, transcript, {}, own)
    return draft.finished(stored, result.effort.counts, wall_seconds=result.effort.seconds)


def _store(
    store: Store,
    journal: Journal,
    task: Task,
    transcript: Transcript,
    answers: Mapping[str, bytes],
    collected: Collected,
) -> Stored:
    """Store a transcript, the pictures that it refers to, answers and files; blocks."""
    kept = tuple(
        Deliverable(name=name, sha256=store.artifacts.put_bytes(data), size_bytes=len(data))
        for name, data in answers.items()
    )
    deliverables = tuple(
        Deliverable(
            name=file.name,
            sha256=store.artifacts.put_file(file.path),
            size_bytes=file.path.stat().st_size,
        )
        for file in collected.files
    )
    journal.pictures.store(store.artifacts)
    written = store.artifacts.put_bytes(transcript.model_dump_json().encode())
    asked = [
        f"output/{file.name}"
        for file in deliverables
        if any(spec.matches(file.name) for spec in task.deliverables)
    ]
    return Stored(
        transcript,
        written,
        deliverables + kept,
        collected.rejected,
        journal.pictures.stored,
        self_verification(transcript, asked),
    )


async def _with_final_state(collected: Collected, task: Task, around: Surroundings) -> Collected:
    """Return what an agent left, together with the final state of the services.

    Files that the agent put in the services' folder are left out. Must be called when no process of
    the agent is running any more.

    Raises:
        ServiceFailed: a service was lost, and not because of the agent's use.
    """
    state = await around.services.final_state()
    own = _without_ours(collected, task)
    return Collected((*own.files, *state.files), (*own.rejected, *state.missing))


def _without_ours(collected: Collected, task: Task) -> Collected:
    """Return what an agent left, without files in folders that Nightshift adds to a trial."""
    ours = {}
    if task.asks_again:
        ours[ASKED_AGAIN] = "answers of tools have"
    if task.services:
        ours[FOLDER] = "the task's services have"
    posing = [file for file in collected.files if file.name.partition("/")[0] in ours]
    if not posing:
        return collected
    folders = ((file.name, file.name.partition("/")[0]) for file in posing)
    reasons = (f"{name!a} is in {folder}/, which {ours[folder]}" for name, folder in folders)
    kept = tuple(file for file in collected.files if file not in posing)
    return Collected(kept, (*collected.rejected, *reasons))
