"""What the host must know about a kind of service."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from environments.ports import Mount, Sandbox, Workspace

S_contra = TypeVar("S_contra", contravariant=True)

Variables = tuple[tuple[str, str], ...]
"""Environment variables as pairs of name and value."""


@dataclass(frozen=True)
class ScriptSettings:
    """How programs that score a task get a service."""

    settings: dict[str, Any]
    """Sent to the service's program first."""
    variables: tuple[Variables, ...]
    """Tell a program about each port."""


class Server(Protocol[S_contra]):
    """How services of one kind are run; `S_contra` is their schema."""

    @property
    def program(self) -> str:
        """The module that runs in the service's sandbox."""
        ...

    @property
    def sockets(self) -> tuple[str, ...]:
        """Paths of the Unix sockets below `SOCKETS` inside, one for each port.

        Each socket is alone in its folder.
        """
        ...

    def missing(self) -> str | None:
        """Return what this installation lacks and how to get it, None if nothing is missing."""
        ...

    def settings(self, service: S_contra) -> dict[str, Any]:
        """Return the settings that are sent to the program first."""
        ...

    def variables(self, service: S_contra, ports: Sequence[int]) -> tuple[Variables, ...]:
        """Return the environment variables for clients, given the exposed ports."""
        ...

    async def mounts(
        self, service: S_contra, sandbox: Sandbox, workspace: Workspace, home: Path
    ) -> Sequence[Mount]:
        """Return what the program needs besides the workspace.

        Raises:
            ServiceFailed: a mount cannot be made.
        """
        ...

    def for_scripts(
        self, service: S_contra, ports: Sequence[int], seconds: int, *, is_kept: bool
    ) -> ScriptSettings:
        """Return the settings of a service for programs, with credentials made for them.

        Args:
            service: The service.
            ports: Its exposed ports.
            seconds: How long a program may use the CPU.
            is_kept: Whether it is started from what another one has kept.
        """
        ...

    def base(self, mounts: Sequence[Mount]) -> Path | None:
        """Return the file, of what `mounts` has returned, that a kept state is a difference to."""
        ...

    def kept_mounts(self, kept: Path, base: Path | None) -> Sequence[Mount]:
        """Return what the program needs to start from a kept state."""
        ...
