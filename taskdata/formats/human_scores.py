"""Scores of people and judges as CSV: read from anybody, written for anybody's spreadsheet.

Columns `task`, `leaf`, `annotator` and `score`; where they matter `agent`, `repetition`,
`occasion`, `weight`, `path`, `position` and `words`. An annotator named `judge:NAME` is a judge; a
column named `judge:NAME` holds that judge's score beside a person's.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData
from taskdata.schema.agreement import Rating

JUDGE = "judge:"
REQUIRED = ("task", "leaf", "annotator", "score")
OPTIONAL = ("agent", "repetition", "occasion", "weight", "path", "position", "words")
MAX_BYTES = 50_000_000
_MAX_CELL = 500
_MAX_PATH = 5000
_FAULTS_TOLD = 20
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NEUTRALISED = re.compile(r"'+[=+\-@\t\r\n]")


def read_ratings(path: Path) -> list[Rating]:
    """Return the ratings of a CSV file.

    Raises:
        BadTaskData: if it is no such file, or rows are bad; names their lines and what is wrong.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadTaskData(f"{path}: larger than {MAX_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise BadTaskData(f"{path}: {exc.strerror}; name a CSV file of scores") from exc
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{path}: not UTF-8 (byte {exc.start}); save it as CSV UTF-8") from exc
    faults: list[str] = []
    ratings: dict[tuple[object, ...], tuple[int, Rating]] = {}
    for line, cells in _rows(path, text):
        for found in _ratings(cells):
            if isinstance(found, str):
                faults.append(f"line {line}: {found}")
                continue
            other, known = ratings.setdefault(_key(found), (line, found))
            # A judge's column says the same beside every person's score.
            if other != line and not (found.is_judge and known.score == found.score):
                faults.append(f"line {line}: {found.rater} scored this leaf in line {other}, too")
    if faults:
        more = len(faults) - _FAULTS_TOLD
        told = faults[:_FAULTS_TOLD] + ([f"and {more} more"] if more > 0 else [])
        raise BadTaskData(f"{path}: " + "; ".join(told))
    if not ratings:
        raise BadTaskData(f"{path}: holds no scores")
    return [rating for _, rating in ratings.values()]


def write_ratings(ratings: Iterable[Rating], path: Path) -> None:
    """Write ratings as CSV that a spreadsheet opens without computing anything in it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*REQUIRED, *OPTIONAL])
        for one in ratings:
            rater = f"{JUDGE}{one.rater}" if one.is_judge else one.rater
            facts = [getattr(one, name) for name in OPTIONAL if name != "path"]
            facts.insert(OPTIONAL.index("path"), json.dumps(one.path) if one.path else "")
            cells = [one.task, one.leaf, rater, one.score, *facts]
            writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in cells])


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with an apostrophe before it."""
    return f"'{text}" if _FORMULA.match(text) else text


def _rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row with the line it begins in.

    Raises:
        BadTaskData: if the text is no CSV with the columns that are needed.
    """
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _require_columns(path, header)
        start = reader.line_num + 1
        for row in reader:
            if any(cell.strip() for cell in row):
                yield start, _cells(header, row)
            start = reader.line_num + 1
    except csv.Error as exc:
        raise BadTaskData(f"{path}: line {reader.line_num}: {exc}") from exc


def _require_columns(path: Path, header: Sequence[str]) -> None:
    judges = [name for name in header if name.startswith(JUDGE) and name != JUDGE]
    unknown = [name for name in header if name not in (*REQUIRED, *OPTIONAL, *judges)]
    missing = [name for name in REQUIRED if name not in header]
    twice = sorted({name for name in header if header.count(name) > 1})
    for what, names in (("lacks", missing), ("does not know", unknown), ("twice has", twice)):
        if names:
            shown = ", ".join(repr(name[:60]) for name in names[:5])
            raise BadTaskData(
                f"{path}: line 1: the header {what} {shown}; columns are "
                f"{', '.join((*REQUIRED, *OPTIONAL))} and {JUDGE}NAME"
            )


def _cells(header: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    found = {name: _plain(cell.strip()) for name, cell in zip(header, row, strict=False)}
    if len(row) != len(header):
        found[""] = f"{len(row)} cells, and the header has {len(header)}"
    return found


def _plain(cell: str) -> str:
    """Return a cell without the apostrophe that made it harmless."""
    return cell[1:] if _NEUTRALISED.match(cell) else cell


def _ratings(cells: Mapping[str, str]) -> Iterator[Rating | str]:
    """Yield the ratings of a row, or what is wrong with them."""
    if "" in cells:
        yield cells[""]
        return
    if long := [name for name, cell in cells.items() if len(cell) > _longest(name)]:
        yield f"{long[0]}: more than {_longest(long[0])} characters"
        return
    if empty := [name for name in REQUIRED if not cells[name]]:
        yield f"{empty[0]}: is empty"
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
