"""How often something occurs in a bank."""

from collections.abc import Mapping

import plotly.graph_objects as go

from dashboards.figures.axes import NAMES_AXIS, bare, nothing_yet
from dashboards.theme import label

MOST_BARS = 20
"""Of more names than this, the first are drawn."""
_BOTTOM = 6


def histogram(counts: Mapping[str, int], of: int, colour: str) -> go.Figure:
    """Return one bar per name, in the order given.

    Args:
        counts: Tasks that have it, by name.
        of: Tasks there are.
        colour: Of the bars.
    """
    if not counts:
        return nothing_yet("There is nothing to count.")
    drawn = list(counts.items())[:MOST_BARS]
    names = [label(name) for name, _count in drawn]
    figure = go.Figure(
        go.Bar(
            # Positions, not names: two long names may be cut to the same label.
            x=[count for _name, count in drawn],
            y=list(range(len(drawn))),
            orientation="h",
            marker={"color": colour},
            customdata=[
                [name, count / of if of else 0]
                for name, (_, count) in zip(names, drawn, strict=True)
            ],
            text=[f"{count:,}" for _name, count in drawn],
            textposition="outside",
            textfont_size=11.5,
            constraintext="none",
            cliponaxis=False,
            hovertemplate="%{customdata[0]}: %{x:,} tasks, %{customdata[1]:.0%}<extra></extra>",
        )
    )
    ticks = {"tickvals": list(range(len(drawn))), "ticktext": [f"{name} " for name in names]}
    return bare(
        figure,
        10 + 22 * len(drawn) + _BOTTOM,
        xaxis={"range": [0, 1.15 * max(counts.values()) or 1], "visible": False},
        yaxis=NAMES_AXIS | {"type": "linear"} | ticks,
        margin_b=_BOTTOM,
    )
