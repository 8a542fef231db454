"""Predictions of planning cases as JSON lines: one object per case, with its id under `case`.

The rest of a line is the answer, in the form that planners are asked for.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from environments.sandbox.collect import Collected
from stages.execute.imported.result import MAX_ANSWER_BYTES, Effort, Result, names_of, read_json
from taskdata.errors import BadTaskData
from taskdata.schema.task import Task

SUFFIX = ".jsonl"
_ID = "case"
_MOST_LINES = 100_000


def read_lines(place: Path, task: Task) -> Result | None:
    """Return the prediction for a case; None if there is none.

    Raises:
        BadTaskData: a line is no object with an id, an id occurs twice, or the task is no case.
    """
    if task.planning is None:
        raise BadTaskData(
            f"{place}: JSON lines are predictions of planning cases, and {task.id!r} is none"
        )
    status = place.stat()
    known = _predictions(place, status.st_mtime_ns, status.st_size)
    found = next((known[name] for name in names_of(task) if name in known), None)
    if found is None:
        return None
    return Result(final_answer=found, files=Collected((), ()), effort=Effort())


@lru_cache(maxsize=8)
def _predictions(place: Path, modified: int, size: int) -> dict[str, str]:
    """Return the answers by case id; cached per state of the file, as every trial asks for one."""
    found: dict[str, str] = {}
    with place.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{place}: line {number}"
            if number > _MOST_LINES:
                raise BadTaskData(f"{where}: more than {_MOST_LINES} lines")
            if not line.strip():
                continue
            case, answer = _read(where, line)
            if case in found:
                raise BadTaskData(f"{where}: case {case!r} occurs twice")
            found[case] = answer
    return found


def _read(where: str, line: bytes) -> tuple[str, str]:
    if len(line) > 2 * MAX_ANSWER_BYTES:
        raise BadTaskData(f"{where}: longer than {2 * MAX_ANSWER_BYTES >> 10} KiB")
    fields: Any = read_json(where, line)
    case = fields.pop(_ID, None) if isinstance(fields, dict) else None
    if not isinstance(case, str) or not case:
        raise BadTaskData(f'{where}: expected an object with the case\'s id under "{_ID}"')
    return case, json.dumps(fields, ensure_ascii=False)
