"""Rules about a task itself, all decidable by code: files, tools, deliverables, length."""

from collections.abc import Iterator

from stages.construct.rules.violation import Rulebook, Violation
from taskdata.schema.construct import TaskDraft
from taskdata.schema.task import Tier


def task_violations(draft: TaskDraft, book: Rulebook) -> tuple[Violation, ...]:
    """Return what is wrong with files, tools, deliverables and the length of the query."""
    return (*_query(draft, book), *_files(draft, book), *_tools(draft, book), *_asked(draft, book))


def _query(draft: TaskDraft, book: Rulebook) -> Iterator[Violation]:
    shortest, longest = book.task.query_length
    length = len(draft.query.strip())
    if not shortest <= length <= longest:
        message = f"has {length} characters; {shortest} to {longest} are allowed"
        yield Violation(field="query", rule="query_length", message=message)


def _files(draft: TaskDraft, book: Rulebook) -> Iterator[Violation]:
    for name in draft.files:
        if name not in book.files:
            there = ", ".join(sorted(book.files)) or "none"
            message = f"{name!r} is not attached; there are: {there}"
            yield Violation(field="files", rule="files_exist", message=message)
    yield from _repeated("files", draft.files)


def _tools(draft: TaskDraft, book: Rulebook) -> Iterator[Violation]:
    for tool in draft.tools:
        if tool not in book.tools:
            message = f"there is no tool {tool!r}; names are exact"
            yield Violation(field="tools", rule="tools_exist", message=message)
    for tool in book.wanted_tools:
        if tool not in draft.tools:
            message = f"{tool} is not allowed, and the task was asked for on its behalf"
            yield Violation(field="tools", rule="wanted_tools", message=message)
    yield from _repeated("tools", draft.tools)


def _asked(draft: TaskDraft, book: Rulebook) -> Iterator[Violation]:
    if not draft.deliverables and book.tier is Tier.WORKFLOW:
        message = "a workflow task asks for at least one file"
        yield Violation(field="deliverables", rule="deliverables", message=message)
    for spec in draft.deliverables:
        if not spec.name.lower().endswith(f".{spec.type}"):
            message = f"{spec.name!r} is a {spec.type} file, so its name ends with .{spec.type}"
            yield Violation(field="deliverables", rule="deliverable_names", message=message)
        if spec.name in draft.files:
            message = f"{spec.name!r} is also the name of an attached file"
            yield Violation(field="deliverables", rule="deliverable_names", message=message)
    yield from _repeated("deliverables", tuple(spec.name for spec in draft.deliverables))


def _repeated(field: str, names: tuple[str, ...]) -> Iterator[Violation]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Violation(field=field, rule="names_once", message=f"{name!r} is listed twice")
