"""What people wrote for the cases of a bank, in place of a model: a folder with a file per task.

A file `<task>.yaml` has an answer for each question that a model would be asked: `plan`,
`distractors`, `substitute`, `infeasible` (one for each kind) and `efficiency`. The forms are those
of `written.py`, and so are the checks. `about.yaml` names the people.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from stages.construct.answers.forms import Form
from stages.construct.planning.trajectory import Trajectory, read_trajectories
from stages.construct.planning.written import (
    DistractorsForm,
    EfficiencyForm,
    InfeasibleForm,
    PlanForm,
    SubstituteForm,
)
from taskdata.banks.loader import MAX_YAML_BYTES, describe
from taskdata.errors import BadTaskData, Misuse
from taskdata.plain_yaml import loaded

ABOUT = "about.yaml"
TRAJECTORIES = "trajectories.jsonl"
FORMS: dict[str, type[Form]] = {
    "plan": PlanForm,
    "distractors": DistractorsForm,
    "substitute": SubstituteForm,
    "infeasible": InfeasibleForm,
    "efficiency": EfficiencyForm,
}
"""The form of each question."""

A = TypeVar("A", bound=Form)


@dataclass(frozen=True)
class Supplied:
    """The texts of a folder."""

    reviewer: str
    """Who read the cases that are made of them."""
    answers: dict[tuple[str, str], Form]
    """By task id and question; of `infeasible` the question is the kind."""
    trajectories: dict[str, Trajectory]
    """Played solutions that came with them, by task id."""

    def answer(self, task_id: str, question: str, form: type[A]) -> A | None:
        """Return what was written for a task, None if nothing was."""
        found = self.answers.get((task_id, question))
        return found if isinstance(found, form) else None

    def has(self, task_id: str, question: str) -> bool:
        """Return whether people answered this question about the task."""
        return (task_id, question) in self.answers


NOTHING = Supplied("", {}, {})


def read_supplied(folder: Path) -> Supplied:
    """Return the texts of a folder.

    Raises:
        Misuse: if there is no such folder.
        BadTaskData: if a file or an answer is malformed; names file and field.
    """
    if not (folder / ABOUT).is_file():
        raise Misuse(f"{folder}: is no folder of written cases; it needs {ABOUT}")
    about = _mapping(folder / ABOUT)
    reviewer = about.get("reviewer")
    if not isinstance(reviewer, str) or about.keys() != {"reviewer"}:
        raise BadTaskData(f"{folder / ABOUT}: expected one field, `reviewer`")
    answers = dict[tuple[str, str], Form]()
    for path in sorted(folder.glob("*.yaml")):
        if path.name != ABOUT:
            answers |= _answers(path)
    played = folder / TRAJECTORIES
    return Supplied(reviewer, answers, read_trajectories(played) if played.is_file() else {})


def _answers(path: Path) -> dict[tuple[str, str], Form]:
    fields, task_id = _mapping(path), path.stem
    unknown = sorted(fields.keys() - FORMS.keys())
    if unknown:
        raise BadTaskData(f"{path}: field {unknown[0]!r} is unknown; there are {', '.join(FORMS)}")
    found = dict[tuple[str, str], Form]()
    for question, value in fields.items():
        if question != "infeasible":
            found[task_id, question] = _form(path, question, value)
            continue
        for one in value if isinstance(value, list) else [value]:
            form = _form(path, question, one)
            if isinstance(form, InfeasibleForm):
                found[task_id, form.kind.value] = form
    return found


def _form(path: Path, question: str, value: Any) -> Form:
    try:
        # As JSON, because strict forms accept a list for a tuple only there.
        return FORMS[question].model_validate_json(json.dumps(value))
    except ValidationError as exc:
        raise BadTaskData(f"{path}: {question}: {describe(exc)}") from exc


def _mapping(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_YAML_BYTES:
        raise BadTaskData(f"{path}: larger than {MAX_YAML_BYTES} bytes")
    fields = loaded(path.read_text(encoding="utf-8"), str(path))
    if not isinstance(fields, dict):
        raise BadTaskData(f"{path}: expected a mapping of fields")
    return fields
