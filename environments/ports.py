"""The seams of this room on one screen: what can be swapped, as small protocols."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolResult, ToolSpec
from taskdata.schema.transcript import ToolCall, Usage


@dataclass(frozen=True)
class Message:
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant message."""
    call_id: str | None = None
    """Of a tool message: the call it answers."""
    is_error: bool = False


@dataclass(frozen=True)
class ModelRequest:
    """What a harness, or a judge, asks of a model."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_tokens: int = 4096
    temperature: float | None = None
    stop: Sequence[str] = ()
    json_schema: dict[str, Any] | None = None
    """Ask for structured output that fits this schema."""
    timeout_seconds: float = 300.0


@dataclass(frozen=True)
class ModelReply:
    """What a model answered."""

    text: str
    model: str
    """Model id as reported by the provider."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    stop_reason: str = ""
    seconds: float = 0.0
    cached: bool = False
    """Answered from the store and paid for elsewhere: usage and cost do not count again."""


class ModelClient(Protocol):
    """A model behind a provider; holds one connection pool, is shared by all trials of a process.

    `reply` raises `ModelUnavailable` when retries ran out and `ModelRejected` when the provider
    said no. SDK retries are off: this is the one layer that retries.
    """

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer to `request`."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True)
class Completed:
    """A program that ran in a sandbox, however it ended."""

    exit_code: int
    """Negative: the signal that killed it."""
    stdout: bytes
    stderr: bytes
    seconds: float
    limit: Literal["wall", "cpu", "output", "memory", "processes", "disk"] | None = None
    """The limit that stopped it, where that is known."""


@dataclass(frozen=True)
class Workspace:
    """A trial's folder on the host: `input/` is read-only inside, `output/` is collected."""

    root: Path

    @property
    def input(self) -> Path:
        """Copies of the task's files; `/workspace/input` inside."""
        return self.root / "input"

    @property
    def output(self) -> Path:
        """The only writable folder that outlives a call; `/workspace/output` inside."""
        return self.root / "output"


class Sandbox(Protocol):
    """An opened sandbox over one workspace; programs run in it one after another or at once."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        wall_seconds: float | None = None,
    ) -> Completed:
        """Run a program in `/workspace` under the limits and return how it ended.

        Raises `SandboxFailed` when the sandbox itself cannot start it.
        """
        ...

    def python(self) -> Sequence[str]:
        """Return the argv prefix of the Python inside that can import `environments`."""
        ...


class SandboxProvider(Protocol):
    """A way to make sandboxes: bubblewrap, docker."""

    name: str

    def unavailable(self) -> str | None:
        """Return None if this provider works here, else why not and what to do."""
        ...

    def open(
        self, workspace: Workspace, resources: Resources, label: str = ""
    ) -> AbstractAsyncContextManager[Sandbox]:
        """Yield a started sandbox over `workspace`; nothing of it is left afterwards."""
        ...


class Tool(Protocol):
    """A tool as a harness sees it."""

    @property
    def spec(self) -> ToolSpec:
        """Name, purpose, argument schema."""
        ...

    async def run(self, arguments: dict[str, Any], sandbox: Sandbox) -> ToolResult:
        """Run with validated arguments; the agent's mistakes come back as error results."""
        ...
