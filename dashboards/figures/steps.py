"""Steps against success: whether agents that take more turns reach more (GTA-2, figure 7)."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboards.figures.axes import SHARE_AXIS, bare, error_bars, interval_text, nothing_yet
from dashboards.theme import AgentStyle, label
from taskdata.schema.estimate import Estimate
from taskdata.schema.summary import AgentSummary


def steps_against_success(
    agents: Sequence[AgentSummary], styles: Mapping[str, AgentStyle]
) -> go.Figure:
    """Return a point per agent: turns per trial and Root SR; without those of unknown turns."""
    known = [agent for agent in agents if agent.turns is not None and agent.root_sr is not None]
    if not known:
        return nothing_yet("No trial has both a score and known turns yet.")
    figure = go.Figure()
    for agent in known:
        style, rate = styles[agent.agent], Estimate(mean=agent.root_sr, ci95=agent.root_sr_ci95)
        figure.add_scatter(
            x=[agent.turns],
            y=[agent.root_sr],
            name=label(agent.agent),
            mode="markers",
            marker={"color": style.colour, "symbol": style.symbol, "size": 11},
            error_y=error_bars([rate]) | {"color": style.colour},
            hovertemplate=f"%{{x:.1f}} turns: %{{y:.0%}}<br>{interval_text(rate, '.0%')}",
            cliponaxis=False,
        )
    most = max(agent.turns or 0 for agent in known)
    return bare(
        figure,
        max(78 + 36 * len(agents), 230),
        xaxis={"title": "turns per trial", "range": [0, 1.1 * most or 1]},
        yaxis=SHARE_AXIS | {"title": "root SR"},
    )
