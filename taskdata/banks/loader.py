"""Read a bank: a folder of task folders, each with `task.yaml`, `files/` and `reference/`.

A bank of planning cases is one file instead (`cases.py`).

What a service of the task starts from is in `services/<name>/`, programs that make the initial
state in `preprocess/`, what only the verifiers see in `evaluation/` and `groundtruth/`, and what a
search finds in `search/`.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from taskdata.artifacts import sha256_of
from taskdata.banks.cases import CASES, case_ids, read_cases
from taskdata.errors import BadTaskData, Misuse
from taskdata.plain_yaml import loaded
from taskdata.schema.service import FOLDER as SERVICES
from taskdata.schema.task import InputFile, ReferenceSolution, Task

HIDDEN_FOLDERS = ("preprocess", "evaluation", "groundtruth", "search")
"""Folders of a task that are fields of its environment; paths of their files begin with them."""

_BUNDLED = Path(__file__).resolve().parent
MAX_YAML_BYTES = 1 << 20
_MAX_FILE_BYTES = 256 << 20


@dataclass(frozen=True)
class Bank:
    """A bank as read from disk."""

    name: str
    tasks: tuple[Task, ...]
    files: dict[str, Path]
    """Input files by sha256."""


def bundled_banks() -> tuple[str, ...]:
    """Return the names of the banks that come with the project."""
    return tuple(sorted(p.name for p in _BUNDLED.iterdir() if holds_tasks(p)))


def holds_tasks(folder: Path) -> bool:
    """Return whether a folder is that of a bank."""
    return any(folder.glob("*/task.yaml")) or (folder / CASES).is_file()


def load_bank(name_or_path: str, only: Sequence[str] = ()) -> Bank:
    """Return the bundled bank of that name, or the bank in that folder.

    Args:
        name_or_path: A name from `bundled_banks`, or a folder of task folders.
        only: Ids of the tasks to keep; empty keeps all.

    Raises:
        Misuse: if there is no such bank, or no such task in it.
        BadTaskData: if a task is malformed; names file and field.
    """
    folder = _bank_folder(name_or_path)
    files: dict[str, Path] = {}
    tasks = []
    ids = {path.parent.name for path in folder.glob("*/task.yaml")}
    cases = case_ids(folder)
    ids |= cases
    unknown = sorted(set(only) - ids)
    if unknown:
        raise Misuse(
            f"bank {folder.name!r} has no task {', '.join(map(repr, unknown))}; "
            f"`nightshift bank list --bank {name_or_path}` names its {len(ids)} tasks"
        )
    planned, planned_files = read_cases(folder, _BUNDLED, only) if cases else ({}, {})
    files |= planned_files
    for task_id in sorted(set(only) or ids):
        if task_id in planned:
            tasks.append(planned[task_id])
            continue
        task, paths = _task_in(folder / task_id)
        tasks.append(task)
        files |= paths
    return Bank(name=folder.name, tasks=tuple(tasks), files=files)


def _task_in(folder: Path) -> tuple[Task, dict[str, Path]]:
    """Return what `load_task` does; a bundled task is read once, unless a file of it changes."""
    if folder.parent.parent != _BUNDLED:
        return load_task(folder)
    found = [(path, path.lstat()) for path in sorted(folder.rglob("*"))]
    state = tuple((str(p), s.st_mode, s.st_size, s.st_mtime_ns, s.st_ino) for p, s in found)
    return _task_in_state(folder, state)


@lru_cache(maxsize=256)
def _task_in_state(
    folder: Path, _state: tuple[tuple[str, int, int, int, int], ...]
) -> tuple[Task, dict[str, Path]]:
    return load_task(folder)


def task_folders(name_or_path: str) -> tuple[Path, ...]:
    """Return the folders of a bank's tasks, or the one task folder that the path is.

    Raises:
        Misuse: if there is no such bank.
        BadTaskData: if something in it is a link.
    """
    single = Path(name_or_path).expanduser()
    if (single / "task.yaml").is_file():
        return (single.resolve(),)
    return tuple(sorted(path.parent for path in _bank_folder(name_or_path).glob("*/task.yaml")))


def load_task(folder: Path) -> tuple[Task, dict[str, Path]]:
    """Return the task in `folder` and its input files by sha256.

    Raises:
        BadTaskData: if it is malformed; names file and field.
    """
    _refuse_links(folder)
    source = folder / "task.yaml"
    fields = _read_mapping(source)
    forbidden = sorted({"id", "files", "reference"} & fields.keys())
    if forbidden:
        raise BadTaskData(
            f"{source}: field {forbidden[0]!r} comes from the folder; remove it from task.yaml"
        )
    inputs, paths = _input_files(folder / "files")
    around, more_paths = _with_service_files(fields.get("environment"), folder)
    if around is not None:
        fields["environment"] = around
    hidden, hidden_paths = _with_hidden_files(fields.get("environment"), folder)
    if hidden is not None:
        fields["environment"] = hidden
    try:
        task = Task.model_validate(
            fields | {"id": folder.name, "files": inputs, "reference": _reference(folder)}
        )
    except ValidationError as exc:
        raise BadTaskData(f"{source}: {describe(exc)}") from exc
    return task, paths | more_paths | hidden_paths


def describe(error: ValidationError) -> str:
    """Return the first fault of a validation error in one line: field, what is wrong, value."""
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"]) or "task"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    given = repr(fault["input"])
    given = given if len(given) <= 80 else given[:77] + "..."
    return f"field {field}: {fault['msg']}; got {given}{more}"


def _bank_folder(name_or_path: str) -> Path:
    if name_or_path in bundled_banks():
        return _BUNDLED / name_or_path
    path = Path(name_or_path).expanduser()
    if path.is_dir() and holds_tasks(path):
        for entry in (path, *path.iterdir()):
            if entry.is_symlink():
                raise _no_plain_entry(entry)
        return path.resolve()
    raise Misuse(
        f"bank {name_or_path!r} is unknown; bundled: {', '.join(bundled_banks())}; "
        "or give a folder that holds <task>/task.yaml"
    )


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_YAML_BYTES:
            raise BadTaskData(f"{path}: larger than {MAX_YAML_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise BadTaskData(f"{path}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{path}: not UTF-8 at byte {exc.start}") from exc
    fields = loaded(text, str(path))
    if not isinstance(fields, dict):
        raise BadTaskData(f"{path}: expected a mapping of fields, got {type(fields).__name__}")
    return fields


def _with_service_files(
    environment: Any, folder: Path
) -> tuple[dict[str, Any] | None, dict[str, Path]]:
    """Return the environment with each service's files from `services/<name>/`, None without."""
    root = folder / SERVICES
    services = environment.get("services") if isinstance(environment, dict) else None
    known = [s for s in services if isinstance(s, dict)] if isinstance(services, list) else []
    names = {str(service.get("name")) for service in known}
    strange = sorted(p.name for p in root.iterdir() if p.name not in names) if root.exists() else []
    if strange:
        raise BadTaskData(f"{root / strange[0]}: task.yaml has no service {strange[0]!r}")
    if not known or known != services:
        return None, {}
    filled, paths = [], {}
    for service in known:
        if "files" in service:
            raise BadTaskData(
                f"{folder / 'task.yaml'}: service {service.get('name')!r}: the field 'files' comes "
                f"from {SERVICES}/{service.get('name')}/; remove it from task.yaml"
            )
        inputs, found = _input_files(root / str(service.get("name")))
        filled.append(service | {"files": inputs})
        paths |= found
    return environment | {"services": filled}, paths


def _with_hidden_files(
    environment: Any, folder: Path
) -> tuple[dict[str, Any] | None, dict[str, Path]]:
    """Return the environment with the files that no agent sees as such, None without any."""
    found = {part: folder / part for part in HIDDEN_FOLDERS if (folder / part).is_dir()}
    if not found or not (environment is None or isinstance(environment, dict)):
        return None, {}
    filled, paths = dict(environment or {}), dict[str, Path]()
    for part, root in found.items():
        if part in filled:
            raise BadTaskData(
                f"{folder / 'task.yaml'}: the field 'environment.{part}' comes from {part}/; "
                "remove it from task.yaml"
            )
        inputs, places = _input_files(root)
        filled[part] = tuple(f.model_copy(update={"path": f"{part}/{f.path}"}) for f in inputs)
        paths |= places
    return filled, paths


def _input_files(root: Path) -> tuple[tuple[InputFile, ...], dict[str, Path]]:
    inputs, paths = [], {}
    for path in sorted(_files_below(root)):
        name = path.relative_to(root).as_posix()
        size = path.stat().st_size
        if size > _MAX_FILE_BYTES:
            raise BadTaskData(f"{_shown(path)}: larger than {_MAX_FILE_BYTES} bytes")
        sha256 = sha256_of(path)
        try:
            inputs.append(InputFile(path=name, sha256=sha256, size_bytes=size))
        except ValidationError as exc:
            raise BadTaskData(f"{_shown(path)}: {describe(exc)}") from exc
        paths[sha256] = path
    return tuple(inputs), paths


def _files_below(root: Path) -> list[Path]:
    return [Path(folder, name) for folder, _, names in os.walk(root) for name in names]


def _refuse_links(task: Path) -> None:
    """Raise `BadTaskData` for a link or a device among what is in a task's folder, or in its place.

    A bank comes from somebody else: what a link leads to would be taken for a part of it.
    """
    if task.is_symlink():
        raise _no_plain_entry(task)
    for folder, folders, names in os.walk(task):
        for name in (*folders, *names):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise _no_plain_entry(path)


def _no_plain_entry(path: Path) -> BadTaskData:
    return BadTaskData(
        f"{_shown(path)}: a bank holds plain files and folders, not links or devices"
    )


def _shown(path: Path) -> str:
    """Return the path for a message, in which a name that a bank brings is one line."""
    text = str(path)
    return text if text.isprintable() else ascii(text)


def _reference(folder: Path) -> ReferenceSolution | None:
    source = folder / "reference" / "solution.yaml"
    if not source.exists():
        return None
    fields = _fill_in(_read_mapping(source), source.parent, source)
    try:
        return ReferenceSolution.model_validate(fields)
    except ValidationError as exc:
        raise BadTaskData(f"{source}: {describe(exc)}") from exc


def _fill_in(value: Any, folder: Path, source: Path) -> Any:
    """Replace every `{from_file: NAME}` by the text of that file in the reference folder."""
    if isinstance(value, list):
        return [_fill_in(item, folder, source) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != {"from_file"}:
        return {key: _fill_in(item, folder, source) for key, item in value.items()}
    path = (folder / str(value["from_file"])).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise BadTaskData(f"{source}: from_file {value['from_file']!r} is not a file beside it")
    return path.read_text(encoding="utf-8")
