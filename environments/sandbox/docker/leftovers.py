"""Containers by their labels: who owns them, and removal of those whose owner is dead."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from environments.reaper.owner import Owner, base_id
from environments.sandbox.docker.engine import connect, engine_errors, first_line, remove
from taskdata.errors import SandboxFailed

LABEL = "nightshift"
"""Label with the purpose of a container: the id of a run, or the name of a stage."""

_OWNER = "nightshift.owner"
_BASE = "nightshift.base"
_IN_USE = "docker"


def labels_of(owner: Owner, label: str) -> dict[str, str]:
    """Return the labels of a container, and note that reapers must ask the engine from now on.

    Raises:
        SandboxFailed: the owner's base folder cannot be written.
    """
    try:
        (owner.base / _IN_USE).touch()
        return {LABEL: label or "sandbox", _OWNER: owner.name, _BASE: base_id(owner.base)}
    except OSError as error:
        raise SandboxFailed(f"cannot write in {owner.base}: {error.strerror}") from error


def in_use(base: Path) -> bool:
    """Return whether an owner below that folder has ever made a container."""
    return (base / _IN_USE).exists()


def remove_leftovers(base: Path, is_dead: Callable[[str], bool]) -> int:
    """Remove the containers whose owner is dead and return how many there were; blocks.

    Args:
        base: Folder of the owners; containers of owners in other folders are left alone.
        is_dead: Returns whether the owner of that name is dead.

    Raises:
        SandboxFailed: the engine does not answer or refuses.
    """
    removed = 0
    try:
        with closing(connect()) as client:
            known = client.api.containers(all=True, filters={"label": f"{_BASE}={base_id(base)}"})
            for found in known:
                if is_dead(str(found["Labels"].get(_OWNER))):
                    remove(client, str(found["Id"]))
                    removed += 1
    except engine_errors() as error:
        raise SandboxFailed(f"Docker cannot list our containers: {first_line(error)}") from error
    return removed
