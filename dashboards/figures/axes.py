"""What the figures have in common: empty figures, axes of scores and shares, intervals."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from taskdata.schema.estimate import Estimate

SCORE_AXIS = {"range": [-0.3, 10.3], "tickvals": [0, 2, 4, 6, 8, 10]}
SHARE_AXIS = {"range": [-0.03, 1.03], "tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75, 1]}
NAMES_AXIS = {"type": "category", "autorange": "reversed", "ticksuffix": " ", "showgrid": False}
"""An axis of names, read from the top; never taken for numbers or dates."""
_TITLES = 28
"""Pixels for the titles of panels."""


def bare(figure: go.Figure, height: int, **layout: Any) -> go.Figure:
    """Return `figure` without Plotly's own template, which the page replaces, at `height` px."""
    titled = bool(figure.layout.annotations)
    figure.update_annotations(font_size=13)
    figure.update_layout(
        template={"data": {}, "layout": {}},
        height=height + (_TITLES if titled else 0),
        margin_t=_TITLES if titled else 10,
        **layout,
    )
    return figure


def nothing_yet(sentence: str) -> go.Figure:
    """Return a figure that says why there is nothing to draw."""
    figure = go.Figure()
    figure.add_annotation(text=sentence, showarrow=False, x=0.5, y=0.5, xref="paper", yref="paper")
    hidden = {"visible": False}
    return bare(figure, 80, xaxis=hidden, yaxis=hidden)


def error_bars(estimates: Sequence[Estimate]) -> dict[str, Any]:
    """Return Plotly error bars of the 95 % intervals; none where an interval is unknown."""
    plus, minus = [], []
    for estimate in estimates:
        mean, (low, high) = estimate.mean or 0.0, estimate.ci95 or (None, None)
        plus.append(0.0 if high is None else high - mean)
        minus.append(0.0 if low is None else mean - low)
    return {
        "type": "data",
        "array": plus,
        "arrayminus": minus,
        "symmetric": False,
        "thickness": 2,
        "width": 5,
    }


def interval_text(estimate: Estimate, form: str) -> str:
    """Return the interval for a hover text, each bound formatted as `form` says."""
    if estimate.ci95 is None:
        return "no interval: fewer than two tasks"
    low, high = estimate.ci95
    return f"95 % interval {low:{form}} to {high:{form}}"
