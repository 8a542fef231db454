"""What a pool holds beside its tasks: configurations of servers, and code that programs share.

A pool is the folder of a repository (`tasks/<split>/<task>/`, `configs/mcp_servers/*.yaml`,
`utils/`), a folder of task folders, or one task folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError

from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.files import Folder
from taskdata.plain_yaml import loaded
from taskdata.schema.base import Value

CONFIG = "task_config.json"
SERVERS = "configs/mcp_servers"
SHARED = "utils"
"""Package of the pool that programs of its tasks import."""

_OUR_NAMES = {"pptx": "powerpoint"}
"""Servers that the catalogue has under another name."""


class ServerParameters(Value):
    """How the pool starts a server; `${...}` stands for folders of a trial."""

    model_config = Value.model_config | {"extra": "ignore"}

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None


class ServerConfiguration(Value):
    """A file of `configs/mcp_servers`."""

    model_config = Value.model_config | {"extra": "ignore"}

    name: str
    params: ServerParameters


@dataclass(frozen=True)
class Pool:
    """A pool on disk."""

    folders: tuple[Path, ...]
    """Its task folders, by name."""
    root: Path | None = None
    """The repository's folder; None where only tasks are given."""
    servers: Mapping[str, ServerConfiguration] = field(default_factory=dict)
    """By the names that its tasks use."""
    faults: tuple[str, ...] = ()
    """Configurations that cannot be read, with the reason."""

    def shared(self) -> Mapping[str, Path]:
        """Return the files of its package `utils`, by path below the root."""
        if self.root is None:
            return {}
        paths = Folder(self.root).below(SHARED, SHARED)
        return {path: self.root / path for path in paths if path.endswith(".py")}


def found_pool(path: Path) -> Pool:
    """Return the pool at `path`.

    Raises:
        Misuse: there is no task in it.
    """
    if (path / CONFIG).is_file():
        return Pool((path,))
    nearest = sorted(p.parent for p in path.glob(f"*/{CONFIG}")) if path.is_dir() else []
    if nearest:
        return _with_root(tuple(nearest), _root_above(path))
    folders = sorted(p.parent for p in path.glob(f"tasks/*/*/{CONFIG}"))
    if not folders:
        raise Misuse(
            f"{path}: expected a pool with tasks/<split>/<task>/{CONFIG}, or a folder of task "
            f"folders, each with {CONFIG}"
        )
    return _with_root(tuple(folders), path)


def our_name(server: str) -> str:
    """Return the name in the catalogue of a server that the format calls `server`."""
    return _OUR_NAMES.get(server, server)


def _root_above(tasks: Path) -> Path | None:
    """Return the root of the pool whose `tasks/<split>` folder is meant, None if it is no such."""
    tasks = tasks.resolve()
    return tasks.parents[1] if tasks.parent.name == "tasks" else None


def _with_root(folders: tuple[Path, ...], root: Path | None) -> Pool:
    if root is None:
        return Pool(folders)
    servers, faults = dict[str, ServerConfiguration](), list[str]()
    for path in sorted((root / SERVERS).glob("*.y*ml")):
        try:
            text = path.read_text(encoding="utf-8")
            read = ServerConfiguration.model_validate(loaded(text, path.name))
        except (BadTaskData, ValidationError, OSError, UnicodeDecodeError) as exc:
            faults.append(f"{SERVERS}/{path.name}: {str(exc).splitlines()[0]}")
        else:
            servers[read.name] = read
    return Pool(folders, root, servers, tuple(faults))
