"""The interface by which a format says how the programs that score its tasks are run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from environments.ports import Completed, Sandbox, Workspace
from environments.sandbox.docker.places import Place
from stages.score.check import Verdict
from stages.score.scripts.left import Left
from taskdata.artifacts import ArtifactStore
from taskdata.schema.checkpoint import ScriptCheck
from taskdata.schema.task import Task

Files = Mapping[str, bytes]
"""Content of files by relative path."""


@dataclass(frozen=True)
class Staged:
    """The files that a program finds in its sandbox."""

    input: Files
    """Files below `/workspace/input`, which are read-only."""
    begun: Files = field(default_factory=dict)
    """Files below `/workspace/output`, which the program may change."""


class Convention(Protocol):
    """A format's way to run a program over what an agent left."""

    @property
    def places(self) -> Sequence[Place]:
        """Paths under which programs in a task's own image see folders of the workspace."""
        ...

    def staged(self, task: Task, left: Left, artifacts: ArtifactStore) -> Staged:
        """Return the files for a program's sandbox; blocks.

        Raises:
            NightshiftError: the artifact store no longer has one of the files.
        """
        ...

    def make_ready(self, workspace: Workspace) -> None:
        """Add what a program needs besides files, before the sandbox is opened."""
        ...

    def command(
        self, task: Task, script: ScriptCheck, sandbox: Sandbox, launched: datetime
    ) -> list[str]:
        """Return the command line.

        Raises:
            BadTaskData: the program is of a kind that cannot be run.
        """
        ...

    def verdicts(
        self,
        script: ScriptCheck,
        leaf_ids: Sequence[str],
        completed: Completed,
        workspace: Workspace,
    ) -> Mapping[str, Verdict]:
        """Return the verdict on each leaf that the program scores; blocks.

        Raises:
            ScriptBroken: the program was stopped, failed, or gave no valid verdict.
        """
        ...
