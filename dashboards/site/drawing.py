"""A figure of the site with the table of its numbers, which is also its CSV file.

Figures are plain Plotly JSON: one page per task is written every night, and building checked
Plotly objects for each would take minutes.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dashboards.figures.numbers import Table
from dashboards.theme import AgentStyle, bar_marker

GREY = "#808891"


class Drawing(NamedTuple):
    """A figure as a page shows it."""

    title: str
    figure: Mapping[str, Any]
    """Plotly's `data` and `layout`; every text in it that others wrote has passed `label`."""
    table: Table
    note: str = ""

    @property
    def height(self) -> int:
        """Pixels."""
        return int(self.figure["layout"]["height"])


def drawn(data: Iterable[Mapping[str, Any]], height: int, **layout: Any) -> dict[str, Any]:
    """Return Plotly JSON without a template, which the page adds; titles of axes may be texts."""
    for axis in ("xaxis", "yaxis"):
        if isinstance(layout.get(axis, {}).get("title"), str):
            layout[axis] = {**layout[axis], "title": {"text": layout[axis]["title"]}}
    return {"data": list(data), "layout": {"height": height, **layout}}


def as_json(figure: Any) -> dict[str, Any]:
    """Return a Plotly figure object as plain JSON."""
    return dict(json.loads(figure.to_json()))


def empty(sentence: str) -> dict[str, Any]:
    """Return a figure that says why there is nothing to draw."""
    hidden = {"visible": False}
    note = {"text": sentence, "showarrow": False, "x": 0.5, "y": 0.5, "xref": "paper"}
    return drawn([], 80, annotations=[{**note, "yref": "paper"}], xaxis=hidden, yaxis=hidden)


def marker(style: AgentStyle, size: int = 8) -> dict[str, Any]:
    """Return the Plotly marker of an agent's points."""
    return {"color": style.colour, "symbol": style.symbol, "size": size}


def bars(style: AgentStyle) -> dict[str, Any]:
    """Return the Plotly marker of an agent's bars."""
    return bar_marker(style)
