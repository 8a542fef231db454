"""Failure labels of people and labellers as CSV: one row for each rater and trial.

The columns `task`, `annotator` and those of the labels are needed: one for each kind, with several
names of a kind separated by spaces, and nothing for none. An annotator named `labeller:NAME` is a
program. Where they matter: `agent`, `repetition`, `tier`, `place` and `note`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from taskdata.formats.annotation_csv import (
    TrialRatingColumns,
    read_trial_ratings,
    row_fault,
    write_rows,
)
from taskdata.schema.label_agreement import (
    ALL_LABELS,
    ONE_OF_A_KIND,
    GivenLabels,
    LabelRating,
    known_label,
)

LABELLER = "labeller:"
REQUIRED = ("task", "annotator", *ALL_LABELS)
OPTIONAL = ("agent", "repetition", "tier", "place", "note")
_COLUMNS = TrialRatingColumns("labels", "labelled this trial", REQUIRED, OPTIONAL)
_MAX_CELL = 2000


def read_labels(path: Path) -> list[LabelRating]:
    """Return the labels of a CSV file.

    Raises:
        BadTaskData: if it is no such file, or rows are bad; names their lines and what is wrong.
    """
    return read_trial_ratings(path, _COLUMNS, _rating)


def write_labels(ratings: Iterable[LabelRating], path: Path) -> None:
    """Write labels as CSV that a spreadsheet opens without computing anything in it."""
    write_rows(path, _COLUMNS.names, map(_row, ratings))


def _row(one: LabelRating) -> list[object]:
    rater = f"{LABELLER}{one.rater}" if one.is_labeller else one.rater
    labels = [" ".join(one.labels.of(kind)) for kind in ALL_LABELS]
    return [one.task, rater, *labels, *(getattr(one, name) for name in OPTIONAL)]


def _rating(cells: Mapping[str, str]) -> LabelRating:
    """Return the labels of a row; ValueError says what is wrong with it."""
    if fault := row_fault(cells, ("task", "annotator"), lambda _: _MAX_CELL):
        raise ValueError(fault)
    rater = cells["annotator"]
    facts = {name: cells[name] for name in ("task", *OPTIONAL) if cells.get(name)}
    labels = {kind: given for kind in ALL_LABELS if (given := _labels(kind, cells[kind]))}
    return LabelRating.model_validate(
        {
            **facts,
            "labels": GivenLabels.model_validate(labels),
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
