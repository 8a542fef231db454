"""The seams of this room on one screen: what can be swapped, as small protocols."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from taskdata.errors import Misuse
from taskdata.schema.agent import ReasoningEffort
from taskdata.schema.limits import EnforcedLimit
from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolResult, ToolSpec
from taskdata.schema.transcript import ToolCall, Usage
from taskdata.schema.usage import FailedAttempt

MediaType = Literal[
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/gif",
    "audio/wav",
    "audio/mpeg",
    "application/pdf",
]


@dataclass(frozen=True)
class Media:
    """A picture, a recording or a PDF that goes to a model with a message."""

    media_type: MediaType
    data: bytes = field(repr=False)
    name: str = "attachment"
    """File name, for providers that show one."""


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
    media: tuple[Media, ...] = ()
    """Of a user message: shown before its text."""
    replay: tuple[dict[str, Any], ...] = ()
    """Of an assistant message: `ModelReply.replay` of the reply that it was, unchanged."""
    wire: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What clients keep of it by wire format, for a conversation is sent again at every turn."""

    def __post_init__(self) -> None:
        if self.media and self.role != "user":
            raise Misuse(f"a {self.role} message carries media: only a user message can")


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
    reasoning_effort: ReasoningEffort | None = None
    """How much a reasoning model may think; None: as its provider has it."""
    timeout_seconds: float = 900.0
    max_usd: float | None = None
    """Most that all attempts together may cost: one that could go beyond is not made; None: no
    limit."""
    failed: list[FailedAttempt] = field(default_factory=list, init=False, repr=False, compare=False)
    """Attempts that brought no answer, noted as they fail: known of a call that is cut off, too."""


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
    """From the question to the answer, without `waited_seconds`."""
    waited_seconds: float = 0.0
    """Spent waiting for the provider's rate limits and the run's money: not the model's time."""
    replay: tuple[dict[str, Any], ...] = ()
    """What the provider wants back with this turn (thinking, reasoning items); opaque JSON."""
    thinking: str = ""
    """What can be read of the model's thoughts; empty where the provider hides them."""
    failed_attempts: tuple[FailedAttempt, ...] = ()
    """The attempts before the one that brought this answer, in order."""
    cached: bool = False
    """Answered from the store and paid for elsewhere: usage and cost do not count again."""
    is_kept: bool = field(default=False, compare=False)
    """Answered from the store, whoever paid: no attempt failed for it now."""


class ModelClient(Protocol):
    """A model behind a provider; holds one connection pool, is shared by all trials of a process.

    `reply` raises `ModelUnavailable` when retries ran out, `ModelRejected` when the provider said
    no and `BudgetExhausted` when there is no money for an attempt; all carry their
    `failed_attempts`. SDK retries are off: this is the one layer that retries.
    """

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer to `request`."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True)
class Generated:
    """A picture or a clip that a model made."""

    data: bytes = field(repr=False)
    model: str
    """Model id as reported by the provider, or as it was asked for."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None


class ImageModel(Protocol):
    """A model that draws; fails like a `ModelClient`."""

    async def draw(self, prompt: str) -> Generated:
        """Return a picture as the bytes of a file."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class VideoModel(Protocol):
    """A model that films; fails like a `ModelClient`."""

    async def film(self, prompt: str) -> Generated:
        """Return a clip as the bytes of an MP4 file."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True)
class SearchHit:
    """One result of a search: cleaned text, cut to a bounded length."""

    title: str
    url: str
    snippet: str


class SearchProvider(Protocol):
    """A search over the web, or over documents."""

    name: str

    async def search(self, query: str, count: int) -> tuple[SearchHit, ...]:
        """Return up to `count` results, best first.

        Raises `ToolUnavailable` when it cannot be reached, refuses us, or has no such recording.
        """
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


@dataclass(frozen=True)
class Mount:
    """A host file or folder at `target` inside.

    Providers resolve `source` each time they show it, so the folder that holds it must be one that
    no sandbox can write to: whoever can replace a name decides what is mounted.
    """

    source: Path
    target: str
    writable: bool = False
    """Programs inside may change it; what they put into it counts as disk space."""


@dataclass(frozen=True)
class ExposedPort:
    """A service that sandboxed programs reach on their own loopback, though they have no network.

    A relay inside carries each connection through a Unix socket, which is all that is shared.
    """

    port: int
    """Where programs find it, on 127.0.0.1 inside; from 1024."""
    socket: Path
    """The Unix socket on the host that a service listens on, alone in its folder.

    Anybody may write to it and enter the folder, as programs have a user of their own: who may not
    is kept out by the folder around, which no sandbox can write to. The socket need not be there
    yet, and may be made anew.
    """
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that tell programs about it, such as `PGHOST`."""
    allows: tuple[str, ...] = ()
    """Patterns of the hosts that are reached through it; none of a service that is all there is."""


class Process(Protocol):
    """A program that goes on running in a sandbox, talked to over its standard streams."""

    async def write(self, data: bytes) -> None:
        """Hand `data` to its standard input, at the pace at which it reads.

        Raises `BrokenPipeError` when it does not read any more.
        """
        ...

    async def read(self) -> bytes:
        """Return what it has written to standard output since; nothing once that has ended.

        What is not read makes it wait, so a flood fills no memory of ours.
        """
        ...

    async def renew(self) -> bool:
        """Let it serve another call, and return whether it can, since it still runs.

        It has the CPU time of its resources once more. Where an earlier call has filled the disk it
        has been ended, so that the next call is not stopped for it.
        """
        ...

    async def close(self, grace_seconds: float = 0.0) -> Completed:
        """End its input, give it time to leave, kill the rest, and return how it ended.

        `stdout` is empty, because that was read; `stderr` is kept. Calling again changes nothing.
        """
        ...


@dataclass(frozen=True)
class SandboxFacts:
    """What an opened sandbox really is, whatever was asked for."""

    enforced: tuple[EnforcedLimit, ...]
    image: str | None = None
    """Digest of the image that the programs see, where there is one."""


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

    async def start(
        self,
        argv: Sequence[str],
        *,
        mounts: Sequence[Mount] = (),
        reserves_memory: bool = False,
    ) -> Process:
        """Start a program that may live as long as the sandbox, with temporary folders of its own.

        All limits but the wall time hold, for it alone; standard error may be as long as the
        output of a run. It sees `mounts` besides the workspace. Closing the sandbox closes it.
        One that `reserves_memory`, as Node.js does, may reserve more than it has: what counts is
        what it uses.
        Raises `SandboxFailed` when the sandbox itself cannot start it.
        """
        ...

    def python(self) -> Sequence[str]:
        """Return the argv prefix of the Python inside that can import `environments`."""
        ...

    def facts(self) -> SandboxFacts:
        """Return what holds for its programs."""
        ...


class SandboxProvider(Protocol):
    """A way to make sandboxes: bubblewrap, docker."""

    name: str

    def unavailable(self) -> str | None:
        """Return None if this provider works here, else why not and what to do."""
        ...

    def open(
        self,
        workspace: Workspace,
        resources: Resources,
        label: str = "",
        exposed_ports: Sequence[ExposedPort] = (),
    ) -> AbstractAsyncContextManager[Sandbox]:
        """Yield a started sandbox over `workspace`; nothing of it is left afterwards.

        Its programs reach the services behind `exposed_ports` on their loopback, and no other.
        Raises `Misuse` where two of these ports clash or one is not allowed, `SandboxFailed` for a
        fault of the host.
        """
        ...

    def pooled(self, label: str, at_once: int, expected: int) -> AbstractAsyncContextManager[None]:
        """Within the block, have sandboxes ready before they are asked for, where that helps.

        Args:
            label: As of the sandboxes that will be opened.
            at_once: How many may wait at a time.
            expected: How many will be opened within the block.
        """
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
