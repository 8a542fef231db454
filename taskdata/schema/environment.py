"""What a task needs besides its files and tools: resources, services, servers, programs."""

from datetime import datetime
from typing import ClassVar, Self

from pydantic import Field, model_validator

from taskdata.schema.base import GrowingValue, RelativePath
from taskdata.schema.image import TaskImage
from taskdata.schema.input_file import InputFile
from taskdata.schema.network import HostPattern
from taskdata.schema.pool_server import PoolServer
from taskdata.schema.service import MAX_SERVICES, Service


class Resources(GrowingValue):
    """What one tool call in the sandbox may use, and what may be collected afterwards."""

    added_later: ClassVar[frozenset[str]] = frozenset({"network"})

    cpu_seconds: int = Field(default=60, ge=1)
    wall_seconds: float = Field(default=90, gt=0)
    memory_mb: int = Field(default=2048, ge=64)
    processes: int = Field(default=128, ge=1)
    disk_mb: int = Field(default=256, ge=1)
    """Largest size of one file, and of all files collected together."""
    max_files: int = Field(default=64, ge=1)
    output_kb: int = Field(default=1024, ge=1)
    """Captured standard output and error, each."""
    network: tuple[HostPattern, ...] = Field(default=(), max_length=64)
    """Hosts that programs may reach over HTTP and TLS, on ports 80 and 443 where none is named.

    Addresses that are not public (loopback, private, link-local) are reached only if they are
    listed themselves, whatever name leads to them.
    """


LAUNCH_TIME = "!!<<<<||||time||||>>>>!!"
"""Placeholder in system prompts, as Toolathlon writes it."""

INITIAL = "initial_workspace"
"""Folder of the initial files in the published folder of a task with one workspace."""


def launch_time(launched: datetime) -> str:
    """Return the time at which a trial began as its programs and prompts state it (Toolathlon)."""
    return f"{launched:%Y-%m-%d %H:%M:%S %A}"


class TaskEnvironment(GrowingValue):
    """What a task needs around it beside files and tools (Toolathlon, section 3)."""

    added_later: ClassVar[frozenset[str]] = frozenset(
        {
            "distractors",
            "services",
            "one_workspace",
            "system_prompt",
            "folders",
            "max_turns",
            "image",
            "pool_servers",
            "search",
        }
    )

    servers: tuple[str, ...] = ()
    """MCP servers by name."""
    distractors: tuple[str, ...] = ()
    """Tools, and MCP servers as `mcp:NAME`, that are on offer though the task has no use for them.

    Telling what is relevant from what is not makes a task harder (Toolathlon, section 2.4).
    """
    preprocess: tuple[InputFile, ...] = ()
    """Programs and data that initialise the state before the agent starts."""
    evaluation: tuple[InputFile, ...] = ()
    """Programs and data that score the state afterwards; never shown to the agent."""
    groundtruth: tuple[InputFile, ...] = ()
    """What the workspace should look like afterwards; never shown to the agent."""
    services: tuple[Service, ...] = Field(default=(), max_length=MAX_SERVICES)
    """Started for each trial, filled from files that the agent never sees as such."""
    one_workspace: bool = False
    """The task's files lie in the folder where the agent works, and it may change and remove them.
    Otherwise they lie apart, read-only, and what the agent makes goes into a folder of its own."""
    system_prompt: str = Field(default="", max_length=20_000)
    """The task's own system prompt; `LAUNCH_TIME` in it is replaced by the time at which the trial
    began."""
    folders: tuple[RelativePath, ...] = ()
    """Folders that exist in the one workspace from the beginning, even if they are empty."""
    max_turns: int | None = Field(default=None, ge=1)
    """The most turns; an agent's budget may allow fewer. None: the agent's budget alone counts."""
    image: TaskImage | None = None
    """The container image for the programs of the agent and of the verifier; it needs Docker
    sandboxes and `one_workspace`."""

    pool_servers: tuple[PoolServer, ...] = ()
    """The servers among `servers` that the task's pool brings as source."""

    search: tuple[InputFile, ...] = ()
    """The documents that the tools of search find in this task, in place of the web: JSONL,
    markdown and text files, which the agent sees only as results of a search."""

    @model_validator(mode="after")
    def _services_can_be_told_apart(self) -> Self:
        names = [service.name for service in self.services]
        if len(set(names)) != len(names):
            raise ValueError(f"the names of services repeat: {sorted(names)}")
        return self

    @model_validator(mode="after")
    def _image_has_one_workspace(self) -> Self:
        if self.image is not None and not self.one_workspace:
            raise ValueError("a task with an image of its own needs one_workspace")
        return self
