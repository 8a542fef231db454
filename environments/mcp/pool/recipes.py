"""The commands that build a server from its source: pure functions over the unpacked folder.

Each step is a command with the folder it runs in. Libraries are installed by the hashes of a lock:
the pool's own, or one that the first build creates and keeps.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from taskdata.schema.pool_server import PoolServer

SERVERS_INSIDE = "/opt/local_servers"
"""The folder of servers inside sandboxes, both during a build and in a trial."""

UV_INSIDE = "/opt/build/uv"
NODE_INSIDE = "/opt/build/node"
NPM_INSIDE = "/opt/build/node_modules"
CACHE_INSIDE = f"{SERVERS_INSIDE}/.cache"

UV_LOCK, NODE_LOCK, PINNED = "uv.lock", "package-lock.json", "requirements.lock"
DATABASE_LOCK = "database.lock"
_CLIENT = "psycopg2-binary"
_DECLARED = "package.json"
_NODE_CLIENT = ("pg", "@types/pg")
_IMPORTS_NODE_CLIENT = re.compile(rb"""(?:\bfrom|\brequire\()\s*['"]pg['"]""")
_IMPORTS_CLIENT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+psycopg2\b", re.MULTILINE)
_PINS = f"{CACHE_INSIDE}/pinned.txt"
_NPM = (f"{NODE_INSIDE}/node", f"{NPM_INSIDE}/npm/bin/npm-cli.js")
_QUIET = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
_IMPORT = re.compile(r"""(?:\bfrom|\bimport|\brequire\()\s*['"](\.{1,2}/[^'"]+)['"]""")
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".json", "/index.js")


@dataclass(frozen=True)
class Step:
    """One command of a build."""

    what: str
    """What the step does, for messages, such as `installs its libraries`."""
    argv: tuple[str, ...]
    folder: str
    """The folder inside the sandbox in which the command runs."""


@dataclass(frozen=True)
class Recipe:
    """How a server is built."""

    steps: tuple[Step, ...]
    locks: tuple[str, ...]
    """Paths of the locks below the folder of servers."""
    made: str
    """Path below the folder of servers of a file that exists after a successful build."""


def recipe(server: PoolServer, servers: Path, python: str) -> Recipe:
    """Return how to build the server.

    Args:
        server: The server.
        servers: The folder into which the server's folder was unpacked, together with the lock of
            an earlier build if there was one.
        python: Path inside the sandbox of the Python that runs the server.
    """
    if server.kind == "python":
        return _of_python(server, servers, python)
    return _of_node(server, servers)


def lock_of(server: PoolServer, servers: Path) -> str:
    """Return the path of a server's lock below the folder of servers; the lock may not exist.

    For a package of a workspace, the lock is in a folder above the package's own.
    """
    project = "/".join(part for part in (server.folder or "", server.project) if part)
    if server.kind == "python":
        has_project = (servers / project / "pyproject.toml").is_file()
        return f"{project}/{UV_LOCK if has_project else PINNED}"
    package = _package(server, servers)
    for folder in (Path(package), *Path(package).parents):
        if (servers / folder / NODE_LOCK).is_file() and str(folder) != ".":
            return f"{folder}/{NODE_LOCK}"
    return f"{package}/{NODE_LOCK}"


def _of_python(server: PoolServer, servers: Path, python: str) -> Recipe:
    lock = lock_of(server, servers)
    folder = Path(lock).parent
    project = f"{SERVERS_INSIDE}/{folder}"
    before = ("--exclude-newer", server.as_of) if server.as_of else ()
    steps = [*_python_lock(servers, lock, python, project, before)]
    venv = ("venv", "--quiet", "--python", python, "--no-project", ".venv")
    steps.append(Step("makes its environment", (UV_INSIDE, *venv), project))
    steps.append(_installing("installs its libraries", project, "-r", _PINS))
    locks = [lock]
    if _lacks_database_library(servers / folder):
        steps += _database_library(servers / folder, python, project)
        locks.append(f"{folder}/{DATABASE_LOCK}")
    declared = servers / folder / "pyproject.toml"
    if declared.is_file() and "[build-system]" in declared.read_text(encoding="utf-8"):
        itself = ("pip", "install", "--quiet", "--python", ".venv/bin/python", "--no-deps")
        steps.append(Step("installs the server", (UV_INSIDE, *itself, "-e", "."), project))
    program = server.argv[0].partition("}/")[2]
    return Recipe(tuple(steps), tuple(locks), program)


def _installing(what: str, project: str, *of: str) -> Step:
    how = ("pip", "install", "--quiet", "--python", ".venv/bin/python", "--compile-bytecode")
    return Step(what, (UV_INSIDE, *how, "--require-hashes", "--no-deps", *of), project)


def _lacks_database_library(project: Path) -> bool:
    """Return whether a project imports PostgreSQL's client without declaring it.

    In the pool's own environment, such a server finds the client among the pool's libraries.
    """
    declared = (project / name for name in ("pyproject.toml", "requirements.txt"))
    if any("psycopg2" in file.read_text("utf-8") for file in declared if file.is_file()):
        return False
    modules = (path for path in project.rglob("*.py") if ".venv" not in path.parts)
    return any(_IMPORTS_CLIENT.search(module.read_bytes()) for module in modules)


def _database_library(project: Path, python: str, inside: str) -> Iterator[Step]:
    if not (project / DATABASE_LOCK).is_file():
        pinning = f'echo {_CLIENT} | "$0" pip compile -q --generate-hashes --python "$1" - -o "$2"'
        argv = ("/bin/sh", "-c", pinning, UV_INSIDE, python, DATABASE_LOCK)
        yield Step("locks the library of its database", argv, inside)
    yield _installing("installs the library of its database", inside, "-r", DATABASE_LOCK)


def _python_lock(
    servers: Path, lock: str, python: str, project: str, before: tuple[str, ...]
) -> Iterator[Step]:
    has_lock = (servers / lock).is_file()
    if lock.endswith(PINNED):
        if not has_lock:
            resolving = ("pip", "compile", "--quiet", "--generate-hashes", "--python", python)
            argv = (UV_INSIDE, *resolving, *before, "requirements.txt", "-o", PINNED)
            yield Step("locks its libraries", argv, project)
        yield Step("reads its lock", ("/bin/cp", PINNED, _PINS), project)
        return
    # Like uv, complete a lock that lacks declared libraries, without changing its locked versions.
    locking = (UV_INSIDE, "lock", "--quiet", "--python", python, *before)
    yield Step("locks its libraries", locking, project)
    exporting = ("export", "--quiet", "--frozen", "--no-dev", "--no-emit-project", "--no-header")
    argv = (UV_INSIDE, *exporting, "--python", python, "-o", _PINS)
    yield Step("reads its lock", argv, project)


def _of_node(server: PoolServer, servers: Path) -> Recipe:
    lock = lock_of(server, servers)
    entry = servers / (server.folder or "") / (server.entry or "")
    package = f"{SERVERS_INSIDE}/{_package(server, servers)}"
    root = f"{SERVERS_INSIDE}/{Path(lock).parent}"
    is_built = not missing_parts(entry)
    before = (f"--before={server.as_of}",) if server.as_of else ()
    lacking = _NODE_CLIENT if _lacks_node_client(servers / _package(server, servers)) else ()
    # Like npm, complete a lock that lacks declared packages.
    whole = _holds_declared(servers / lock) and not lacking
    how = ("ci",) if whole else ("install", *lacking, *before)
    # Install scripts of packages are not run; the server's own build script is.
    tools = ("--omit=dev",) if is_built else ("--include=dev",)
    installing = (*_NPM, *how, "--ignore-scripts", *tools, *_QUIET)
    steps = [Step("installs its libraries", installing, root)]
    if not is_built:
        steps.append(Step("builds", (*_NPM, "run", "build", *_QUIET), package))
    locks = (lock, f"{Path(lock).parent}/{_DECLARED}") if lacking else (lock,)
    return Recipe(tuple(steps), locks, f"{server.folder}/{server.entry}")


def _holds_declared(lock: Path) -> bool:
    """Return whether the lock exists and fits what its package declares now."""
    if not lock.is_file():
        return False
    try:
        locked = json.loads(lock.read_text("utf-8"))["packages"][""]
        declared = json.loads((lock.parent / _DECLARED).read_text("utf-8"))
    except (ValueError, KeyError, TypeError, OSError):
        return False
    kinds = ("dependencies", "devDependencies", "optionalDependencies")
    return all((locked.get(kind) or {}) == (declared.get(kind) or {}) for kind in kinds)


def _lacks_node_client(package: Path) -> bool:
    declared = package / _DECLARED
    if declared.is_file() and '"pg"' in declared.read_text("utf-8"):
        return False
    sources = (path for ending in ("ts", "js", "mjs") for path in package.rglob(f"*.{ending}"))
    own = (path for path in sources if "node_modules" not in path.parts)
    return any(_IMPORTS_NODE_CLIENT.search(path.read_bytes()) for path in own)


def _package(server: PoolServer, servers: Path) -> str:
    """Return the folder of the package that the started file belongs to."""
    folder = Path(server.folder or "") / Path(server.entry or "").parent
    while folder.parts[1:] and not (servers / folder / "package.json").is_file():
        folder = folder.parent
    return folder.as_posix()


def missing_parts(entry: Path) -> Sequence[str]:
    """Return the missing files among a script and the relative files that it imports."""
    if not entry.is_file():
        return (entry.name,)
    text = entry.read_text(encoding="utf-8", errors="replace")
    return tuple(
        path
        for path in dict.fromkeys(_IMPORT.findall(text))
        if not any((entry.parent / f"{path}{ending}").is_file() for ending in _ENDINGS)
    )
