"""What a pool holds beside its tasks: servers, a database's dump, code that programs share.

A pool is the folder of a repository (`tasks/<split>/<task>/`, `configs/mcp_servers/*.yaml`,
`local_servers/`, `db/init.sql.gz`, `utils/`), a folder of task folders, or one task folder.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError

from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.files import Folder
from taskdata.plain_yaml import loaded
from taskdata.schema.base import Value
from taskdata.schema.input_file import InputFile

CONFIG = "task_config.json"
SERVERS = "configs/mcp_servers"
SHARED = "utils"
"""Package of the pool that programs of its tasks import."""

DUMPS = ("db/init.sql.gz", "db/init.sql")
"""What the database is made of that all tasks of the pool begin with."""

_LOCAL_SERVERS = "${local_servers_paths}/"
_SOURCES = (".py", ".ts", ".js", ".mjs")
_MAX_SOURCE = 1 << 20
_REACHES_DATABASE = re.compile(
    rb"\bpsycopg2?\b|\basyncpg\b|\bPG_?HOST\b|(?:from|require\()\s*['\"]pg['\"]"
)
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
    dump: InputFile | None = None
    database_servers: frozenset[str] = frozenset()
    """Those of its servers that work on its database."""
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
    dump = None
    try:
        dump = _dump(root)
    except BadTaskData as exc:
        faults.append(f"{DUMPS[0]}: {exc}")
    reaching = (name for name, server in servers.items() if _reaches_database(root, server))
    return Pool(folders, root, servers, dump, frozenset(reaching), tuple(faults))


def _dump(root: Path) -> InputFile | None:
    name = next((name for name in DUMPS if (root / name).is_file()), None)
    return None if name is None else Folder(root).find(name, name)[0]


def _reaches_database(root: Path, server: ServerConfiguration) -> bool:
    """Return whether the server's settings or its source name PostgreSQL."""
    if any(variable.upper().startswith("PG") for variable in server.params.env):
        return True
    for argument in server.params.args:
        if argument.startswith(_LOCAL_SERVERS):
            folder = argument.removeprefix(_LOCAL_SERVERS).partition("/")[0]
            return any(map(_names_database, _sources(root / "local_servers" / folder)))
    return False


def _sources(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "node_modules"]
        yield from (Path(place, name) for name in names if name.endswith(_SOURCES))


def _names_database(source: Path) -> bool:
    if source.is_symlink() or source.stat().st_size > _MAX_SOURCE:
        return False
    return _REACHES_DATABASE.search(source.read_bytes()) is not None
