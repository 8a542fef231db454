"""The folders that programs in a task's own image see in addition to the workspace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from environments import ports
from environments.ports import Workspace
from environments.sandbox.docker.container import bound
from environments.sandbox.docker.host_python import hidden_below_host_python, host_python_mounts

if TYPE_CHECKING:
    from docker.types import Mount

OUTPUT = "output"
"""The folder of a workspace in which an agent works."""


@dataclass(frozen=True)
class Place:
    """A second path under which programs in a task's own image see a folder of the workspace."""

    folder: str
    """Path below the root of the workspace; it must exist before the sandbox is opened."""
    target: str
    """Absolute path in the container."""
    writable: bool = False


def foreign_mounts(places: Sequence[Place], workspace: Workspace) -> "list[Mount]":
    """Return the mounts for a container with a task's image: the places and the tools' Python."""
    from docker.types import Mount

    return [
        *bound((*host_python_mounts(), *_mounts(places, workspace))),
        *(Mount(target, None, "tmpfs", read_only=True) for target in hidden_below_host_python()),
    ]


def places_apart(places: Sequence[Place], workspace: Workspace) -> list[ports.Mount]:
    """Return the places that are another folder than the output folder."""
    return _mounts([place for place in places if place.folder != OUTPUT], workspace)


def _mounts(places: Sequence[Place], workspace: Workspace) -> list[ports.Mount]:
    return [
        ports.Mount(workspace.root / place.folder, place.target, place.writable) for place in places
    ]
