"""Runs programs as Toolathlon does: with options that name folders, all of them read-only."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from environments.ports import Completed, Sandbox, Workspace
from environments.sandbox.collect import collect
from environments.sandbox.docker.places import Place
from stages.score.check import Verdict
from stages.score.scripts.conventions.base import Staged
from stages.score.scripts.left import Left
from stages.score.scripts.staging import (
    FOLDERS,
    GROUNDTRUTH,
    PROGRAMS,
    TRANSCRIPT,
    WORKSPACE,
    staged,
)
from stages.score.scripts.verdicts import MAX_RESULT_BYTES, RESULT, ScriptRun, read_verdicts
from taskdata.artifacts import ArtifactStore
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import ScriptCheck
from taskdata.schema.environment import launch_time
from taskdata.schema.task import Resources, Task

_INPUT = PurePosixPath("/workspace/input")
_LAUNCHER = "environments.scripts.launch"


class ToolathlonConvention:
    """Runs the Python and shell programs of Toolathlon's pools and of Nightshift's own tasks."""

    places: Sequence[Place] = ()

    def staged(self, task: Task, left: Left, artifacts: ArtifactStore) -> Staged:
        """Return the programs, the ground truth, and everything that the agent left; blocks."""
        return Staged(staged(task, left.files, left.answer, left.transcript, artifacts))

    def make_ready(self, workspace: Workspace) -> None:
        """Make the folders that must exist even if they are empty."""
        for folder in FOLDERS:
            (workspace.input / folder).mkdir(mode=0o755, exist_ok=True)

    def command(
        self, task: Task, script: ScriptCheck, sandbox: Sandbox, launched: datetime
    ) -> list[str]:
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
        raise BadTaskData(
            f"the program {script.entry!r} cannot be run: its name ends in .py or .sh"
        )

    def verdicts(
        self,
        script: ScriptCheck,
        leaf_ids: Sequence[str],
        completed: Completed,
        workspace: Workspace,
    ) -> Mapping[str, Verdict]:
        """Return the verdict from the exit code, the last line or `result.json`; blocks."""
        result = _result(workspace) if script.verdict == "json_file" else None
        return read_verdicts(script, leaf_ids, ScriptRun(completed, result))


def _result(workspace: Workspace) -> bytes | None:
    """Return the content of `result.json`, None if there is none or it is too large; blocks."""
    left = collect(workspace.output, Resources())
    path = next((file.path for file in left.files if file.name == RESULT), None)
    if path is None or path.stat().st_size > MAX_RESULT_BYTES:
        return None
    return path.read_bytes()
