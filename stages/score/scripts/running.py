"""Runs the programs of a task over what a trial left, each in a sandbox of its own.

A program that fails where nothing was delivered, too, is at fault itself: its leaves are unscored
and say nothing about the agent. If it works there, what was delivered made it fail.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from environments.ports import Sandbox, Workspace
from environments.sandbox.collect import collect
from environments.sandbox.workspace import open_workspace
from environments.services.live import LiveServices, live_services
from environments.services.program import ServiceStopped
from environments.services.running import NO_STATE, NOT_KEPT
from environments.services.starting import ServiceHost
from stages.score.check import Verdict
from stages.score.scripts.staging import (
    FOLDERS,
    GROUNDTRUTH,
    PROGRAMS,
    TRANSCRIPT,
    WORKSPACE,
    staged,
)
from stages.score.scripts.verdicts import (
    MAX_RESULT_BYTES,
    RESULT,
    ScriptBroken,
    ScriptLacks,
    ScriptRun,
    read_verdicts,
)
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import ScriptCheck
from taskdata.schema.limits import KeptState
from taskdata.schema.run import Deliverable, TrialOutcome
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.service import FOLDER as SERVICES
from taskdata.schema.task import Resources, Task, launch_time
from taskdata.schema.transcript import Transcript

_logger = logging.getLogger(__name__)

_INPUT = PurePosixPath("/workspace/input")
_LAUNCHER = "environments.scripts.launch"
_WALL_FACTOR, _SPARE_SECONDS = 3, 60
"""On a busy machine a program takes longer than the CPU time that it uses."""
_LAUNCHED = datetime(2026, 1, 1)

_Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Left:
    """What a program looks at: all that somebody left of a task."""

    files: Sequence[Deliverable]
    launched: datetime
    answer: str = ""
    transcript: Transcript | None = None
    kept: Mapping[str, KeptState] | None = None
    """The final state of services, by name; None: they are as a trial finds them."""
    rejected: Sequence[str] = ()
    """Files and states that were not kept, with reasons."""
    name: str = ""
    """Names it in the log."""

    def lacks(self, script: ScriptCheck) -> str | None:
        """Return a service of the program whose state was not kept."""
        if self.kept is None:
            return None
        return next((name for name in script.services if name not in self.kept), None)


class ScriptRunner:
    """Runs programs for one event loop."""

    def __init__(self, host: ServiceHost) -> None:
        self._host = host
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
            outcome.deliverables,
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
        files = await asyncio.to_thread(
            staged, task, left.files, left.answer, left.transcript, self._host.artifacts
        )
        scores: dict[str, LeafScore] = {}
        async with self._services(task, left.kept) as services:
            for script, leaf_ids in leaves.items():
                label = _label(task, script)
                if lacking := left.lacks(script):
                    reason, cause = _not_there(lacking, left)
                    scores |= {i: _unscored(i, label, reason, cause) for i in leaf_ids}
                    continue
                try:
                    verdicts = await self._verdicts(
                        script, leaf_ids, files, left.launched, services
                    )
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
        script: ScriptCheck,
        leaf_ids: list[str],
        files: _Files,
        launched: datetime,
        services: LiveServices,
    ) -> Mapping[str, Verdict]:
        limits = Resources(
            cpu_seconds=script.seconds,
            wall_seconds=_WALL_FACTOR * script.seconds + _SPARE_SECONDS,
            memory_mb=script.memory_mb,
        )
        host = self._host
        try:
            ports = await services.renewed(script.services)
            async with open_workspace(host.folder, files) as workspace:
                for folder in FOLDERS:
                    (workspace.input / folder).mkdir(mode=0o755, exist_ok=True)
                async with host.provider.open(workspace, limits, host.label, ports) as sandbox:
                    completed = await sandbox.run(_command(script, sandbox, launched))
                result = None
                if script.verdict == "json_file":
                    result = await asyncio.to_thread(_result, workspace, limits)
            # What a program says about a service that it had lost is about nobody's work.
            await services.require_alive(script.services)
        except ServiceStopped as error:
            raise ScriptBroken(f"a service of {script.entry} ended: {error}") from error
        return read_verdicts(script, leaf_ids, ScriptRun(completed, result))

    async def _cause(self, task: Task, script: ScriptCheck) -> Unscored:
        """Return who is at fault that a program gave no verdict, by trying it on nothing."""
        key = (task.id, _label(task, script), script)
        if key not in self._working:
            self._working[key] = asyncio.create_task(self._works(task, script))
        works = await asyncio.shield(self._working[key])
        return Unscored.CHECK_FAILED if works else Unscored.SCRIPT_FAILED

    async def _works(self, task: Task, script: ScriptCheck) -> bool:
        files = await asyncio.to_thread(staged, task, (), "", None, self._host.artifacts)
        leaf_ids = [leaf.id for leaf in task.checkpoints.leaves() if leaf.verifier == script]
        try:
            async with self._services(task, None) as services:
                await self._verdicts(script, leaf_ids, files, _LAUNCHED, services)
        except ScriptBroken:
            return False
        return True


def _result(workspace: Workspace, limits: Resources) -> bytes | None:
    """Return the content of `result.json`, None if there is none or it is too large; blocks."""
    left = collect(workspace.output, limits)
    path = next((file.path for file in left.files if file.name == RESULT), None)
    if path is None or path.stat().st_size > MAX_RESULT_BYTES:
        return None
    return path.read_bytes()


def _command(script: ScriptCheck, sandbox: Sandbox, launched: datetime) -> list[str]:
    """Return the command line, with the options that Toolathlon's programs take."""
    options = [
        *("--agent_workspace", str(_INPUT / WORKSPACE)),
        *("--groundtruth_workspace", str(_INPUT / GROUNDTRUTH)),
        *("--res_log_file", str(_INPUT / TRANSCRIPT)),
        *("--launch_time", launch_time(launched)),
    ]
    match PurePosixPath(script.entry).suffix:
        case ".py":
            launcher = [*sandbox.python(), "-P", "-m", _LAUNCHER, str(_INPUT / PROGRAMS)]
            return [*launcher, script.entry, *options]
        case ".sh":
            return ["/bin/sh", str(_INPUT / PROGRAMS / script.entry), *options]
    raise BadTaskData(f"the program {script.entry!r} cannot be run: its name ends in .py or .sh")


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
