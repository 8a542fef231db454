"""The texts of a task that people or models wrote, by place: what safety rules read."""

import json
from collections.abc import Iterator

from taskdata.schema.checkpoint import Judge, checked_by_code
from taskdata.schema.task import Task


def texts_of(task: Task) -> dict[str, str]:
    """Return every text that an agent, a judge or a person reads, by place.

    These are title, query, descriptions of deliverables, requirements, rubrics, arguments of
    checks, the expected answer, the reference's steps and answer, and what a simulated user is
    told.
    """
    return {place: text for place, text in _texts(task) if text.strip()}


def request_of(task: Task) -> str:
    """Return what a task asks for, in sentences: title, query and descriptions of deliverables."""
    described = (spec.description for spec in task.deliverables)
    return "\n\n".join((task.title, task.query, *described))


def _texts(task: Task) -> Iterator[tuple[str, str]]:
    yield "title", task.title
    yield "query", task.query
    yield "file names", "\n".join(file.path for file in task.files)
    for spec in task.deliverables:
        yield f"deliverable {spec.name}", spec.description
    for node in task.checkpoints.nodes():
        yield f"checkpoint {node.id}", node.requirement
        if isinstance(node.verifier, Judge):
            yield f"rubric {node.id}", node.verifier.rubric
        elif (check := checked_by_code(node.verifier)) is not None:
            yield f"check {node.id}", _values(check.args)
    if task.answer is not None:
        yield "expected answer", _values(task.answer.model_dump(mode="json", exclude={"kind"}))
    if task.reference is not None:
        yield "reference", _values(task.reference.model_dump(mode="json"))
    if (user := task.simulated_user) is not None:
        yield "simulated user", f"{user.persona}\n{user.instructions}"


def _values(value: object) -> str:
    """Return the texts and numbers inside a JSON value, one a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(_values(part) for part in value.values())
    if isinstance(value, list | tuple):
        return "\n".join(_values(part) for part in value)
    return "" if value is None or isinstance(value, bool) else json.dumps(value)
