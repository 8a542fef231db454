"""Reads tasks in Harbor's format, without running or building anything of a task."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from taskdata.errors import Misuse
from taskdata.formats.files import Folder
from taskdata.formats.harbor.config import CONFIG, TaskConfig, read_config
from taskdata.formats.harbor.image import FOLDER as ENVIRONMENT
from taskdata.formats.harbor.image import Surrounding, surrounding
from taskdata.formats.rows import (
    Imported,
    Made,
    RawRow,
    RowNotes,
    Source,
    each,
    readable,
    refusal,
    slug,
    title_of,
)
from taskdata.places import UNSTORABLE, is_unstorable
from taskdata.schema.checkpoint import Checkpoint, ScriptCheck
from taskdata.schema.task import (
    Capability,
    InputFile,
    Provenance,
    Resources,
    Task,
    TaskEnvironment,
    Tier,
)

QUERY = "instruction.md"
VERIFIER = "tests/test.sh"
TESTS, SOLUTION = "tests", "solution"
TOOLS = ("python_execute", "write_file")

_MAX_TEXT = 1 << 20
_MAX_DEPTH = 6
"""The most folders between the imported folder and a task's folder."""
_MAX_FILES = 2_000
_MAX_DISK_MB = 1_024
"""The most disk space of a task, because a sandbox keeps temporary files in memory."""
_MAX_MEMORY_MB = 65_536
_MINUTES, _MAX_MINUTES = 20, 10_000
_MAX_VERIFIER_SECONDS = 3_600
_MAX_CALL_SECONDS = 3_600
_TIMEOUT_SECONDS = 600.0
"""Harbor's default for tasks that state no limit."""
_MOVED = (
    "The folder output/ in which you work, /workspace/output, is the folder {workdir} that the "
    "task speaks of: programs find the same files under both paths, and tools take output/. "
    "Nothing outside of it can be changed or is kept."
)


def read(source: Source) -> Iterator[Imported]:
    """Yield the tasks below a folder, in order of their paths.

    Raises:
        Misuse: the folder holds no task.
    """
    folders = _task_folders(source.path)
    if not folders:
        raise Misuse(f"{source.path}: expected a folder of task folders, each with {CONFIG}")

    def make(raw: RawRow, notes: RowNotes) -> Made:
        return _made(source, raw.value, notes)

    rows = (RawRow(n, folder.name, folder) for n, folder in enumerate(folders, start=1))
    return each(source, source.path.resolve().name, rows, make)


def _task_folders(path: Path) -> list[Path]:
    """Return the task folders, including links to task folders; tasks are not nested."""
    if (path / CONFIG).is_file():
        return [path]
    found = list[Path]()
    for place, folders, _ in os.walk(path):
        below = [Path(place, name) for name in sorted(folders) if not name.startswith(".")]
        tasks = [folder for folder in below if (folder / CONFIG).is_file()]
        found += tasks
        is_deep = len(Path(place).relative_to(path).parts) >= _MAX_DEPTH - 1
        folders[:] = [] if is_deep else [f.name for f in below if f not in tasks]
    return sorted(found)


def _made(source: Source, root: Path, notes: RowNotes) -> Made:
    if root.is_symlink():
        raise refusal(None, "a task folder must not be a link", root.name)
    if readable(root.name) != root.name:
        raise refusal(None, "the name of the folder is no Unicode text", root.name)
    folder = Folder(root)
    config, raw = read_config(folder)
    query = _query(folder)
    places = dict[str, Path]()
    tests = _files(folder, TESTS, places)
    if not any(file.path == VERIFIER for file in tests):
        raise refusal(VERIFIER, "is missing: without it a task cannot be scored")
    solution = _files(folder, SOLUTION, places)
    context = (root.relative_to(source.path) / ENVIRONMENT).as_posix()
    around = surrounding(folder, config.environment, context, notes)
    places |= around.places or {}
    _keep(raw, root, notes)
    task = Task(
        id=slug(f"{source.format}-{root.name}"),
        tier=Tier.WORKFLOW,
        category=source.category_of(notes, config.metadata.get("category")),
        capabilities=(Capability.OPERATION,),
        title=_title(config, query),
        query=query,
        human_minutes=_minutes(config.metadata.get("expert_time_estimate_min")),
        files=around.files,
        tools=TOOLS,
        checkpoints=_tree(config),
        resources=_resources(config),
        provenance=Provenance(source=source.format, license=source.licence_of(notes)),
        environment=_environment(around, tests, solution),
        extras=source.extras(notes),
    )
    return task, places


def _query(folder: Folder) -> str:
    file, place = folder.find(QUERY, QUERY)
    if file.size_bytes > _MAX_TEXT:
        raise refusal(QUERY, f"larger than {_MAX_TEXT >> 20} MB")
    try:
        text = place.read_text(encoding="utf-8")
    except UnicodeDecodeError as exc:
        raise refusal(QUERY, f"not UTF-8 at byte {exc.start}") from exc
    if is_unstorable(text):
        raise refusal(QUERY, UNSTORABLE, text)
    if not text.strip():
        raise refusal(QUERY, "is empty")
    return text


def _files(folder: Folder, top: str, places: dict[str, Path]) -> tuple[InputFile, ...]:
    found = list[InputFile]()
    for path in folder.below(top, top):
        file, place = folder.find(path, path)
        places[file.sha256] = place
        found.append(file)
    return tuple(found)


def _keep(raw: dict[str, Any], root: Path, notes: RowNotes) -> None:
    """Keep the whole configuration and the name of the folder with the task."""
    notes.keep("folder", root.name)
    notes.assumed.update(("capabilities", "tools"))
    notes.keep_rest(_plain(raw), ())


def _plain(value: Any) -> Any:
    """Return the value with dates as text, because JSON has no dates."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool) else str(value)


def _title(config: TaskConfig, query: str) -> str:
    description = config.metadata.get("description")
    return title_of(description if isinstance(description, str) and description else query)


def _minutes(estimate: Any) -> int:
    is_number = isinstance(estimate, int | float) and not isinstance(estimate, bool)
    return max(1, min(_MAX_MINUTES, round(estimate))) if is_number else _MINUTES


def _tree(config: TaskConfig) -> Checkpoint:
    seconds = min(_MAX_VERIFIER_SECONDS, config.verifier.timeout_sec or _TIMEOUT_SECONDS)
    verifier = ScriptCheck(
        entry=VERIFIER,
        verdict="reward_file",
        full_score=1.0,
        seconds=max(1, round(seconds)),
        memory_mb=_memory(config),
    )
    leaf = Checkpoint(id="tests", requirement="The task's own tests pass.", verifier=verifier)
    return Checkpoint(
        id="root",
        requirement="The state that the task asks for has been reached.",
        children=(leaf,),
    )


def _resources(config: TaskConfig) -> Resources:
    """Return the limits of one call; its time limit is the task's limit for the whole agent."""
    seconds = min(_MAX_CALL_SECONDS, config.agent.timeout_sec or _TIMEOUT_SECONDS)
    storage = config.environment.storage_megabytes or _MAX_DISK_MB
    return Resources(
        cpu_seconds=max(1, round(seconds)),
        wall_seconds=seconds,
        memory_mb=_memory(config),
        disk_mb=min(_MAX_DISK_MB, storage),
        max_files=_MAX_FILES,
        network=config.environment.allowed_hosts,
    )


def _memory(config: TaskConfig) -> int:
    return min(_MAX_MEMORY_MB, config.environment.memory_megabytes or 2_048)


def _environment(
    around: Surrounding, tests: tuple[InputFile, ...], solution: tuple[InputFile, ...]
) -> TaskEnvironment:
    return TaskEnvironment(
        one_workspace=True,
        system_prompt=_MOVED.format(workdir=around.image.workdir),
        image=around.image,
        evaluation=tests,
        groundtruth=solution,
    )
