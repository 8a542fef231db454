"""Runs the programs of a task over what a trial left, each in a sandbox of its own.

A program that fails where nothing was delivered, too, is at fault itself: its leaves are unscored
and say nothing about the agent. If it works there, what was delivered made it fail.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TypeVar

from environments.sandbox.imaged import provider_of_image
from environments.sandbox.workspace import open_workspace
from environments.services.live import LiveServices, live_services
from environments.services.program import ServiceStopped
from environments.services.running import NO_STATE, NOT_KEPT
from environments.services.starting import ServiceHost
from stages.score.check import Verdict
from stages.score.scripts.conventions.choosing import convention_of
from stages.score.scripts.left import Left
from stages.score.scripts.solving import Solved, begun_files, solved
from stages.score.scripts.verdicts import ScriptBroken, ScriptDoubted, ScriptLacks
from taskdata.schema.checkpoint import ScriptCheck
from taskdata.schema.limits import KeptState
from taskdata.schema.run import TrialOutcome
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.service import FOLDER as SERVICES
from taskdata.schema.task import Resources, Task
from taskdata.schema.transcript import Transcript

_logger = logging.getLogger(__name__)

_WALL_FACTOR, _SPARE_SECONDS = 3, 60
"""On a busy machine a program takes longer than the CPU time that it uses."""
_LAUNCHED = datetime(2026, 1, 1)
_FULL_SCORE = 10.0
_ANY = "leaf"


Key = TypeVar("Key")
Made = TypeVar("Made")


class ScriptRunner:
    """Runs programs for one event loop."""

    def __init__(self, host: ServiceHost) -> None:
        self._host = host
        self._solved: dict[str, asyncio.Task[Solved | None]] = {}
        self._passing: dict[tuple[str, ScriptCheck], asyncio.Task[bool | None]] = {}
        self._working: dict[tuple[str, str, ScriptCheck], asyncio.Task[bool]] = {}

    async def score(
        self, task: Task, outcome: TrialOutcome, transcript: Transcript | None
    ) -> dict[str, LeafScore]:
        """Return the scores of the leaves that a program of the task scores, by leaf.

        Raises:
            BadTaskData: A program is of a kind that cannot be run.
            SandboxFailed: The sandbox failed, not the program.
            ServiceFailed: A service that a program needs cannot be started, or was lost.
            NightshiftError: The artifact store has no longer a file of the task or the trial.
        """
        left = Left(
            tuple(file for file in outcome.deliverables if not task.is_answer(file.name)),
            outcome.started_at,
            outcome.final_answer,
            transcript,
            _kept(outcome),
            outcome.rejected_files,
            f"trial {outcome.trial_id}",
        )
        return await self.score_left(task, left)

    async def score_left(self, task: Task, left: Left) -> dict[str, LeafScore]:
        """Return the scores of the leaves that a program scores; raises what `score` raises."""
        leaves: dict[ScriptCheck, list[str]] = {}
        for leaf in task.checkpoints.leaves():
            if isinstance(leaf.verifier, ScriptCheck):
                leaves.setdefault(leaf.verifier, []).append(leaf.id)
        if not leaves:
            return {}
        scores: dict[str, LeafScore] = {}
        async with self._services(task, left.kept) as services:
            for script, leaf_ids in leaves.items():
                label = _label(task, script)
                if lacking := left.lacks(script):
                    reason, cause = _not_there(lacking, left)
                    scores |= {i: _unscored(i, label, reason, cause) for i in leaf_ids}
                    continue
                try:
                    verdicts = await self._verdicts(task, script, leaf_ids, left, services)
                except ScriptDoubted as exc:
                    if await self._counts(task, script):
                        scores |= {i: _scored(i, label, exc.verdict) for i in leaf_ids}
                        continue
                    _logger.warning("%s: %s", left.name or task.id, exc)
                    cause = Unscored.SCRIPT_FAILED
                    scores |= {i: _unscored(i, label, str(exc), cause) for i in leaf_ids}
                except ScriptBroken as exc:
                    # What a service of the trial lacks may be gone because of the agent.
                    lacks = isinstance(exc, ScriptLacks) and not script.services
                    cause = Unscored.SCRIPT_FAILED if lacks else await self._cause(task, script)
                    _logger.warning("%s: %s: %s", left.name or task.id, cause.value, exc)
                    scores |= {i: _unscored(i, label, str(exc), cause) for i in leaf_ids}
                else:
                    scores |= {i: _scored(i, label, verdict) for i, verdict in verdicts.items()}
        return scores

    @asynccontextmanager
    async def _services(
        self, task: Task, kept: Mapping[str, KeptState] | None
    ) -> AsyncIterator[LiveServices]:
        """Yield the services that the task's programs need, in the state of the trial.

        Without `kept` they are in the state in which a trial finds them.
        """
        scripts = _scripts(task)
        names = {
            name
            for script in scripts
            for name in script.services
            if kept is None or all(other in kept for other in script.services)
        }
        seconds = max(script.seconds for script in scripts)
        async with live_services(task.services, names, kept, seconds, self._host) as services:
            yield services

    async def _verdicts(
        self,
        task: Task,
        script: ScriptCheck,
        leaf_ids: list[str],
        left: Left,
        services: LiveServices,
    ) -> Mapping[str, Verdict]:
        limits = Resources(
            cpu_seconds=script.seconds,
            wall_seconds=_WALL_FACTOR * script.seconds + _SPARE_SECONDS,
            memory_mb=script.memory_mb,
            disk_mb=task.resources.disk_mb,
        )
        host, convention = self._host, convention_of(script)
        provider = provider_of_image(host.provider, task.image, *convention.places)
        files = await asyncio.to_thread(convention.staged, task, left, host.artifacts)
        try:
            ports = await services.renewed(script.services)
            async with open_workspace(host.folder, files.input, files.begun) as workspace:
                await asyncio.to_thread(convention.make_ready, workspace)
                async with provider.open(workspace, limits, host.label, ports) as sandbox:
                    command = convention.command(task, script, sandbox, left.launched)
                    completed = await sandbox.run(command)
                verdicts = await asyncio.to_thread(
                    convention.verdicts, script, leaf_ids, completed, workspace
                )
            # What a program says about a service that it had lost is about nobody's work.
            await services.require_alive(script.services)
        except ServiceStopped as error:
            raise ScriptBroken(f"a service of {script.entry} ended: {error}") from error
        return verdicts

    async def solved(self, task: Task) -> Solved | None:
        """Return what the task's own solution leaves, None without one; it runs once per runner.

        Raises the errors of `stages.score.scripts.solving.solved`.
        """
        made = _once(self._solved, task.content_hash, lambda: solved(self._host, task))
        return await asyncio.shield(made)

    async def _counts(self, task: Task, script: ScriptCheck) -> bool:
        """Return whether a reward counts of a program that seemed to miss something.

        What a program says can be what the agent wrote. So the reward counts unless the program
        has no verdict here either on the task's own solution or on the workspace as it begins.
        """
        passes = await self._passes_solution(task, script)
        if passes is not False:
            return passes is True
        return await self._works(task, script)

    async def _passes_solution(self, task: Task, script: ScriptCheck) -> bool | None:
        """Return whether a program lets the task's solution pass; None: it has no verdict on it.

        A task without a solution has none that passes.
        """
        solution = await self.solved(task)
        if solution is None:
            return False
        left = Left(solution.files, _LAUNCHED)
        made = _once(
            self._passing,
            (task.content_hash, script),
            lambda: self._passes(task, script, left),
        )
        return await asyncio.shield(made)

    async def _passes(self, task: Task, script: ScriptCheck, left: Left) -> bool | None:
        try:
            async with self._services(task, None) as services:
                verdicts = await self._verdicts(task, script, [_ANY], left, services)
        except ScriptBroken:
            return None
        return verdicts[_ANY].score == _FULL_SCORE

    async def _cause(self, task: Task, script: ScriptCheck) -> Unscored:
        """Return who is at fault that a program gave no verdict, by trying it at the beginning."""
        works = await self._works(task, script)
        return Unscored.CHECK_FAILED if works else Unscored.SCRIPT_FAILED

    async def _works(self, task: Task, script: ScriptCheck) -> bool:
        """Return whether a program has a verdict on the workspace as the task begins."""
        key = (task.id, _label(task, script), script)
        made = _once(self._working, key, lambda: self._tried_at_the_beginning(task, script))
        return await asyncio.shield(made)

    async def _tried_at_the_beginning(self, task: Task, script: ScriptCheck) -> bool:
        leaf_ids = [leaf.id for leaf in task.checkpoints.leaves() if leaf.verifier == script]
        begun = Left(await begun_files(self._host, task), _LAUNCHED)
        try:
            async with self._services(task, None) as services:
                await self._verdicts(task, script, leaf_ids, begun, services)
        except ScriptBroken:
            return False
        return True


def _once(
    known: dict[Key, asyncio.Task[Made]], key: Key, make: Callable[[], Coroutine[None, None, Made]]
) -> asyncio.Task[Made]:
    """Return what is made once for each key; what failed is made again."""
    task = known.get(key)
    if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
        task = known[key] = asyncio.create_task(make())
    return task


def _scripts(task: Task) -> Sequence[ScriptCheck]:
    found = (leaf.verifier for leaf in task.checkpoints.leaves())
    return [verifier for verifier in found if isinstance(verifier, ScriptCheck)]


def _kept(outcome: TrialOutcome) -> dict[str, KeptState]:
    ran = outcome.limits.services if outcome.limits else ()
    return {service.name: service.kept for service in ran if service.kept is not None}


def _not_there(name: str, left: Left) -> tuple[str, Unscored]:
    """Return why a service cannot be started in its final state, and whether it was asked about."""
    place = f"{SERVICES}/{name}:"
    for line in left.rejected:
        # The agent's use of the service is why there is no state, so nothing is gained by it.
        if line.startswith((f"{place} {NO_STATE}", f"{place} {NOT_KEPT}")):
            return line, Unscored.CHECK_FAILED
    return f"{place} its final state was not kept with the trial", Unscored.NOT_OBSERVED


def _label(task: Task, script: ScriptCheck) -> str:
    programs = task.environment.evaluation if task.environment else ()
    version = next(file.sha256[:12] for file in programs if file.path == script.entry)
    return f"script:{script.entry}@{version}"


def _scored(leaf_id: str, label: str, verdict: Verdict) -> LeafScore:
    return LeafScore(leaf_id=leaf_id, score=verdict.score, verifier=label, reason=verdict.reason)


def _unscored(leaf_id: str, label: str, reason: str, cause: Unscored) -> LeafScore:
    return LeafScore(leaf_id=leaf_id, score=None, verifier=label, reason=reason, unscored=cause)
