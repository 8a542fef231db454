"""What a format has to say about the programs that score its tasks."""

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
"""Contents by relative path."""


@dataclass(frozen=True)
class Staged:
    """What a program finds in its sandbox."""

    input: Files
    """Below `/workspace/input`; read-only."""
    begun: Files = field(default_factory=dict)
    """Below `/workspace/output`; may be changed."""


class Convention(Protocol):
    """A format's way to run a program over what was left of a task."""

    @property
    def places(self) -> Sequence[Place]:
        """Where its programs see folders of the workspace, if the task has an image of its own."""
        ...

    def staged(self, task: Task, left: Left, artifacts: ArtifactStore) -> Staged:
        """Return the files for a program's sandbox; blocks.

        Raises:
            NightshiftError: the artifact store has no longer one of the files.
        """
        ...

    def make_ready(self, workspace: Workspace) -> None:
        """Add what a program finds besides files; the sandbox is opened next."""
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
            ScriptBroken: the program was stopped, failed, or said nothing that is a verdict.
        """
        ...
