"""Planning cases of a bank in one compact file, for they share what they are made of.

A folder with `cases.jsonl` holds a case in each line. Tools of the catalogue stand once in
`tools.json` and are named by the cases, a prefix names how many steps of the trajectory in
`sources/trajectories.jsonl` it has, and files are those of the bundled bank that the line names.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from taskdata.artifacts import sha256_of
from taskdata.errors import BadTaskData
from taskdata.schema.planning import CaseTool, PrefixStep
from taskdata.schema.task import Task

CASES = "cases.jsonl"
TOOLS = "tools.json"
TRAJECTORIES = "sources/trajectories.jsonl"

_MAX_LINE = 1 << 20


def read_cases(
    folder: Path, bundled: Path, only: Sequence[str] = ()
) -> tuple[dict[str, Task], dict[str, Path]]:
    """Return the cases of a folder by id, and their files by sha256.

    Args:
        folder: Holds the files that the module names.
        bundled: The folder of the bundled banks, from which the cases' files are taken.
        only: Ids of the cases to keep; empty keeps all.

    Raises:
        BadTaskData: if a line is malformed, or a file is not what it was; names the line.
    """
    source = folder / CASES
    tools: dict[str, Any] = json.loads((folder / TOOLS).read_text(encoding="utf-8"))
    steps = _steps(folder / TRAJECTORIES)
    tasks, files = dict[str, Task](), dict[str, Path]()
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            fields = _parsed(line)
            if only and fields.get("id") not in only:
                continue
            bank = _bundled_bank(bundled, fields.pop("files_of"))
            task = Task.model_validate(_unfolded(fields, tools, steps))
        except (KeyError, ValidationError, ValueError) as exc:
            what = exc.errors()[0]["msg"] if isinstance(exc, ValidationError) else repr(exc)
            raise BadTaskData(f"{source}:{number}: is no planning case: {what}") from exc
        tasks[task.id] = task
        files |= _files(task, bank, f"{source}:{number}")
    return tasks, files


def case_ids(folder: Path) -> set[str]:
    """Return the ids of the cases of a folder; empty if it holds none."""
    source = folder / CASES
    if not source.is_file():
        return set()
    lines = source.read_text(encoding="utf-8").splitlines()
    return {str(_parsed(line).get("id")) for line in lines}


def as_files(
    cases: Iterable[Task], trajectories: Mapping[str, Sequence[PrefixStep]], files_of: str
) -> dict[str, str]:
    """Return the text of each file of a folder that `read_cases` reads, by its name.

    The trajectories, which lie in the folder already, are not among them.

    Args:
        cases: The cases.
        trajectories: The steps of the trajectories by task id.
        files_of: The bundled bank whose files the cases have.
    """
    ordered = sorted(cases, key=lambda task: task.id)
    shared = _shared_tools(ordered)
    lines = [_folded(task, shared, trajectories) | {"files_of": files_of} for task in ordered]
    return {
        CASES: "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines),
        TOOLS: json.dumps(shared, ensure_ascii=False, indent=1, sort_keys=True) + "\n",
    }


def _shared_tools(cases: Sequence[Task]) -> dict[str, dict[str, Any]]:
    """Return the tools that several cases offer in one and the same way, by name."""
    seen = dict[str, list[dict[str, Any]]]()
    for case in cases:
        for tool in case.planning.tools if case.planning else ():
            seen.setdefault(tool.name, []).append(_plain(tool))
    return {
        name: first
        for name, (first, *others) in seen.items()
        if others and all(other == first for other in others)
    }


def _plain(tool: CaseTool) -> dict[str, Any]:
    """Return a tool without its cost, which differs from case to case."""
    return tool.model_dump(mode="json", exclude_defaults=True, exclude={"cost", "name"})


def _folded(
    task: Task, shared: Mapping[str, Any], trajectories: Mapping[str, Sequence[PrefixStep]]
) -> dict[str, Any]:
    fields = task.model_dump(mode="json", exclude_defaults=True)
    # A verifier's kind is its default, and what tells it apart.
    fields["checkpoints"] = task.checkpoints.model_dump(mode="json")
    case = task.planning
    if case is None:
        raise BadTaskData(f"task {task.id!r}: is no planning case")
    planning = fields["planning"]
    planning["tools"] = [
        {"name": tool.name} | ({} if tool.cost is None else {"cost": tool.cost})
        if tool.name in shared
        else tool.model_dump(mode="json", exclude_defaults=True)
        for tool in case.tools
    ]
    steps = tuple(trajectories[case.origin.task_id])
    failed = case.prefix[-1] if case.prefix and case.prefix[-1].failed else None
    taken = len(case.prefix) - (failed is not None)
    if case.prefix[:taken] != steps[:taken]:
        raise BadTaskData(f"task {task.id!r}: its prefix is not that of its trajectory")
    planning["prefix"] = {"steps": taken} | ({} if failed is None else {"error": failed.result})
    return fields


def _unfolded(
    fields: dict[str, Any], tools: Mapping[str, Any], steps: Mapping[str, Sequence[PrefixStep]]
) -> dict[str, Any]:
    planning = fields["planning"]
    taken, error = planning["prefix"]["steps"], planning["prefix"].get("error")
    own = steps[planning["origin"]["task_id"]]
    prefix = list(own[:taken])
    if error is not None:
        prefix.append(own[taken].model_copy(update={"result": error, "failed": True}))
    offered = [tools.get(tool["name"], {}) | tool for tool in planning["tools"]]
    return fields | {"planning": planning | {"prefix": tuple(prefix), "tools": offered}}


def _steps(path: Path) -> dict[str, tuple[PrefixStep, ...]]:
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = _parsed(line)
        found[str(fields["task_id"])] = tuple(map(PrefixStep.model_validate, fields["steps"]))
    return found


def _bundled_bank(bundled: Path, name: Any) -> Path:
    # The name is a part of a path, and may come from anybody.
    known = {path.name: path for path in bundled.iterdir() if path.is_dir()}
    if name not in known:
        raise ValueError(f"files_of: there is no bundled bank {name!r}")
    return known[name]


def _files(task: Task, bank: Path, place: str) -> dict[str, Path]:
    found = {}
    source = task.planning.origin.task_id if task.planning else task.id
    for file in task.files:
        path = bank / source / "files" / file.path
        if not path.is_file() or sha256_of(path) != file.sha256:
            raise BadTaskData(
                f"{place}: {file.path!r} of task {source!r} in bank {bank.name!r} is not the file "
                "that the case was made with; make the cases again"
            )
        found[file.sha256] = path
    return found


def _parsed(line: str) -> dict[str, Any]:
    if len(line) > _MAX_LINE:
        raise ValueError(f"a line of more than {_MAX_LINE} characters")
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise ValueError("expected a JSON object")
    return fields
