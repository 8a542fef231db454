"""Harbor's verifiers: `tests/test.sh` in the task's image, which writes its reward into a file.

The workspace holds what the agent left, at the path of the task's working folder. `/tests` exists
in this sandbox only, and `/logs` belongs to this run only. Neither the exit code nor the output is
the verdict.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from environments.ports import Completed, Sandbox, Workspace
from environments.sandbox.collect import collect
from environments.sandbox.docker.places import Place
from environments.sandbox.endings import why_stopped
from environments.sandbox.identity import give_to_programs
from environments.sandbox.imaged import let_files_be_run
from stages.score.check import Verdict
from stages.score.scripts.conventions.base import Files, Staged
from stages.score.scripts.left import Left
from stages.score.scripts.verdicts import ScriptBroken, ScriptDoubted, said_by, told
from taskdata.artifacts import ArtifactStore
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import ScriptCheck
from taskdata.schema.task import Resources, Task

REWARDS = ("reward.txt", "reward.json")
"""Names of the reward file below /logs/verifier; the first existing one counts."""

_TESTS, _LOGS = "tests", "logs"
_REWARD_KEY = "reward"
_MAX_REWARD_BYTES = 1 << 16
_IN_FOLDER = 'cd "$1" && exec /bin/bash "/$2"'
_LACKING = re.compile(
    r"^/(?:tests|solution)/[^:\n]+: line \d+: (?P<program>[^:/\n]+): command not found"
    r"|(?P<network>Could not resolve|Temporary failure (?:in name resolution|resolving)"
    r"|Network is unreachable)",
    re.MULTILINE,
)
"""Messages of shells and programs that miss a program or the network."""


class HarborConvention:
    """Runs the shell programs of Harbor's tasks, which need an image."""

    places: Sequence[Place] = (
        Place(f"input/{_TESTS}", f"/{_TESTS}"),
        Place(_LOGS, f"/{_LOGS}", writable=True),
    )

    def staged(self, task: Task, left: Left, artifacts: ArtifactStore) -> Staged:
        """Return the tests, and what the agent left as the workspace; blocks."""
        tests = task.environment.evaluation if task.environment else ()
        return Staged(
            {file.path: artifacts.read_bytes(file.sha256) for file in tests},
            {file.name: artifacts.read_bytes(file.sha256) for file in left.files},
        )

    def make_ready(self, workspace: Workspace) -> None:
        """Make the folder for the reward, and all files executable, as their modes are unknown."""
        logs = workspace.root / _LOGS
        for folder in (logs, logs / "verifier", logs / "agent"):
            folder.mkdir()
            folder.chmod(0o777)
        give_to_programs(logs, workspace.output)
        let_files_be_run(workspace.output)

    def command(
        self, task: Task, script: ScriptCheck, sandbox: Sandbox, launched: datetime
    ) -> list[str]:
        """Return the command line, which starts the program in the task's working folder."""
        if task.image is None:
            raise BadTaskData(f"the program {script.entry!r} needs the image of its task")
        return shell_program(task.image.workdir, script.entry)

    def verdicts(
        self,
        script: ScriptCheck,
        leaf_ids: Sequence[str],
        completed: Completed,
        workspace: Workspace,
    ) -> Mapping[str, Verdict]:
        """Return the reward as the score of every leaf; blocks."""
        if stopped := why_stopped(completed):
            raise ScriptBroken(told(f"{script.entry} was stopped: {stopped}", said_by(completed)))
        verdict = read_reward(script, completed, _rewards(workspace))
        return dict.fromkeys(leaf_ids, verdict)


def shell_program(workdir: str, path: str) -> list[str]:
    """Return the command line that starts the shell program at `/path` in the working folder."""
    return ["/bin/bash", "-c", _IN_FOLDER, "bash", workdir, path]


def missing_in(output: str) -> str | None:
    """Return the program or network that a shell program missed by its output, None if none."""
    found = _LACKING.search(output)
    return found and (found["program"] or "a network")


def read_reward(script: ScriptCheck, completed: Completed, rewards: Files) -> Verdict:
    """Return the reward as a verdict; a reward of 1 is the full score.

    Args:
        script: The program.
        completed: How the program ended; its output is the evidence.
        rewards: The reward files that the program left, by name.

    Raises:
        ScriptDoubted: the program missed a program or a network and gave less than 1.
        ScriptBroken: the program left no reward, or one that is no number from 0 to 1.
    """
    output = said_by(completed)
    missing = missing_in(output)
    lack = f"{script.entry} cannot work here: it needs {missing}; " if missing else ""
    name = next((name for name in REWARDS if name in rewards), None)
    if name is None:
        how = f"it ended with exit code {completed.exit_code}"
        fault = f"{lack}{script.entry} left no {' or '.join(REWARDS)}: {how}"
        raise ScriptBroken(told(fault, output))
    reward = _number(rewards[name], name)
    if reward is None or not 0 <= reward <= 1:
        fault = f"{lack}{name} of {script.entry} has no number from 0 to 1"
        raise ScriptBroken(told(fault, output))
    given = f"{script.entry} gives {reward:g} of 1"
    verdict = Verdict(10.0 * reward, told(given, output))
    if lack and reward != 1:
        raise ScriptDoubted(told(f"{lack}{given}", output), verdict)
    return verdict


def _number(content: bytes, name: str) -> float | None:
    """Return the number in a reward file, None if there is not exactly one."""
    text = content.decode("utf-8", "replace").strip()
    try:
        value: Any = json.loads(text) if name.endswith(".json") else float(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        # Some verifiers add the parts of the reward under other keys.
        value = value.get(_REWARD_KEY, *(value.values() if len(value) == 1 else ()))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def _rewards(workspace: Workspace) -> dict[str, bytes]:
    limits = Resources(max_files=len(REWARDS) + 62, disk_mb=16)
    left = collect(workspace.root / _LOGS / "verifier", limits, workspace.root / "rewards")
    return {
        file.name: file.path.read_bytes()
        for file in left.files
        if file.name in REWARDS and file.path.stat().st_size <= _MAX_REWARD_BYTES
    }
