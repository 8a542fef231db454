"""What a harness is: it turns an assignment into a transcript."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from environments.metering.proxy import MeteringProxy
from environments.ports import ModelClient, Sandbox
from environments.tool_runtime.toolbox import Toolbox
from stages.execute.dialogue.journal import Journal
from stages.execute.dialogue.simulated_user import TalkingUser
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import TaskBrief
from taskdata.schema.transcript import Transcript


@dataclass(frozen=True)
class Assignment:
    """Everything a harness is given for one trial; nothing here holds a checkpoint."""

    brief: TaskBrief
    agent: AgentSpec
    tools: Toolbox
    model: ModelClient | None = None
    """None for harnesses that need no model."""
    journal: Journal = field(default_factory=Journal)
    """Where the harness records events as they happen, so that a failure loses nothing."""
    input_folder: Path | None = None
    """The task's files on this host, for models that read files; None: files are not shown."""
    sandbox: Sandbox | None = None
    """The trial's sandbox, for harnesses that run programs of their own in it."""
    user: TalkingUser | None = None
    """The simulated user who answers at the end of the agent's turn; None: the task has none."""
    proxy: MeteringProxy | None = None
    """Proxy to the agent's model, for harnesses that bring a loop of their own."""


class Harness(Protocol):
    """A way of working on a task; one instance per trial.

    The agent's own failures are endings of the transcript. Failures that are not the agent's are
    raised: `ModelUnavailable` (its own model), `ToolUnavailable`, `ModelRejected`,
    `SandboxFailed`.
    """

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use, as recorded with the outcome; None without any."""
        ...

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until it is done or a budget is spent."""
        ...
