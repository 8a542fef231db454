"""Plain text, Markdown, CSV and JSON."""

import csv
import io
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

from environments.renderers.limits import (
    MAX_CELL_CHARACTERS,
    MAX_JSON_BYTES,
    MAX_JSON_DEPTH,
    MAX_JSON_VALUES,
    MAX_TEXT_CHARACTERS,
    Meter,
    Unreadable,
    read_bytes,
    refuse_beyond,
)
from taskdata.schema.views import CsvView, JsonView, Table, TextView

_DELIMITERS = ",;\t|"
_SNIFFED_LINES = 20
_QUOTED = re.compile(r'"[^"]*"')


def decode(data: bytes) -> str:
    """Return `data` as text: UTF-8, or UTF-16 with a byte order mark; else raises `Unreadable`."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as exc:
        raise Unreadable(f"it is not UTF-8 text (byte {exc.start})") from exc
    if "\0" in text:
        raise Unreadable("it is not text: it holds NUL characters")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path) -> TextView:
    """Return the text of a TXT or Markdown file."""
    return TextView(text=Meter().text(decode(read_bytes(path))))


def read_csv(path: Path) -> CsvView:
    """Return the rows of a CSV file; the delimiter `,` `;` tab or `|` is detected."""
    text = decode(read_bytes(path))
    delimiter = _delimiter(text)
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    meter = Meter()
    try:
        rows = tuple(
            tuple(meter.cell(cell) for cell in row)
            for row in csv.reader(io.StringIO(text), delimiter=delimiter)
            if row
        )
    except csv.Error as exc:
        raise Unreadable(f"it is not a CSV file: {exc}") from exc
    return CsvView(table=Table(rows=rows), delimiter=delimiter)


def _delimiter(text: str) -> str:
    """Return the delimiter that splits the first lines most evenly; a comma by default."""
    lines = _QUOTED.sub("", text[:65_536]).split("\n")[:_SNIFFED_LINES]
    best, best_votes = ",", 0
    for delimiter in _DELIMITERS:
        widths = Counter(line.count(delimiter) for line in lines if line)
        width, votes = widths.most_common(1)[0] if widths else (0, 0)
        if width > 0 and votes > best_votes:
            best, best_votes = delimiter, votes
    return best


def read_json(path: Path) -> JsonView:
    """Return the value of a JSON file; NaN, Infinity and numbers beyond a float are refused."""
    text = decode(read_bytes(path, MAX_JSON_BYTES))
    try:
        value = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_float, parse_int=_int
        )
    except RecursionError as exc:
        raise Unreadable(f"it is nested more than {MAX_JSON_DEPTH} levels deep") from exc
    except json.JSONDecodeError as exc:
        raise Unreadable(f"it is not valid JSON: {exc}") from exc
    _require_bearable(value)
    return JsonView(value=value)


def _refuse_constant(name: str) -> NoReturn:
    raise Unreadable(f"it is not valid JSON: {name} is not a JSON number")


def _float(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise Unreadable(f"the number {literal[:40]} is out of range")
    return value


def _int(literal: str) -> int:
    if len(literal) > 300:
        raise Unreadable(f"the number {literal[:40]}... is out of range")
    return int(literal)


def _require_bearable(value: Any) -> None:
    count = characters = 0
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        below: list[Any] = []
        for item in level:
            count += 1
            if isinstance(item, dict):
                characters += sum(len(key) for key in item)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, str):
                characters += len(item)
        refuse_beyond(count, MAX_JSON_VALUES, "values")
        refuse_beyond(characters, MAX_TEXT_CHARACTERS, "characters")
        level = below
        if not level:
            return
    raise Unreadable(f"it is nested more than {MAX_JSON_DEPTH} levels deep")
