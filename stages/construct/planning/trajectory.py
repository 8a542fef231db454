"""Trajectories: the steps of a finished trial or of a played reference solution, ready to be cut.

Their long texts are shortened, because every step may become part of a case.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from environments.tools.session.finish import FINISH
from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData
from taskdata.schema.base import Sha256, Slug, Value
from taskdata.schema.planning import PrefixStep
from taskdata.schema.task import ReferenceSolution, Task
from taskdata.schema.transcript import Transcript

MAX_TEXT = 1_000
"""Characters kept of one argument or result."""


class Trajectory(Value):
    """All steps that solved a task, in order."""

    task_id: Slug
    task_hash: Sha256
    trial_id: str | None = None
    """The trial whose steps they are; None: the task's reference solution was played."""
    steps: tuple[PrefixStep, ...] = Field(min_length=1)


def of_solution(task: Task, solution: ReferenceSolution) -> Trajectory:
    """Return the trajectory of a reference solution whose results were recorded.

    Raises:
        BadTaskData: if it has no step, or a step without a result.
    """
    unrecorded = [step.tool for step in solution.steps if step.result is None]
    if unrecorded or not solution.steps:
        what = f"the result of {unrecorded[0]} was not recorded" if unrecorded else "has no step"
        raise BadTaskData(f"task {task.id!r}: its reference solution cannot be cut: {what}")
    steps = (_step(s.tool, s.arguments, s.thought, s.result or "") for s in solution.steps)
    return Trajectory(task_id=task.id, task_hash=task.content_hash, steps=tuple(steps))


def of_trial(task: Task, trial_id: str, transcript: Transcript) -> Trajectory | None:
    """Return the trajectory of a successful trial; None if it cannot be a reference.

    A reference has at least one step, every call of it is known, and no call failed.
    """
    events = [event for event in transcript.tool_events if event.call.tool != FINISH]
    if not events or not transcript.calls_are_known or any(e.error for e in events):
        return None
    steps = (_step(e.call.tool, e.call.arguments or {}, "", e.text) for e in events)
    return Trajectory(
        task_id=task.id, task_hash=task.content_hash, trial_id=trial_id, steps=tuple(steps)
    )


def read_trajectories(path: Path) -> dict[str, Trajectory]:
    """Return the trajectories of a JSON Lines file by task id.

    Raises:
        BadTaskData: if a line is none; names it.
    """
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            one = Trajectory.model_validate_json(line)
        except ValidationError as exc:
            raise BadTaskData(f"{path}:{number}: {describe(exc)}") from exc
        found[one.task_id] = one
    return found


def as_lines(trajectories: Iterable[Trajectory]) -> str:
    """Return the text of a file that `read_trajectories` reads."""
    dumped = (one.model_dump(mode="json", exclude_defaults=True) for one in trajectories)
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in dumped)


def shortened(text: str) -> str:
    """Return the text, cut with a notice if it is longer than `MAX_TEXT`."""
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n(... {len(text) - MAX_TEXT:,} more characters)"


def _step(tool: str, arguments: Mapping[str, Any], thought: str, result: str) -> PrefixStep:
    return PrefixStep(
        tool=tool,
        arguments={name: _short_value(value) for name, value in arguments.items()},
        rationale=thought,
        result=shortened(result),
    )


def _short_value(value: Any) -> Any:
    """Return an argument as it is if it is short, else its beginning as text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_TEXT else shortened(text)
