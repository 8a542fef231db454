"""Marks of plans by people and judges as CSV: one row for each rater and plan.

The columns `task`, `annotator`, `grade` and `errors` are needed; several errors are separated by
spaces, and nothing stands for none. An annotator named `judge:NAME` is a judge. Where they matter:
`agent`, `repetition`, `source`, `same_as_reference`, `by_code` and `note`.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from taskdata.formats.annotation_csv import (
    TrialRatingColumns,
    read_trial_ratings,
    row_fault,
    write_rows,
)
from taskdata.schema.plan_agreement import GivenMarks, PlanRating, Trial
from taskdata.schema.planning_score import PlanError

JUDGE = "judge:"
REQUIRED = ("task", "annotator", "grade", "errors")
OPTIONAL = ("agent", "repetition", "source", "same_as_reference", "by_code", "note")
_COLUMNS = TrialRatingColumns("marks of plans", "marked this plan", REQUIRED, OPTIONAL)
_FLAGS = {"yes": True, "no": False, "": False}
_ERRORS = tuple(error.value for error in PlanError)
_MAX_CELL = 2000


def read_plan_marks(path: Path, plans: Collection[Trial] | None = None) -> list[PlanRating]:
    """Return the marks of a CSV file.

    Args:
        path: The file.
        plans: The plans that there are; marks of others are refused, and an agent that the file
            does not name is the only one that these have. None: any plan.

    Raises:
        BadTaskData: if it is no such file, or rows are bad; names their lines and what is wrong.
    """
    return read_trial_ratings(path, _COLUMNS, lambda cells: _known(_rating(cells), plans))


def write_plan_marks(ratings: Iterable[PlanRating], path: Path) -> None:
    """Write marks as CSV that a spreadsheet opens without computing anything in it."""
    write_rows(path, _COLUMNS.names, map(_row, ratings))


def _row(one: PlanRating) -> list[object]:
    rater = f"{JUDGE}{one.rater}" if one.is_judge else one.rater
    marks = f"{one.marks.grade:g}", " ".join(one.marks.errors)
    return [one.task, rater, *marks, *(_cell(getattr(one, name)) for name in OPTIONAL)]


def _cell(value: object) -> object:
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _rating(cells: Mapping[str, str]) -> PlanRating:
    """Return the marks of a row; ValueError says what is wrong with it."""
    if fault := row_fault(cells, ("task", "annotator", "grade"), lambda _: _MAX_CELL):
        raise ValueError(fault)
    rater = cells["annotator"]
    texts = ("task", "agent", "repetition", "source", "note")
    return PlanRating.model_validate(
        {
            **{name: cells[name] for name in texts if cells.get(name)},
            **{name: _flag(name, cells) for name in ("same_as_reference", "by_code")},
            "marks": GivenMarks(grade=_grade(cells["grade"]), errors=_errors(cells["errors"])),
            "rater": rater.removeprefix(JUDGE),
            "is_judge": rater.startswith(JUDGE),
        }
    )


def _grade(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"grade: {cell[:60]!r} is no number; write 0, 0.2 … 1") from None


def _errors(cell: str) -> tuple[PlanError, ...]:
    names = cell.replace(",", " ").upper().split()
    for name in names:
        if name not in _ERRORS:
            raise ValueError(
                f"errors: there is no {name[:60]!r}; there are {', '.join(_ERRORS)}, and nothing "
                "stands for none"
            )
    return tuple(PlanError(name) for name in names)


def _flag(name: str, cells: Mapping[str, str]) -> bool:
    cell = cells.get(name, "").lower()
    if cell not in _FLAGS:
        raise ValueError(f"{name}: {cell[:60]!r} is neither `yes` nor `no`")
    return _FLAGS[cell]


def _known(rating: PlanRating, plans: Collection[Trial] | None) -> PlanRating:
    """Return the marks if their plan is there; ValueError says which plans there are."""
    if plans is None:
        return rating
    agents = sorted({agent for _, agent, _ in plans})
    if not rating.agent:
        if len(agents) != 1:
            raise ValueError(f"agent: is empty; write one of {', '.join(agents)}")
        rating = rating.model_copy(update={"agent": agents[0]})
    if rating.trial in plans:
        return rating
    _require("task", rating.task, sorted({task for task, _, _ in plans}))
    _require("agent", rating.agent, agents)
    raise ValueError(
        f"the run has no plan of {rating.agent} for {rating.task}, repetition {rating.repetition}; "
        "repetitions count from 0, and answers that could not be read have no marks"
    )


def _require(name: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        near = difflib.get_close_matches(given, known, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known[:5])}"
        raise ValueError(f"{name}: {given[:60]!r} has no plan in the run; {meant}")
