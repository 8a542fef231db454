"""Means and shares with intervals by group: category, tier, deliverable type, setting."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboards.figures.axes import (
    NAMES_AXIS,
    SCORE_AXIS,
    SHARE_AXIS,
    bare,
    error_bars,
    interval_text,
    nothing_yet,
)
from dashboards.theme import AgentStyle, label
from taskdata.schema.estimate import Estimate


def grouped_estimates(
    agents: Mapping[str, Mapping[str, Estimate]],
    styles: Mapping[str, AgentStyle],
    measure: str,
    order: Sequence[str] | None = None,
    *,
    shares: bool = False,
) -> go.Figure:
    """Return the estimates of each agent by group, the agents side by side per group.

    Args:
        agents: Estimates by group, by agent.
        styles: How each agent looks.
        measure: What the estimates are of, for the axis.
        order: Of the groups; None: by name.
        shares: The estimates are shares (0-1) and not scores (0-10).
    """
    groups = sorted({g for own in agents.values() for g, e in own.items() if e.mean is not None})
    if order is not None:
        groups.sort(key=lambda group: order.index(group) if group in order else len(order))
    if not groups:
        return nothing_yet("Nothing has a score yet.")
    figure = go.Figure()
    for agent, own in agents.items():
        found = [(g, own[g]) for g in groups if g in own and own[g].mean is not None]
        figure.add_trace(_points(agent, found, styles[agent], ".0%" if shares else ".2f"))
    return bare(
        figure,
        58 + len(groups) * max(28, 15 * len(agents)),
        scattermode="group",
        xaxis=(SHARE_AXIS if shares else SCORE_AXIS) | {"title": measure},
        yaxis=NAMES_AXIS
        | {
            "categoryorder": "array",
            "categoryarray": [_words(g) for g in groups],
            "range": [len(groups) - 0.5, -0.5],
            "autorange": False,
        },
    )


def _points(
    agent: str, found: Sequence[tuple[str, Estimate]], style: AgentStyle, form: str
) -> go.Scatter:
    estimates = [estimate for _, estimate in found]
    return go.Scatter(
        x=[estimate.mean for estimate in estimates],
        y=[_words(group) for group, _ in found],
        name=label(agent),
        orientation="h",
        error_x=error_bars(estimates) | {"color": style.colour, "thickness": 1.5, "width": 3},
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 9},
        customdata=[f"{interval_text(e, form)}, {e.n} scores" for e in estimates],
        hovertemplate=f"%{{y}}: %{{x:{form}}}<br>%{{customdata}}",
    )


def _words(group: str) -> str:
    return label(group.replace("_", " "))
