"""The MCP servers that a task's pool brings, and the task's files that they may see."""

from pathlib import Path

from environments.mcp.pool.starting import PoolEntry, pool_entries, pool_servers
from environments.ports import Workspace
from taskdata.artifacts import ArtifactStore
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Task

_FOLDER = "task"


def started_from_pool(
    task: Task, workspace: Workspace, artifacts: ArtifactStore, bank: str
) -> tuple[PoolEntry, ...]:
    """Return the servers of the task's pool for a trial in `workspace`; blocks.

    Configurations name files of the task's folder as `${task_dir}/FILE`. The existing ones are
    written beside the workspace, where only sandboxes of servers see them. Files that evaluate the
    task are never among them.

    Raises:
        SandboxFailed: the files cannot be written.
        NightshiftError: the store cannot return a file.
    """
    wanted = {path for server in pool_servers(task) for path in server.task_files}
    given = task.environment.preprocess if task.environment else ()
    found = [file for file in given if file.path in wanted]
    if not found:
        return pool_entries(task, bank=bank)
    folder = workspace.root / _FOLDER
    try:
        for file in found:
            place = folder / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(artifacts.read_bytes(file.sha256))
            place.chmod(0o444)
        _open(folder)
    except OSError as error:
        raise SandboxFailed(f"cannot fill {folder}: {error.strerror}") from error
    return pool_entries(task, folder, bank)


def _open(folder: Path) -> None:
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        place.chmod(0o755)
