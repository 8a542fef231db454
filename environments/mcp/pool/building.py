"""Build a server of a pool in a sandbox that reaches the registries and nothing else.

Servers and their build scripts are untrusted code. A build sees only the server's source and the
build tools, and writes into a folder of its own. The next build of the same server removes the
files of an interrupted one.
"""

import asyncio
import os
import re
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from io import BytesIO
from pathlib import Path

from filelock import FileLock, Timeout

from environments.mcp.install import node_program, uv_program
from environments.mcp.pool.installed import (
    SERVERS,
    STAMP,
    folder_of,
    interpreter_of,
    is_installed,
    locks_of,
    stamp,
)
from environments.mcp.pool.interpreters import Interpreter, sandbox_interpreter
from environments.mcp.pool.recipes import (
    CACHE_INSIDE,
    NODE_INSIDE,
    NPM_INSIDE,
    SERVERS_INSIDE,
    UV_INSIDE,
    Recipe,
    Step,
    lock_of,
    recipe,
)
from environments.mcp.pool.registries import Registries, registries
from environments.network.allowed import AllowedNetwork, allowed_network
from environments.ports import Completed, Mount, Sandbox, SandboxProvider
from environments.reaper.owner import working_folder
from environments.reaper.removal import remove_tree
from environments.sandbox.identity import owner_of_output
from environments.sandbox.workspace import new_workspace
from taskdata.errors import ToolUnavailable
from taskdata.schema.pool_server import PoolServer
from taskdata.schema.task import Resources

RESOURCES = Resources(
    cpu_seconds=1800, wall_seconds=1800, memory_mb=4096, processes=256, disk_mb=4096, output_kb=1024
)
"""What one step of a build may use; its disk space is for all steps together."""

Progress = Callable[[str], None]
"""Called with a description of the step that begins."""

_PARTIAL = ".partial-"
_SAID_CHARS = 500
_NPM_SAYS = "npm error"
_GONE = re.compile(r"\bE404\b|\bETARGET\b|HTTP status client error \(404")
_WAIT_SECONDS = 0.5


async def build(
    server: PoolServer,
    archive: bytes,
    home: Path,
    provider: SandboxProvider,
    tell: Progress,
    also: Iterable[str] = (),
    relocks: bool = False,
) -> bool:
    """Build the server unless it is installed; return whether a build was needed.

    Args:
        server: The server.
        archive: The server's packed source.
        home: Folder of this installation's state.
        provider: Makes the sandboxes in which the server is built, and in which it will run.
        tell: Called with a description of each step.
        also: Hosts that the build may reach besides the registries.
        relocks: Build in any case, with the newest libraries that fit instead of the locked ones.

    Raises:
        ToolUnavailable: the server cannot be built; names the step and the reason.
        SandboxFailed: the sandbox failed, not the build.
        Misuse: the registries cannot be reached from a sandbox.
    """
    async with AsyncExitStack() as stack:
        known = registries(also)
        network = await stack.enter_async_context(allowed_network(known.hosts))
        around = stack.enter_context(working_folder())
        workspace = stack.enter_context(new_workspace(around, {}))
        sandbox = await stack.enter_async_context(
            provider.open(workspace, RESOURCES, "build", network.exposed_ports)
        )
        own = await sandbox_interpreter(sandbox)
        interpreter = await asyncio.to_thread(_interpreter, server, own)
        folder = folder_of(server, home, interpreter)
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.parent / ".lock", fallback_to_soft=False, thread_local=False)
        await _acquired(lock, tell)
        stack.callback(lock.release)
        if is_installed(server, home, interpreter) and not relocks:
            return False
        # A build whose process was killed may have left this; the lock excludes other builds.
        for left in folder.parent.glob(f"{_PARTIAL}*"):
            remove_tree(left)
        partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=folder.parent))
        stack.callback(remove_tree, partial)
        bench = _Bench(server, home, sandbox, network, known, interpreter, tell, relocks)
        await bench.build(archive, partial, owner_of_output(workspace.output))
        await asyncio.to_thread(_put_in_place, partial, folder, server)
    return True


async def _acquired(lock: FileLock, tell: Progress) -> None:
    """Wait for the lock by polling, because a blocking call could not be cancelled."""
    while True:
        try:
            lock.acquire(timeout=0)
            return
        except Timeout:
            tell("waits for another process that builds this server")
            await asyncio.sleep(_WAIT_SECONDS)


def _interpreter(server: PoolServer, own: Interpreter) -> Interpreter | None:
    try:
        return interpreter_of(server, own)
    except ToolUnavailable as exc:
        raise ToolUnavailable(f"MCP server {server.name!r} cannot be built: {exc}") from exc


class _Bench:
    """One build."""

    def __init__(
        self,
        server: PoolServer,
        home: Path,
        sandbox: Sandbox,
        network: AllowedNetwork,
        known: Registries,
        interpreter: Interpreter | None,
        tell: Progress,
        relocks: bool,
    ) -> None:
        self._server, self._home, self._sandbox = server, home, sandbox
        self._network, self._known, self._interpreter = network, known, interpreter
        self._tell, self._relocks = tell, relocks

    async def build(self, archive: bytes, partial: Path, owner: tuple[int, int]) -> None:
        """Build in the folder `partial`, which belongs to the sandbox's user `owner` meanwhile."""
        servers = partial / SERVERS
        how = await asyncio.to_thread(self._unpacked, archive, servers, owner)
        own = Mount(servers, SERVERS_INSIDE, writable=True, takes_libraries=True)
        mounts = (own, *self._tools(), *self._known.mounts)
        for step in how.steps:
            self._tell(step.what)
            await self._run(step, mounts)
        await asyncio.to_thread(self._taken_back, servers, how)

    def _unpacked(self, archive: bytes, servers: Path, owner: tuple[int, int]) -> Recipe:
        """Unpack the source, add the lock of an earlier build if there is one, plan the build."""
        (servers / Path(CACHE_INSIDE).name).mkdir(parents=True)
        with tarfile.open(fileobj=BytesIO(archive)) as packed:
            packed.extractall(servers, filter="data")
        lock = servers / lock_of(self._server, servers)
        kept = locks_of(self._server, self._home)
        if self._relocks:
            lock.unlink(missing_ok=True)
        elif kept.is_dir():
            shutil.copytree(kept, lock.parent, dirs_exist_ok=True)
        python = self._interpreter.path if self._interpreter else ""
        planned = self._server.model_copy(update={"as_of": ""} if self._relocks else {})
        how = recipe(planned, servers, python)
        _give(servers, owner)
        return how

    async def _run(self, step: Step, mounts: Sequence[Mount]) -> None:
        refused_before = len(self._network.refused())
        argv = ("/usr/bin/env", "-u", "PYTHONPATH", f"--chdir={step.folder}", *self._variables())
        process = await self._sandbox.start(
            (*argv, *step.argv), mounts=mounts, reserves_memory=True
        )
        said, is_late = b"", False
        try:
            async with asyncio.timeout(RESOURCES.wall_seconds):
                while chunk := await process.read():
                    said = (said + chunk)[-4_000:]
        except TimeoutError:
            is_late = True
        finally:
            ended = await process.close(0.0 if is_late else 10.0)
        if is_late:
            raise self._failed(step, f"it took longer than {RESOURCES.wall_seconds:.0f} s")
        if ended.exit_code != 0 or ended.limit:
            refused = self._network.refused()[refused_before:]
            hosts = sorted({target.target for target in refused if target.target != "*"})
            raise self._failed(step, _reason(ended, said, hosts))

    def _failed(self, step: Step, reason: str) -> ToolUnavailable:
        name = self._server.name
        return ToolUnavailable(
            f"MCP server {name!r} of the pool cannot be built: it {step.what}: {reason}"
        )

    def _variables(self) -> list[str]:
        variables = {
            **self._known.variables,
            "PATH": f"{NODE_INSIDE}:/usr/local/bin:/usr/bin:/bin",
            "UV_CACHE_DIR": CACHE_INSIDE,
            "UV_LINK_MODE": "copy",
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_CONFIG": "1",
            "UV_NO_PROGRESS": "1",
            # The proxy of a sandbox carries a limited number of connections at once.
            "UV_CONCURRENT_DOWNLOADS": "8",
            "NPM_CONFIG_MAXSOCKETS": "8",
            "NPM_CONFIG_CACHE": CACHE_INSIDE,
            "NPM_CONFIG_REPLACE_REGISTRY_HOST": "always",
            "CI": "true",
        }
        return [f"{name}={value}" for name, value in variables.items()]

    def _tools(self) -> tuple[Mount, ...]:
        if self._interpreter is not None:
            return (Mount(uv_program(self._server.name), UV_INSIDE), *self._interpreter.mounts)
        node, npm = node_program(self._server.name), shutil.which("npm")
        if npm is None:
            raise ToolUnavailable(
                f"MCP server {self._server.name!r} cannot be built: there is no npm on the PATH"
            )
        # `npm/bin/npm-cli.js` in a folder that may hold the packages that npm is made of, too.
        packages = Path(npm).resolve().parents[2]
        return (Mount(node, f"{NODE_INSIDE}/node"), Mount(packages, NPM_INSIDE))

    def _taken_back(self, servers: Path, how: Recipe) -> None:
        """Take over the ownership of the result, keep its lock and check that it is complete."""
        remove_tree(servers / Path(CACHE_INSIDE).name)
        _take_back(servers)
        own = servers / (self._server.folder or "")
        # The host must follow no link of the result, so the mounted folder may not be one.
        if own.is_symlink() or not os.path.lexists(servers / how.made):
            raise ToolUnavailable(
                f"MCP server {self._server.name!r} of the pool cannot be built: its build did not "
                f"make {how.made}"
            )
        kept = locks_of(self._server, self._home)
        kept.mkdir(parents=True, exist_ok=True)
        for lock in (servers / path for path in how.locks):
            if lock.is_file() and lock.resolve() == servers.resolve() / lock.relative_to(servers):
                shutil.copyfile(lock, kept / lock.name)


def _reason(ended: Completed, said: bytes, refused: Sequence[str]) -> str:
    if ended.limit:
        return f"it was stopped at the {ended.limit} limit"
    words = _telling((ended.stderr or said).decode(errors="replace"))
    if _GONE.search(words):
        words += (
            "; the registry no longer has a locked version: `--relock` takes the newest that fits"
        )
    hosts = f"; it tried to reach {', '.join(refused)} (`--allow-host HOST` allows a host)"
    return f"code {ended.exit_code}: {words or 'it wrote no message'}{hosts if refused else ''}"


def _telling(said: str) -> str:
    """Return the part of an error output with the cause: npm's beginning, other programs' end."""
    lines = [line.removeprefix(_NPM_SAYS).strip() for line in said.splitlines() if line.strip()]
    if _NPM_SAYS in said:
        return " ".join(dict.fromkeys(line for line in lines if line))[:_SAID_CHARS]
    return " ".join(" ".join(lines).split())[-_SAID_CHARS:]


def _give(folder: Path, owner: tuple[int, int]) -> None:
    for place, _, names in os.walk(folder):
        os.chmod(place, 0o755)  # noqa: S103 - the sandbox's user reads it
        os.chown(place, *owner)
        for name in names:
            os.chown(Path(place, name), *owner, follow_symlinks=False)


def _take_back(folder: Path) -> None:
    """Take over the ownership of all files and make them readable for the sandbox's user."""
    us = (os.geteuid(), os.getegid())
    for place, _, names in os.walk(folder):
        os.chown(place, *us)
        os.chmod(place, 0o755)  # noqa: S103
        for name in names:
            path = Path(place, name)
            os.chown(path, *us, follow_symlinks=False)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                path.chmod(0o755 if mode & 0o100 else 0o644)
            elif not stat.S_ISLNK(mode):
                path.unlink()


def _put_in_place(partial: Path, folder: Path, server: PoolServer) -> None:
    (partial / STAMP).write_text(stamp(server), encoding="utf-8")
    partial.chmod(0o755)
    remove_tree(folder)
    partial.rename(folder)
