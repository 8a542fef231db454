"""Finds misspelt words in a bank's folder, each with its place and what was probably meant.

Nothing is run and no server is contacted; `nightshift bank check` shows the result.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from environments.tool_runtime.host_registry import HOST_MODULES
from environments.tool_runtime.registry import MODULES
from environments.tools.session.finish import ENDING_TOOLS
from stages.score.check import CheckSpec
from stages.score.library import check_library, kind_of_file
from taskdata.banks.cases import CASES
from taskdata.banks.loader import MAX_YAML_BYTES, load_bank, load_task, task_folders
from taskdata.errors import BadTaskData
from taskdata.plain_yaml import composed, loaded
from taskdata.schema.base import Value
from taskdata.schema.checkpoint import (
    AskedAgain,
    Check,
    Checkpoint,
    Judge,
    ScriptCheck,
    ToolResultCheck,
)
from taskdata.schema.package import SimulatedUser, TaskPackage
from taskdata.schema.service import FOLDER
from taskdata.schema.task import DeliverableSpec, Resources, Task

TASK_FILE = "task.yaml"
SOLUTION_FILE = "reference/solution.yaml"

_Place = tuple[str | int, ...]
_TOOLS = (*MODULES, *HOST_MODULES, *ENDING_TOOLS)
_VERIFIERS: Mapping[str, type[BaseModel]] = {
    "check": Check,
    "judge": Judge,
    "tool_result": ToolResultCheck,
    "script": ScriptCheck,
    "asked_again": AskedAgain,
}
_MODELS: Mapping[str, type[BaseModel]] = {
    "checkpoints": Checkpoint,
    "children": Checkpoint,
    "deliverables": DeliverableSpec,
    "resources": Resources,
    "package": TaskPackage,
    "user": SimulatedUser,
    **_VERIFIERS,
}
"""The kind of words that a field of this name contains."""
_MOST_MATCHES = 3


class Fault(Value):
    """One error in a bank's folder."""

    task: str
    file: str
    """Path within the task's folder."""
    line: int | None = None
    place: str = ""
    """Path of the field: `checkpoints.children[0].verifier.args.al`."""
    message: str
    near: tuple[str, ...] = ()
    """Suggestions."""


def proofread(name_or_path: str) -> tuple[int, tuple[Fault, ...]]:
    """Return how many tasks a bank has, and every fault in them.

    Raises:
        Misuse: there is no such bank.
    """
    folders = task_folders(name_or_path)
    if not folders:
        return _of_cases(name_or_path)
    return len(folders), tuple(fault for folder in folders for fault in _of_task(folder))


def _of_cases(name_or_path: str) -> tuple[int, tuple[Fault, ...]]:
    """Return how many planning cases a bank has, and the rules that they break."""
    from stages.construct.planning.cases.rules import faults_of

    try:
        cases = load_bank(name_or_path).tasks
    except BadTaskData as exc:
        return 0, (Fault(task=Path(name_or_path).name, file=CASES, message=str(exc)),)
    found = ((n, case, says) for n, case in enumerate(cases, 1) for says in faults_of(case))
    return len(cases), tuple(
        Fault(task=case.id, file=CASES, line=number, message=says) for number, case, says in found
    )


def _of_task(folder: Path) -> Iterator[Fault]:
    try:
        page = _Page(folder, TASK_FILE)
    except BadTaskData as exc:
        yield Fault(task=folder.name, file=TASK_FILE, message=_message(exc, folder))
        return
    yield from _tools(page)
    yield from _deliverables(page)
    for place, verifier in _verifiers(page.value.get("checkpoints"), ("checkpoints",)):
        yield from _verifier(page, place, verifier)
    if not _has_servers(page):
        yield from _steps(folder)
    yield from _schema(page, folder)


class _Page:
    """A YAML file, as values and as nodes with line numbers."""

    def __init__(self, folder: Path, file: str) -> None:
        path = folder / file
        if path.is_symlink() or path.stat().st_size > MAX_YAML_BYTES:
            raise BadTaskData(f"{file}: a link, or larger than {MAX_YAML_BYTES} bytes")
        text = path.read_text(encoding="utf-8", errors="replace")
        self.task, self.file = folder.name, file
        self._node = composed(text, file)
        value = loaded(text, file)
        if not isinstance(value, dict):
            raise BadTaskData(f"{file}: expected a mapping of fields")
        self.value: Mapping[str, Any] = value

    def fault(self, place: _Place, message: str, near: Iterable[str] = ()) -> Fault:
        return Fault(
            task=self.task,
            file=self.file,
            line=self._line(place),
            place=_written(place),
            message=message,
            near=tuple(near),
        )

    def _line(self, place: _Place) -> int | None:
        """Return the line of a place, or of the nearest enclosing one that exists."""
        node, line = self._node, None
        for step in place:
            if isinstance(node, yaml.MappingNode):
                pairs = {str(key.value): (key, value) for key, value in node.value}
                if step not in pairs:
                    continue
                key, node = pairs[str(step)]
                line = key.start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                if step >= len(node.value):
                    break
                node = node.value[step]
                line = node.start_mark.line + 1
        return line


def _tools(page: _Page) -> Iterator[Fault]:
    for index, tool in enumerate(_list(page.value.get("tools"))):
        if tool not in _TOOLS:
            yield page.fault(("tools", index), f"no tool {tool!r}", _near(tool, _TOOLS))


def _deliverables(page: _Page) -> Iterator[Fault]:
    asked = _names(page.value)
    for place, verifier in _verifiers(page.value.get("checkpoints"), ("checkpoints",)):
        looked_at: list[tuple[_Place, Any]] = [
            ((*place, "deliverable"), verifier.get("deliverable"))
        ]
        looked_at += [
            ((*place, "deliverables", index), name)
            for index, name in enumerate(_list(verifier.get("deliverables")))
        ]
        for where, name in looked_at:
            is_state = isinstance(name, str) and PurePosixPath(name).parts[:1] == (FOLDER,)
            if isinstance(name, str) and name not in asked and not is_state:
                message = f"{name!r} is no deliverable of the task"
                yield page.fault(where, message, _near(name, asked))


def _verifiers(node: Any, place: _Place) -> Iterator[tuple[_Place, Mapping[str, Any]]]:
    """Yield every verifier of a tree as written, with its place."""
    waiting: list[tuple[Any, _Place]] = [(node, place)]
    while waiting:
        node, place = waiting.pop(0)
        if not isinstance(node, dict):
            continue
        if isinstance(node.get("verifier"), dict):
            yield (*place, "verifier"), node["verifier"]
        children = _list(node.get("children"))
        waiting += [(child, (*place, "children", i)) for i, child in enumerate(children)]


def _verifier(page: _Page, place: _Place, verifier: Mapping[str, Any]) -> Iterator[Fault]:
    # The names of a server's tools are unknown until the server runs.
    if verifier.get("kind") == "tool_result" and not _has_servers(page):
        for index, tool in enumerate(_list(verifier.get("tools"))):
            if tool not in _TOOLS:
                where = (*place, "tools", index)
                yield page.fault(where, f"no tool {tool!r}", _near(tool, _TOOLS))
    if verifier.get("kind") != "check":
        return
    name = verifier.get("name")
    spec = check_library().get(name) if isinstance(name, str) else None
    if spec is None:
        near = _near(name, check_library())
        yield page.fault((*place, "name"), f"no check {name!r}", near)
        return
    yield from _looks_at(page, place, spec, verifier.get("deliverable"))
    yield from _arguments(page, (*place, "args"), spec, verifier.get("args") or {})


def _looks_at(page: _Page, place: _Place, spec: CheckSpec, file: object) -> Iterator[Fault]:
    reads = ", ".join(spec.reads)
    if file is None and str not in spec.looks_at:
        yield page.fault(place, f"{spec.name} needs a deliverable; it reads {reads}")
    if isinstance(file, str) and kind_of_file(file) not in spec.looks_at:
        message = f"{spec.name} reads {reads}, which {file!r} is not"
        yield page.fault((*place, "deliverable"), message)


def _arguments(page: _Page, place: _Place, spec: CheckSpec, args: object) -> Iterator[Fault]:
    try:
        spec.args.model_validate(args)
    except ValidationError as exc:
        known = [field.alias or name for name, field in spec.args.model_fields.items()]
        meant: set[str] = set()
        # Unknown words first: one of them may be the missing argument, misspelt.
        errors = sorted(_causes(exc), key=lambda error: error["type"] != "extra_forbidden")
        for error in errors:
            where, word = (*place, *error["loc"]), str(error["loc"][0]) if error["loc"] else ""
            is_own = len(error["loc"]) == 1
            if error["type"] == "extra_forbidden" and is_own:
                near = _near(word, known)
                meant.update(near)
                has = ", ".join(known) or "none"
                yield page.fault(where, f"{spec.name} has no argument {word!r}, but {has}", near)
            elif error["type"] == "missing" and is_own:
                if word not in meant:
                    yield page.fault(where, f"{spec.name} needs the argument {word!r}")
            else:
                message = error["msg"].removeprefix("Value error, ")
                yield page.fault(where, f"{spec.name}: {message}")


def _causes(error: ValidationError) -> list[Any]:
    """Return the errors without those that only repeat that an inner value is wrong."""
    errors: list[Any] = list(error.errors(include_url=False))
    return [
        one
        for one in errors
        if not any(
            len(other["loc"]) > len(one["loc"]) and other["loc"][: len(one["loc"])] == one["loc"]
            for other in errors
        )
    ]


def _steps(folder: Path) -> Iterator[Fault]:
    """Yield the errors in the tools of the reference solution."""
    if not (folder / SOLUTION_FILE).is_file():
        return
    try:
        page = _Page(folder, SOLUTION_FILE)
    except BadTaskData as exc:
        yield Fault(task=folder.name, file=SOLUTION_FILE, message=_message(exc, folder))
        return
    for index, step in enumerate(_list(page.value.get("steps"))):
        tool = step.get("tool") if isinstance(step, dict) else None
        if tool is not None and tool not in _TOOLS:
            near = _near(tool, _TOOLS)
            yield page.fault(("steps", index, "tool"), f"no tool {tool!r}", near)


def _schema(page: _Page, folder: Path) -> Iterator[Fault]:
    """Yield the errors that the task's schema finds: other fields, values and files."""
    try:
        load_task(folder)
    except BadTaskData as exc:
        cause = exc.__cause__
        if not isinstance(cause, ValidationError):
            yield Fault(task=folder.name, file=TASK_FILE, message=_message(exc, folder))
            return
        for error in _causes(cause):
            place = tuple(error["loc"])
            # The task as a whole is reported for its deliverables, which were checked above.
            if place or "are not among the deliverables" not in error["msg"]:
                yield _schema_fault(page, place, error)


def _schema_fault(page: _Page, place: _Place, error: Any) -> Fault:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        known = _fields_at(place)
        return page.fault(place, f"no field {place[-1]!r} here", _near(place[-1], known))
    if kind == "union_tag_invalid":
        place = (*place, "kind")
    choices = str(context.get("expected") or context.get("expected_tags") or "")
    near = _near(error["input"] if kind != "union_tag_invalid" else context["tag"], _words(choices))
    return page.fault(place, error["msg"].removeprefix("Value error, "), near)


def _fields_at(place: _Place) -> Sequence[str]:
    names = [step for step in place[:-1] if isinstance(step, str)]
    model = _MODELS.get(names[-1]) if names else Task
    return tuple(model.model_fields) if model is not None else ()


def _has_servers(page: _Page) -> bool:
    """Return whether the task may use tools of MCP servers in addition to the catalogue's."""
    around = page.value.get("environment")
    return isinstance(around, dict) and bool(_list(around.get("servers")))


def _names(task: Mapping[str, Any]) -> list[str]:
    specs = (spec for spec in _list(task.get("deliverables")) if isinstance(spec, dict))
    return [str(spec.get("name")) for spec in specs]


def _near(word: object, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known words that are most similar to this one, ignoring case."""
    by_fold = {name.casefold(): name for name in known}
    found = get_close_matches(str(word).casefold(), by_fold, n=_MOST_MATCHES, cutoff=0.5)
    return tuple(by_fold[name] for name in found)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _words(choices: str) -> list[str]:
    return [part.strip(" '") for part in choices.replace(" or ", ",").split(",") if part.strip()]


def _written(place: _Place) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".")


def _message(error: BadTaskData, folder: Path) -> str:
    """Return an error's message without the path, which is shown beside it."""
    return str(error).removeprefix(f"{folder}/").removeprefix(f"{TASK_FILE}: ")
