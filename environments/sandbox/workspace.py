"""A trial's folder on the host: made from the task's files, removed whatever was left in it."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path, PurePosixPath

from environments.ports import Workspace
from environments.reaper.removal import remove_tree
from environments.sandbox.shielding import to_the_end
from taskdata.errors import SandboxFailed


@contextmanager
def new_workspace(
    parent: Path,
    files: Mapping[str, Path | bytes],
    begun: Mapping[str, Path | bytes] | None = None,
    folders: Iterable[str] = (),
) -> Iterator[Workspace]:
    """Yield a workspace below `parent` with `files` in `input/`; remove it afterwards.

    Args:
        parent: Folder for workspaces; made if missing.
        files: Relative path below `input/` to the file to copy, or to its bytes.
        begun: The same for `output/`, whose files programs may change.
        folders: Relative paths of folders that exist in `output/` even if they are empty.

    Raises:
        SandboxFailed: the folder cannot be made or filled (disk full, or a path outside of it).
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        root = Path(tempfile.mkdtemp(prefix="workspace-", dir=parent))
    except OSError as error:
        raise SandboxFailed(f"cannot make a workspace below {parent}: {error.strerror}") from error
    try:
        workspace = Workspace(root)
        # A strict umask of ours must not lock out the sandbox's user; nobody else can enter the
        # root.
        _fill(workspace.input, files, file_mode=0o444, folder_mode=0o755)
        _fill(workspace.output, begun or {}, folders, file_mode=0o666, folder_mode=0o777)
        workspace.output.chmod(0o755)
        yield workspace
    finally:
        remove_tree(root)


@asynccontextmanager
async def open_workspace(
    parent: Path,
    files: Mapping[str, Path | bytes],
    begun: Mapping[str, Path | bytes] | None = None,
    folders: Iterable[str] = (),
) -> AsyncIterator[Workspace]:
    """Yield a workspace as `new_workspace` does; a thread does the work on the disk.

    Raises:
        SandboxFailed: the folder cannot be made or filled.
    """
    made = ExitStack()
    making = new_workspace(parent, files, begun, folders)
    try:
        yield await to_the_end(asyncio.to_thread(made.enter_context, making))
    finally:
        await to_the_end(asyncio.to_thread(made.close))


def _fill(
    folder: Path,
    files: Mapping[str, Path | bytes],
    folders: Iterable[str] = (),
    *,
    file_mode: int,
    folder_mode: int,
) -> None:
    place = folder
    try:
        folder.mkdir()
        for name, content in files.items():
            place = folder / _inside(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                place.write_bytes(content)
            else:
                shutil.copyfile(content, place)
            place.chmod(file_mode)
        for name in folders:
            place = folder / _inside(name)
            place.mkdir(parents=True, exist_ok=True)
        for path, _, _ in os.walk(folder):
            os.chmod(path, folder_mode)
    except OSError as error:
        raise SandboxFailed(f"cannot put {place} in place: {error.strerror}") from error


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise SandboxFailed(f"input file {name!r} is not a relative path inside the workspace")
    return path
