"""The numbers that a figure shows, its table and its CSV file."""

from collections.abc import Mapping, Sequence
from html import unescape
from itertools import zip_longest
from typing import Any, NamedTuple

from dashboards.visible_text import visible

Cell = str | float | None


class Table(NamedTuple):
    """The numbers of a figure."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    links: Sequence[str | None] = ()
    """Where the first cell of each row leads, relative to the page; empty: nowhere."""


def numbers(figure: Mapping[str, Any]) -> Table:
    """Return what Plotly's JSON draws: a row for each cell, bar or point.

    Where a figure has several parts beside each other, the first column names the part.
    """
    traces = figure["data"]
    if traces and traces[0]["type"] == "heatmap":
        return Table(("row", "column", "value"), _cells(traces[0]))
    parts = _parts(figure["layout"])
    rows = [[_part(parts, trace), *row] for trace in traces for row in _points(trace)]
    columns = ("part", "series", "at", "value", "note")
    empty = {n for n in range(len(columns)) if all(row[n] in ("", None) for row in rows)}
    return Table(
        [name for n, name in enumerate(columns) if n not in empty],
        [[cell for n, cell in enumerate(row) if n not in empty] for row in rows],
    )


def _cells(trace: Mapping[str, Any]) -> list[list[Cell]]:
    return [
        [_told(y), _told(x), value]
        for y, line in zip(trace["y"], trace["z"], strict=True)
        for x, value in zip(trace["x"], line, strict=True)
    ]


def _points(trace: Mapping[str, Any]) -> list[list[Any]]:
    x, y = trace.get("x") or trace.get("theta") or (), trace.get("y") or trace.get("r") or ()
    is_sideways = trace.get("orientation") == "h" or any(isinstance(one, str) for one in y)
    at, values = (y, x) if is_sideways else (x, y)
    name = _told(trace.get("name", ""))
    said = trace.get("customdata") or ()
    return [
        [name, _told(place), value, note if isinstance(note, str) else ""]
        for place, value, note in zip_longest(at, values, said)
    ]


def _parts(layout: Mapping[str, Any]) -> list[str]:
    """Return the headings of the parts, in their order."""
    return [str(one.get("text", "")) for one in layout.get("annotations", ())]


def _part(parts: Sequence[str], trace: Mapping[str, Any]) -> str:
    number = int(trace.get("xaxis", "x")[1:] or 1)
    is_one_of_many = len(parts) > 1 and number <= len(parts)
    return _told(parts[number - 1]) if is_one_of_many else ""


def _told(value: Any) -> Any:
    """Return a label as it reads, in one line: figures have it as Plotly wants it."""
    return unescape(value.replace("<br>", ", ")) if isinstance(value, str) else value


def tabled(table: Table) -> dict[str, Any]:
    """Return the table for the page's script, unseen characters written out."""
    rows = [[visible(c) if isinstance(c, str) else _rounded(c) for c in row] for row in table.rows]
    return {"columns": [visible(c) for c in table.columns], "rows": rows, "links": table.links}


def _rounded(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else float(f"{value:.6g}")
