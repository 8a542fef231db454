"""Root success rate as the bar is raised from 5 to 9."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboards.figures.axes import SHARE_AXIS, bare, nothing_yet
from dashboards.theme import AgentStyle, label
from taskdata.schema.summary import AgentSummary


def success_curve(agents: Sequence[AgentSummary], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return one line per agent: the share of trials whose root score is above k."""
    curves = [(a, [s for s in a.root_sr_at.items() if s[1] is not None]) for a in agents]
    if not any(points for _, points in curves):
        return nothing_yet("No trial has a score yet.")
    figure = go.Figure()
    for agent, points in curves:
        style = styles[agent.agent]
        figure.add_scatter(
            x=[int(k) for k, _ in points],
            y=[share for _, share in points],
            name=label(agent.agent),
            mode="lines+markers",
            line={"color": style.colour, "width": 2},
            marker={"color": style.colour, "symbol": style.symbol, "size": 9},
            hovertemplate="above %{x}: %{y:.0%}",
            cliponaxis=False,
        )
    return bare(
        figure,
        max(78 + 36 * len(agents), 210),
        xaxis={"title": "root score above", "dtick": 1, "range": [4.8, 9.2]},
        yaxis=SHARE_AXIS,
    )
