"""What a harness is: something that turns an assignment into a transcript."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from environments.metering.proxy import MeteringProxy
from environments.ports import ModelClient, Sandbox
from environments.tools.host.definition import TrialMoney
from environments.tools.session.turns import AgentContext
from stages.execute.dialogue.journal import Journal
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import TaskBrief
from taskdata.schema.tool import ToolResult, ToolSpec
from taskdata.schema.transcript import ToolCall, Transcript


class Tools(Protocol):
    """The tools of one trial."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools on offer; there may be more during a trial, never fewer."""
        ...

    def attach(self, context: AgentContext) -> None:
        """Let the tools about the agent's context act on this one."""
        ...

    def pay_from(self, money: TrialMoney) -> None:
        """Let the models of tools be paid from this, and held to what is left of it."""
        ...

    def offer(self, *names: str) -> None:
        """Offer more tools of the catalogue from now on."""
        ...

    def show(self, chars: int) -> None:
        """Show at most so much of each result from now on; the rest can be read in pages."""
        ...

    def shown(self, result: ToolResult) -> ToolResult:
        """Return a result as the agent is shown it."""
        ...

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call; the agent's mistakes come back as error results."""
        ...


@dataclass(frozen=True)
class Assignment:
    """Everything a harness is given for one trial; nothing here holds a checkpoint."""

    brief: TaskBrief
    agent: AgentSpec
    tools: Tools
    model: ModelClient | None = None
    """None for harnesses that need none."""
    journal: Journal = field(default_factory=Journal)
    """Where the harness records as it goes, so that a failure loses nothing."""
    input_folder: Path | None = None
    """The task's files on this host, for models that take them; None: they are not shown."""
    sandbox: Sandbox | None = None
    """Of the trial, for harnesses that run programs of their own in it."""
    proxy: MeteringProxy | None = None
    """To the agent's model, for harnesses that bring a loop of their own."""


class Harness(Protocol):
    """A way of working on a task; one instance per trial.

    The agent's own failures are endings of the transcript. What is not the agent's doing is
    raised: `ModelUnavailable` of its model alone, `ToolUnavailable`, `ModelRejected`,
    `SandboxFailed`.
    """

    @property
    def prompt_version(self) -> str | None:
        """The prompts in use, as recorded with the outcome; None without any."""
        ...

    async def run(self, assignment: Assignment) -> Transcript:
        """Work on the task until it is done or a budget is spent."""
        ...
