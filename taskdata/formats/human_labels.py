"""Failure labels of people and labellers as CSV: one row for each rater and trial.

The columns `task`, `annotator` and those of the labels are needed: one for each kind, with several
names of a kind separated by spaces, and nothing for none. An annotator named `labeller:NAME` is a
program. Where they matter: `agent`, `repetition`, `tier`, `place` and `note`.
"""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from taskdata.errors import BadTaskData
from taskdata.formats.annotation_csv import SHAPE, harmless, read_rows, refuse_faults
from taskdata.schema.label_agreement import (
    ALL_LABELS,
    ONE_OF_A_KIND,
    LabelRating,
    known_label,
)

LABELLER = "labeller:"
REQUIRED = ("task", "annotator", *ALL_LABELS)
OPTIONAL = ("agent", "repetition", "tier", "place", "note")
_COLUMNS = ", ".join((*REQUIRED, *OPTIONAL))
_MAX_CELL = 2000


def read_labels(path: Path) -> list[LabelRating]:
    """Return the labels of a CSV file.

    Raises:
        BadTaskData: if it is no such file, or rows are bad; names their lines and what is wrong.
    """
    faults: list[str] = []
    found: dict[tuple[object, ...], tuple[int, LabelRating]] = {}
    for line, cells in read_rows(path, "labels", _is_column, REQUIRED, _COLUMNS):
        try:
            rating = _rating(cells)
        except ValidationError as exc:
            faults.append(f"line {line}: {_first_fault(exc)}")
            continue
        except ValueError as exc:
            faults.append(f"line {line}: {exc}")
            continue
        other, _ = found.setdefault((rating.trial, rating.rater), (line, rating))
        if other != line:
            faults.append(
                f"line {line}: {rating.rater} labelled this trial in line {other}, too; keep one"
            )
    refuse_faults(path, faults)
    if not found:
        raise BadTaskData(f"{path}: holds no labels")
    return [rating for _, rating in found.values()]


def write_labels(ratings: Iterable[LabelRating], path: Path) -> None:
    """Write labels as CSV that a spreadsheet opens without computing anything in it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*REQUIRED, *OPTIONAL])
        for one in ratings:
            rater = f"{LABELLER}{one.rater}" if one.is_labeller else one.rater
            labels = [" ".join(one.labels.of(kind)) for kind in ALL_LABELS]
            facts = [str(getattr(one, name)) for name in OPTIONAL]
            writer.writerow([harmless(cell) for cell in (one.task, rater, *labels, *facts)])


def _is_column(name: str) -> bool:
    return name in (*REQUIRED, *OPTIONAL)


def _rating(cells: Mapping[str, str]) -> LabelRating:
    """Return the labels of a row; ValueError says what is wrong with it."""
    if SHAPE in cells:
        raise ValueError(cells[SHAPE])
    if long := [name for name, cell in cells.items() if len(cell) > _MAX_CELL]:
        raise ValueError(f"{long[0]}: more than {_MAX_CELL} characters")
    if empty := [name for name in ("task", "annotator") if not cells[name]]:
        raise ValueError(f"{empty[0]}: is empty")
    rater = cells["annotator"]
    facts = {name: cells[name] for name in ("task", *OPTIONAL) if cells.get(name)}
    labels = {kind: given for kind in ALL_LABELS if (given := _labels(kind, cells[kind]))}
    return LabelRating.model_validate(
        {
            **facts,
            "labels": labels,
            "rater": rater.removeprefix(LABELLER),
            "is_labeller": rater.startswith(LABELLER),
        }
    )


def _labels(kind: str, cell: str) -> Any:
    names = tuple(dict.fromkeys(known_label(kind, name) for name in cell.split()))
    if kind not in ONE_OF_A_KIND:
        return names
    if len(names) > 1:
        raise ValueError(f"{kind}: has at most one label, not {len(names)}")
    return names[0] if names else None


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"] if part != "labels")
    told = fault["msg"].removeprefix("Value error, ")
    return f"{field}: {told}" if field else told
