"""Proves tasks that a program scores, by running it over workspaces whose verdict is known.

An empty workspace must not pass, or for a task with an image, its initial workspace. The task's
ground truth must pass, or the workspace that its solution leaves. A workspace with an unrelated
note shows whether the program looks at the content of files.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from environments.ports import SandboxProvider
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from environments.services.starting import ServiceHost
from stages.construct.proof.adversarial.files import faulty_files
from stages.construct.proof.verdict import FULL_SCORE, ProofVerdict, TaskProof
from stages.score.scripts.left import Left
from stages.score.scripts.program_text import (
    Programs,
    programs_of,
    unused_checks,
    uses_database,
)
from stages.score.scripts.running import ScriptRunner
from stages.score.scripts.solving import begun_files
from stages.score.scripts.staging import groundtruth_path
from taskdata.artifacts import ArtifactStore
from taskdata.errors import NightshiftError, SandboxFailed
from taskdata.schema.run import Deliverable, SandboxName
from taskdata.schema.scores import LeafScore
from taskdata.schema.task import Task

_LABEL = "prove"
_LAUNCHED = datetime(2026, 1, 1, tzinfo=UTC)
"""The same for every proof, so that a program that looks at the date says the same again."""
_NOTE = ("note.txt", b"Nothing to see here.\n")
_HEAD, _TAIL = 120, 280
"""Characters of what a program said; it says last what it found wrong."""
_CHECKS_NOTHING = "it checks nothing: a workspace with any file in it passes"

Proven = Callable[[TaskProof], None]
"""Told of each proof as soon as there is one."""


def is_proven_by_workspaces(task: Task) -> bool:
    """Return whether nobody plays the task: it has no reference, and its program's word is all."""
    return task.is_decided_by_program and task.has_one_workspace and task.reference is None


def prove_workspaces(
    artifacts: ArtifactStore,
    tasks: Sequence[Task],
    sandbox: SandboxName,
    home: Path,
    proven: Proven = lambda proof: None,
    *,
    faults: bool = False,
) -> dict[str, TaskProof]:
    """Return the proof of each task by content hash; a program is run for each workspace.

    Args:
        artifacts: Holds the tasks' files.
        tasks: Tasks for which `is_proven_by_workspaces` holds.
        sandbox: The provider to run the programs with, as many at once as there are cores.
        home: Folder for files that take long to make, such as a database server's.
        proven: Called with each proof.
        faults: Whether programs that read files only also run over ground truth with faults.

    Raises:
        SandboxFailed: the sandbox does not work on this machine.
    """
    if not tasks:
        return {}
    provider = sandbox_provider(sandbox)
    if reason := provider.unavailable():
        raise SandboxFailed(f"sandbox {sandbox}: {reason}")
    note = _stored(artifacts, *_NOTE)
    with reaped(), working_folder() as folder:
        host = ServiceHost(artifacts, provider, folder, home, _LABEL)
        prover = _Prover(host, ScriptRunner(host), artifacts, note, faults)
        proving = partial(_prove_one, prover, proven=proven)
        return asyncio.run(_prove_all(proving, provider, tasks))


async def _prove_all(
    proving: Callable[[Task], Awaitable[TaskProof]],
    provider: SandboxProvider,
    tasks: Sequence[Task],
) -> dict[str, TaskProof]:
    at_once = len(os.sched_getaffinity(0))
    free = asyncio.Semaphore(at_once)

    async def one(task: Task) -> tuple[str, TaskProof]:
        async with free:
            return task.content_hash, await proving(task)

    async with provider.pooled(_LABEL, at_once, len(tasks)):
        return dict(await asyncio.gather(*map(one, tasks)))


@dataclass(frozen=True)
class _Prover:
    host: ServiceHost
    runner: ScriptRunner
    artifacts: ArtifactStore
    note: Deliverable
    tries_faults: bool

    async def scores(self, task: Task, delivered: Iterable[Deliverable]) -> Sequence[LeafScore]:
        """Return what the task's program says of a workspace."""
        left = Left(tuple(delivered), launched=_LAUNCHED)
        return tuple((await self.runner.score_left(task, left)).values())


async def _prove_one(prover: _Prover, task: Task, proven: Proven) -> TaskProof:
    try:
        proof = await _proof(prover, task)
    except NightshiftError as exc:
        # One task whose sandbox failed, or whose files are gone, must not cost the others.
        proof = _of(task, None, (str(exc),))
    proven(proof)
    return proof


async def _proof(prover: _Prover, task: Task) -> TaskProof:
    programs = await asyncio.to_thread(_programs, prover.artifacts, task)
    begun = await begun_files(prover.host, task)
    empty = await prover.scores(task, begun)
    if reasons := _unscored(empty):
        return _of(task, ProofVerdict.UNPROVEN, reasons, weaknesses=_weaknesses((), programs))
    files_only = not uses_database(programs)
    solution = await prover.runner.solved(task)
    truth = solution.files if solution else _groundtruth(task)
    played = await prover.scores(task, truth) if truth else ()
    noted = await prover.scores(task, (*begun, prover.note))
    faults = [f"an empty workspace passes: {_said(empty)}"] if _passes(empty) else []
    doubts = list(_doubts(truth, played, noted))
    if played and not _passes(played) and not _unscored(played):
        found = f"its ground truth does not pass: {_said(played)}"
        # Files are only a part of what a program looks at that asks a database, too.
        doubt = solution.doubt if solution else ""
        (faults if files_only and not doubt else doubts).append(f"{found}{doubt and '; '}{doubt}")
    verdict = ProofVerdict.UNPROVEN if doubts else ProofVerdict.PROVEN
    weaknesses = _weaknesses(noted, programs)
    if prover.tries_faults and files_only and _passes(played):
        weaknesses += await _unnoticed(prover, task, truth)
    return _of(
        task,
        ProofVerdict.FAILED if faults else verdict,
        (*faults, *doubts),
        reference_score=_score(played) if files_only else None,
        nop_score=_score(empty),
        coverage=1.0,
        weaknesses=weaknesses,
    )


async def _unnoticed(prover: _Prover, task: Task, truth: Sequence[Deliverable]) -> tuple[str, ...]:
    """Return the faults in the ground truth with which the program still passes."""
    read, keep = prover.artifacts.read_bytes, partial(_stored, prover.artifacts)
    tried = await asyncio.to_thread(list, faulty_files(truth, read, keep, task.content_hash))
    found = [(what, await prover.scores(task, files)) for what, files in tried]
    return tuple(f"its program does not notice it: {what}" for what, s in found if _passes(s))


def _doubts(
    truth: Sequence[Deliverable], played: Sequence[LeafScore], noted: Sequence[LeafScore]
) -> Iterator[str]:
    if not truth:
        yield "it has no ground truth to try"
    yield from _unscored(played)
    if _passes(noted):
        yield _CHECKS_NOTHING


def _weaknesses(noted: Sequence[LeafScore], programs: Programs) -> tuple[str, ...]:
    found = [_CHECKS_NOTHING] if _passes(noted) else []
    if unused := unused_checks(programs):
        found.append(f"it defines checks and never calls them: {', '.join(unused)}")
    return tuple(found)


def _programs(artifacts: ArtifactStore, task: Task) -> Programs:
    """Return the task's own programs, without packages that it shares with others; blocks."""
    files = task.environment.evaluation if task.environment else ()
    return programs_of((f for f in files if f.path.startswith("evaluation/")), artifacts.read_bytes)


def _groundtruth(task: Task) -> tuple[Deliverable, ...]:
    # For a task with an image, its solution makes the expected workspace.
    has_files = task.environment is not None and task.image is None
    files = task.environment.groundtruth if task.environment and has_files else ()
    return tuple(
        Deliverable(name=groundtruth_path(f.path), sha256=f.sha256, size_bytes=f.size_bytes)
        for f in files
    )


def _stored(artifacts: ArtifactStore, name: str, content: bytes) -> Deliverable:
    sha256 = artifacts.put_bytes(content)
    return Deliverable(name=name, sha256=sha256, size_bytes=len(content))


def _passes(scores: Sequence[LeafScore]) -> bool:
    return bool(scores) and all(leaf.score == FULL_SCORE for leaf in scores)


def _score(scores: Sequence[LeafScore]) -> float | None:
    known = [leaf.score for leaf in scores if leaf.score is not None]
    return sum(known) / len(known) if known else None


def _unscored(scores: Sequence[LeafScore]) -> tuple[str, ...]:
    return tuple(_shown(leaf.reason) for leaf in scores if leaf.score is None)


def _said(scores: Sequence[LeafScore]) -> str:
    return "; ".join(_shown(leaf.reason) for leaf in scores)


def _shown(reason: str) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]} … {text[-_TAIL:]}"


def _of(
    task: Task, verdict: ProofVerdict | None, reasons: tuple[str, ...], **measured: object
) -> TaskProof:
    facts = {"task_id": task.id, "task_hash": task.content_hash, "verdict": verdict}
    return TaskProof.model_validate({**facts, "reasons": reasons, **measured})
