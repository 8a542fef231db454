"""The servers that a pool brings as source, each packed once, and how the pool starts them.

Nothing is built or run here. Installed libraries in a source (`node_modules`, `.venv`) are left
out, because the build installs them anew from the locks.
"""

import os
import re
import tarfile
import tomllib
from pathlib import Path

from taskdata.artifacts import sha256_of
from taskdata.formats.toolathlon.pool import Pool, ServerConfiguration, our_name
from taskdata.formats.toolathlon.server_starts import Start, Unusable, read_start
from taskdata.schema.input_file import InputFile
from taskdata.schema.pool_server import PoolServer

LOCAL_SERVERS = "local_servers"

_LEFT_OUT = frozenset({"node_modules", ".venv", ".git", "__pycache__", ".DS_Store"})
_MAX_FILES = 5_000
_MAX_BYTES = 128 << 20
_PUBLISHED = re.compile(r'upload-time = "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.\d]*Z"')
_PROJECT, _REQUIREMENTS = "pyproject.toml", "requirements.txt"


class PoolServers:
    """The servers of one pool, each packed when a task first needs it."""

    def __init__(self, pool: Pool, scratch: Path | None) -> None:
        self._pool = pool
        self._scratch = scratch
        self._archives: dict[str, Path] = {}
        self._known: dict[str, PoolServer | None] = {}
        self._newest: str | None = None

    def named(self, name: str) -> PoolServer | None:
        """Return the server that tasks of the pool call `name`, None if the pool has none."""
        if name not in self._known:
            self._known[name] = self._described(name)
        return self._known[name]

    def archive(self, server: PoolServer) -> Path:
        """Return the packed source of a server that `named` has returned."""
        return self._archives[server.folder or ""]

    def _described(self, name: str) -> PoolServer | None:
        configuration, root = self._pool.servers.get(name), self._pool.root
        if configuration is None or root is None or self._scratch is None:
            return None
        ours = our_name(name)
        try:
            start = _start(configuration)
            project = root / LOCAL_SERVERS / start.folder / start.project
            source = self._packed(root, start.folder, self._scratch)
            requires = _requires_python(project) if start.kind == "python" else ""
        except Unusable as exc:
            return PoolServer(name=ours, refused=str(exc)[:500])
        return PoolServer(
            name=ours,
            source=source,
            kind=start.kind,
            folder=start.folder,
            project=start.project,
            argv=start.argv,
            entry=start.entry,
            directory=start.directory,
            variables=configuration.params.env,
            requires_python=requires,
            as_of="" if _has_lock(root / LOCAL_SERVERS, start) else self._locked_at(root),
            uses_database=name in self._pool.database_servers,
            uses_browser=_drives_browser(root / LOCAL_SERVERS, start),
        )

    def _locked_at(self, root: Path) -> str:
        """Return the newest time in the pool's locks at which a file was published; empty: none.

        A server without a lock worked with libraries from about that time.
        """
        if self._newest is None:
            locks = (root / "uv.lock", *sorted((root / LOCAL_SERVERS).glob("*/uv.lock")))
            texts = (lock.read_text("utf-8", "replace") for lock in locks if lock.is_file())
            self._newest = max(
                (f"{m}Z" for text in texts for m in _PUBLISHED.findall(text)), default=""
            )
        return self._newest

    def _packed(self, root: Path, folder: str, scratch: Path) -> InputFile:
        archive = scratch / f"{folder}.tar"
        if folder not in self._archives:
            _pack(root / LOCAL_SERVERS, folder, archive)
            self._archives[folder] = archive
        return InputFile(
            path=f"{LOCAL_SERVERS}/{archive.name}",
            sha256=sha256_of(archive),
            size_bytes=archive.stat().st_size,
        )


def _start(configuration: ServerConfiguration) -> Start:
    params = configuration.params
    return read_start(params.command, params.args, params.cwd, tuple(params.env.values()))


def _pack(servers: Path, folder: str, archive: Path) -> None:
    """Write the folder as an archive whose bytes depend on nothing but the folder's content."""
    top = servers / folder
    if servers.is_symlink() or top.is_symlink() or not top.is_dir():
        raise Unusable(f"{LOCAL_SERVERS}/{folder} is not in the pool, or is a link")
    size = 0
    # Uncompressed, because the bytes that a compressor writes depend on its version.
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as packed:
        for path in _files(top):
            status = path.stat()
            size += status.st_size
            if size > _MAX_BYTES:
                raise Unusable(f"{LOCAL_SERVERS}/{folder} is larger than {_MAX_BYTES >> 20} MB")
            entry = tarfile.TarInfo(path.relative_to(servers).as_posix())
            entry.size = status.st_size
            entry.mode = 0o755 if status.st_mode & 0o100 else 0o644
            with path.open("rb") as stream:
                packed.addfile(entry, stream)


def _files(top: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        for name in (*folders, *names):
            entry = Path(place, name)
            if name not in _LEFT_OUT and entry.is_symlink():
                raise Unusable(f"{entry.relative_to(top.parent)} is a link")
        for name in names:
            entry = Path(place, name)
            if name in _LEFT_OUT:
                continue
            if not entry.is_file():
                raise Unusable(f"{entry.relative_to(top.parent)} is not a regular file")
            found.append(entry)
        if len(found) > _MAX_FILES:
            raise Unusable(f"{LOCAL_SERVERS}/{top.name} holds more than {_MAX_FILES} files")
    return sorted(found)


def _has_lock(servers: Path, start: Start) -> bool:
    """Return whether the pool has a lock for the started project, in its folder or one above."""
    if start.kind == "python":
        return (servers / start.folder / start.project / "uv.lock").is_file()
    folder = Path(start.folder, start.entry or "").parent
    places = (place for place in (folder, *folder.parents) if place.parts)
    return any((servers / place / "package-lock.json").is_file() for place in places)


def _drives_browser(servers: Path, start: Start) -> bool:
    """Return whether a package of Node.js depends on Playwright."""
    if start.kind != "node":
        return False
    declared = servers / start.folder / "package.json"
    return declared.is_file() and b'"playwright' in declared.read_bytes()


def _requires_python(project: Path) -> str:
    """Return the versions of Python that a project states, empty if it states none."""
    declared = project / _PROJECT
    if not declared.is_file():
        if (project / _REQUIREMENTS).is_file():
            return ""
        raise Unusable(f"its folder has neither {_PROJECT} nor {_REQUIREMENTS}")
    try:
        stated = tomllib.loads(declared.read_text(encoding="utf-8")).get("project", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise Unusable(f"{_PROJECT} cannot be read: {exc}") from exc
    requires = stated.get("requires-python", "") if isinstance(stated, dict) else ""
    return requires if isinstance(requires, str) else ""
