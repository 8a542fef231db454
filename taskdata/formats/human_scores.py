"""Scores of people and judges as CSV: read from anybody, written for anybody's spreadsheet.

Columns `task`, `leaf`, `annotator` and `score`; where they matter `agent`, `repetition`,
`occasion`, `weight`, `path`, `position` and `words`. An annotator named `judge:NAME` is a judge; a
column named `judge:NAME` holds that judge's score beside a person's.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData
from taskdata.formats.annotation_csv import read_rows, refuse_faults, row_fault, write_rows
from taskdata.schema.agreement import Rating

JUDGE = "judge:"
REQUIRED = ("task", "leaf", "annotator", "score")
OPTIONAL = ("agent", "repetition", "occasion", "weight", "path", "position", "words")
_MAX_CELL = 500
_MAX_PATH = 5000
_COLUMNS = f"{', '.join((*REQUIRED, *OPTIONAL))} and {JUDGE}NAME"


def read_ratings(path: Path) -> list[Rating]:
    """Return the ratings of a CSV file.

    Raises:
        BadTaskData: if it is no such file, or rows are bad; names their lines and what is wrong.
    """
    faults: list[str] = []
    ratings: dict[tuple[object, ...], tuple[int, Rating]] = {}
    for line, cells in read_rows(path, "scores", _is_column, REQUIRED, _COLUMNS):
        for found in _ratings(cells):
            if isinstance(found, str):
                faults.append(f"line {line}: {found}")
                continue
            other, known = ratings.setdefault(_key(found), (line, found))
            # A judge's column says the same beside every person's score.
            if other != line and not (found.is_judge and known.score == found.score):
                faults.append(f"line {line}: {found.rater} scored this leaf in line {other}, too")
    refuse_faults(path, faults)
    if not ratings:
        raise BadTaskData(f"{path}: holds no scores")
    return [rating for _, rating in ratings.values()]


def write_ratings(ratings: Iterable[Rating], path: Path) -> None:
    """Write ratings as CSV that a spreadsheet opens without computing anything in it."""
    write_rows(path, (*REQUIRED, *OPTIONAL), map(_row, ratings))


def _row(one: Rating) -> list[object]:
    rater = f"{JUDGE}{one.rater}" if one.is_judge else one.rater
    facts = [getattr(one, name) for name in OPTIONAL if name != "path"]
    facts.insert(OPTIONAL.index("path"), json.dumps(one.path) if one.path else "")
    return [one.task, one.leaf, rater, one.score, *facts]


def _is_column(name: str) -> bool:
    return name in (*REQUIRED, *OPTIONAL) or (name.startswith(JUDGE) and name != JUDGE)


def _ratings(cells: Mapping[str, str]) -> Iterator[Rating | str]:
    """Yield the ratings of a row, or what is wrong with them."""
    if fault := row_fault(cells, REQUIRED, _longest):
        yield fault
        return
    facts = {name: cells[name] for name in ("task", "leaf", *OPTIONAL) if cells.get(name)}
    rater = cells["annotator"]
    yield _rating(facts, rater.removeprefix(JUDGE), cells["score"], rater.startswith(JUDGE))
    for name, cell in cells.items():
        if name.startswith(JUDGE) and cell:
            yield _rating(facts | {"occasion": "1"}, name.removeprefix(JUDGE), cell, True)


def _longest(column: str) -> int:
    return _MAX_PATH if column == "path" else _MAX_CELL


def _rating(facts: Mapping[str, str], rater: str, score: str, is_judge: bool) -> Rating | str:
    try:
        return Rating.model_validate(
            {**facts, "rater": rater, "score": score, "is_judge": is_judge}
        )
    except ValidationError as exc:
        return describe(exc)


def _key(rating: Rating) -> tuple[object, ...]:
    who = (rating.rater, rating.is_judge, rating.occasion)
    return (rating.task, rating.agent, rating.repetition, rating.leaf, *who)
