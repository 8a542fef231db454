"""Adversarial proof of tasks whose trials have been played: see `stages.construct.proof.bank`."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.renderers.worker import READERS
from environments.sandbox.providers import sandbox_provider
from stages.construct.proof.adversarial.play import Played, resistance_of
from stages.construct.proof.verdict import REFERENCE, TaskProof, earns_all
from stages.construct.proof.workspaces import is_proven_by_workspaces
from stages.score.library import kind_of_file
from stages.score.rendering.views import Renderer
from taskdata.errors import NightshiftError, SandboxFailed
from taskdata.schema.input_file import InputFile
from taskdata.schema.run import Deliverable, SandboxName, TrialResult
from taskdata.schema.task import Task
from taskdata.schema.views import (
    AudioView,
    ImageView,
    VideoView,
    View,
)
from taskdata.store import Store

_LABEL = "prove"
_MEDIA = (AudioView, ImageView, VideoView)

Tried = Callable[[TaskProof], None]
"""Called with each proof as soon as it exists."""


def try_bank(
    store: Store,
    tasks: Sequence[Task],
    proofs: Mapping[str, TaskProof],
    sandbox: SandboxName,
    tried: Tried = lambda proof: None,
) -> dict[str, TaskProof]:
    """Return the proofs, complemented by the scores of cheats and the faults that trees notice.

    A proof is returned unchanged if its trials were lost, if its task has no tree to try, or if a
    program scores the task. No trial runs again: cheats and mutants are made from rendered views.

    Args:
        store: Holds the trials, and the tasks' files.
        tasks: The tasks.
        proofs: The proofs that `prove_bank` returned, by content hash.
        sandbox: The provider whose sandboxes render the tasks' files.
        tried: Called with each proof that was complemented.

    Raises:
        SandboxFailed: the sandbox does not work on this machine.
    """
    due = {
        task.content_hash: task
        for task in tasks
        if not is_proven_by_workspaces(task) and proofs[task.content_hash].run_id is not None
    }
    if not due:
        return dict(proofs)
    provider = sandbox_provider(sandbox)
    if reason := provider.unavailable():
        raise SandboxFailed(f"sandbox {sandbox}: {reason}")
    with reaped(), working_folder() as folder:
        renderer = Renderer(provider, store.artifacts, folder, _LABEL)
        bench = _Bench(store, renderer, proofs, _references(store, due, proofs), tried)
        found = asyncio.run(bench.try_all(list(due.values())))
    return dict(proofs) | found


class _Bench:
    """Tries the trees of tasks, as many at once as there are cores."""

    def __init__(
        self,
        store: Store,
        renderer: Renderer,
        proofs: Mapping[str, TaskProof],
        references: Mapping[str, TrialResult],
        tried: Tried,
    ) -> None:
        self._store = store
        self._renderer = renderer
        self._proofs = proofs
        self._references = references
        self._tried = tried

    async def try_all(self, tasks: Sequence[Task]) -> dict[str, TaskProof]:
        free = asyncio.Semaphore(len(os.sched_getaffinity(0)))

        async def one(task: Task) -> tuple[str, TaskProof]:
            async with free:
                proof = await self._try(task)
            self._tried(proof)
            return task.content_hash, proof

        try:
            return dict(await asyncio.gather(*map(one, tasks)))
        finally:
            await self._renderer.close()

    async def _try(self, task: Task) -> TaskProof:
        proof = self._proofs[task.content_hash]
        try:
            inputs = {file.path: await self._view(file) for file in _readable(task)}
            played = await asyncio.to_thread(self._played, task)
            found = await resistance_of(task, inputs, played)
        except NightshiftError as exc:
            # If the files of one task are gone, the other tasks are still tried.
            return proof.model_copy(update={"verdict": None, "reasons": (str(exc),)})
        return proof.resisting(found)

    async def _view(self, file: InputFile) -> View:
        kept = Deliverable(name=file.path, sha256=file.sha256, size_bytes=file.size_bytes)
        return (await self._renderer.render(kept)).view

    def _played(self, task: Task) -> Played | None:
        return _left(self._store, self._references.get(task.content_hash))


def left_by_reference(store: Store, proof: TaskProof) -> Played | None:
    """Return what the reference left; None if no reference reaches the full score."""
    task_hash = proof.task_hash
    return _left(store, _references(store, {task_hash}, {task_hash: proof}).get(task_hash))


def _left(store: Store, result: TrialResult | None) -> Played | None:
    if result is None or result.outcome is None or result.score is None:
        return None
    return Played(
        views={one.name: one.view for one in store.rendered(result.trial.id)},
        answer=result.outcome.final_answer,
        leaves={leaf.leaf_id: leaf for leaf in result.score.leaves},
        score=result.root_score or 0.0,
    )


def _references(
    store: Store, tasks: Collection[str], proofs: Mapping[str, TaskProof]
) -> dict[str, TrialResult]:
    """Return the trials of references with the full score by task hash."""
    found: dict[str, TrialResult] = {}
    runs = (proofs[task_hash].run_id for task_hash in tasks if earns_all(proofs[task_hash]))
    for run_id in dict.fromkeys(run_id for run_id in runs if run_id is not None):
        for result in store.results(run_id):
            if result.trial.agent == REFERENCE.name and result.trial.task_hash in tasks:
                found.setdefault(result.trial.task_hash, result)
    return {h: result for h, result in found.items() if earns_all(proofs[h])}


def _readable(task: Task) -> Iterator[InputFile]:
    """Yield the files that a cheat can copy from: text, or the same kind as a deliverable."""
    asked = {kind_of_file(deliverable.name) for deliverable in task.deliverables}
    for file in task.files:
        kind = kind_of_file(file.path)
        if PurePosixPath(file.path).suffix.lower() in READERS and (
            kind in asked or kind not in _MEDIA
        ):
            yield file
