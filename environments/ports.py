"""The protocols of this room: small interfaces whose implementations can be swapped."""

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
    most_tokens: int | None = None
    """The most that it counts at its model's provider; None: not known."""


@dataclass(frozen=True)
class Opening:
    """The beginning of a user message that several requests have in common.

    It is encoded once for all of them, and the provider's prompt cache is told where it ends.
    """

    pieces: tuple[str | Media, ...]
    """Texts and attachments in the order in which the model reads them."""
    wire: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The pieces encoded per wire format."""

    @property
    def text(self) -> str:
        """The texts alone, one after the other."""
        return "".join(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def media(self) -> tuple[Media, ...]:
        """The attachments alone."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Media))


@dataclass(frozen=True)
class Message:
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Tool calls of an assistant message."""
    call_id: str | None = None
    """Id of the call that a tool message answers."""
    is_error: bool = False
    media: tuple[Media, ...] = ()
    """Attachments of a user message, shown before its text, or pictures of a tool's result."""
    replay: tuple[dict[str, Any], ...] = ()
    """For an assistant message: `ModelReply.replay` of its reply, unchanged."""
    opening: Opening | None = None
    """Of a user message without `media`: what stands before its text."""
    wire: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The message encoded per wire format: clients cache it, as each turn sends it again."""

    def __post_init__(self) -> None:
        if self.media and self.role not in ("user", "tool"):
            raise Misuse(f"a {self.role} message carries media: only a user's or a tool's can")
        if self.opening is not None and (self.media or self.role != "user"):
            raise Misuse("an opening is of a user message, which has its media in it")

    @property
    def attachments(self) -> tuple[Media, ...]:
        """All that goes with the message beside text."""
        return self.media if self.opening is None else self.opening.media


@dataclass(frozen=True)
class ModelRequest:
    """A request of a harness or a judge to a model."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_tokens: int = 4096
    temperature: float | None = None
    stop: Sequence[str] = ()
    json_schema: dict[str, Any] | None = None
    """Schema that the output must fit, if structured output is wanted."""
    reasoning_effort: ReasoningEffort | None = None
    """How much a reasoning model may think; None: the provider's default."""
    timeout_seconds: float = 900.0
    max_usd: float | None = None
    """Most that all attempts together may cost; an attempt that could exceed it is not made. None:
    no limit."""
    failed: list[FailedAttempt] = field(default_factory=list, init=False, repr=False, compare=False)
    """Attempts without an answer, added as they fail, so that they are known even after a
    timeout."""


@dataclass(frozen=True)
class ModelReply:
    """A model's answer."""

    text: str
    model: str
    """Model id as reported by the provider."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    stop_reason: str = ""
    seconds: float = 0.0
    """Time to answer, without `waited_seconds`."""
    waited_seconds: float = 0.0
    """Time spent waiting for the provider's rate limits and the run's budget."""
    replay: tuple[dict[str, Any], ...] = ()
    """What the provider wants back with this turn (thinking, reasoning items); opaque JSON."""
    thinking: str = ""
    """The readable part of the model's thinking; empty if the provider hides it."""
    failed_attempts: tuple[FailedAttempt, ...] = ()
    """The failed attempts before the answer, in order."""
    cached: bool = False
    """Answered from the store and paid for by another trial: usage and cost do not count again."""
    is_kept: bool = field(default=False, compare=False)
    """Answered from the store, whoever paid for it; no attempt was made now."""


class ModelClient(Protocol):
    """A model behind a provider, with one connection pool that all trials of a process share.

    `reply` raises `ModelUnavailable` when retries ran out, `ModelRejected` when the provider
    refused the request and `BudgetExhausted` when no money is left for an attempt; all carry their
    `failed_attempts`. The SDKs' own retries are off: retries happen in one layer only.
    """

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer to `request`."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True)
class Generated:
    """A picture or a video clip that a model made."""

    data: bytes = field(repr=False)
    model: str
    """Model id as reported by the provider, otherwise the requested one."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None


class ImageModel(Protocol):
    """A model that generates pictures; raises like a `ModelClient`."""

    async def draw(self, prompt: str) -> Generated:
        """Return a picture as the bytes of an image file."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class VideoModel(Protocol):
    """A model that generates videos; raises like a `ModelClient`."""

    async def film(self, prompt: str) -> Generated:
        """Return a video clip as the bytes of an MP4 file."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True)
class Completed:
    """A program that ran in a sandbox, however it ended."""

    exit_code: int
    """Exit code; negative: the signal that killed the program."""
    stdout: bytes
    stderr: bytes
    seconds: float
    limit: Literal["wall", "cpu", "output", "memory", "processes", "disk"] | None = None
    """The limit that stopped the program, if that is known."""


@dataclass(frozen=True)
class Workspace:
    """A trial's folder on the host: `input/` is read-only inside, `output/` is collected."""

    root: Path

    @property
    def input(self) -> Path:
        """Copies of the task's files; `/workspace/input` inside the sandbox."""
        return self.root / "input"

    @property
    def output(self) -> Path:
        """The only writable folder that outlives a call; `/workspace/output` inside the sandbox."""
        return self.root / "output"


@dataclass(frozen=True)
class Mount:
    """A host file or folder that is visible at `target` inside a sandbox.

    Providers resolve `source` each time they mount it. So its parent folder must be one that no
    sandbox can write to: whoever can replace the name decides what is mounted.
    """

    source: Path
    target: str
    writable: bool = False
    """Programs inside may change it; what they write to it counts as disk space."""
    takes_libraries: bool = False
    """Libraries are installed into it: it may hold far more files than a workspace, in deeper
    folders."""


@dataclass(frozen=True)
class ExposedPort:
    """A service that sandboxed programs reach on their own loopback, though they have no network.

    A relay inside the sandbox forwards each connection to a Unix socket; nothing else is shared.
    """

    port: int
    """Port on 127.0.0.1 inside the sandbox; at least 1024."""
    socket: Path
    """The Unix socket on the host that the service listens on, alone in its folder.

    Every user may write to the socket and enter its folder, because programs run as users of their
    own. The parent of the folder keeps other users out, and no sandbox can write to it. The socket
    need not exist yet, and may be recreated.
    """
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that tell programs about the port, such as `PGHOST`."""
    allows: tuple[str, ...] = ()
    """Patterns of the hosts that are reached through it; empty if it is a single service."""


class Process(Protocol):
    """A program that runs in the background of a sandbox; we talk on its standard streams."""

    async def write(self, data: bytes) -> None:
        """Send `data` to its standard input; waits while the program does not read.

        Raises `BrokenPipeError` if the program no longer reads.
        """
        ...

    async def read(self) -> bytes:
        """Return what it has written to standard output since the last read; nothing at the end.

        Output that is not read blocks the program, so a flood does not fill our memory.
        """
        ...

    async def renew(self) -> bool:
        """Reset the limits for another call; return whether the program still runs.

        The CPU time limit starts anew. If an earlier call has filled the disk, the program has been
        ended, so that the next call is not stopped for it.
        """
        ...

    async def close(self, grace_seconds: float = 0.0) -> Completed:
        """Close its input, wait for it to end, kill what is left, and return how it ended.

        `stdout` is empty, because it was read before; `stderr` is kept. Further calls have no
        effect.
        """
        ...


@dataclass(frozen=True)
class SandboxFacts:
    """Properties of an opened sandbox as they really are, not as they were asked for."""

    enforced: tuple[EnforcedLimit, ...]
    image: str | None = None
    """Digest of the image that programs see, if there is one."""


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

        Raises `SandboxFailed` when the sandbox cannot start the program.
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

        All limits but the wall time apply, to this program alone; its standard error may be as long
        as the output of a run. It sees `mounts` besides the workspace, and closing the sandbox
        closes it. With `reserves_memory`, as Node.js needs it, it may reserve more memory than its
        limit, which then applies to the memory in use. Raises `SandboxFailed` when the sandbox
        cannot start the program.
        """
        ...

    def python(self) -> Sequence[str]:
        """Return the argv prefix of the Python inside that can import `environments`."""
        ...

    def facts(self) -> SandboxFacts:
        """Return the limits and versions that apply to its programs."""
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

        Its programs reach the services behind `exposed_ports` on their loopback, and nothing else.
        Raises `Misuse` if two of these ports clash or one is not allowed, `SandboxFailed` for a
        fault of the host.
        """
        ...

    def pooled(self, label: str, at_once: int, expected: int) -> AbstractAsyncContextManager[None]:
        """Within the block, start sandboxes before they are asked for, if the provider can.

        Args:
            label: Label of the sandboxes that will be opened.
            at_once: How many prepared sandboxes may wait at a time.
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
        """Run with validated arguments; mistakes of the agent are returned as error results."""
        ...
