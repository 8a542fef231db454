"""Root score and root success rate of each agent with their intervals."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboards.figures.axes import (
    NAMES_AXIS,
    SCORE_AXIS,
    SHARE_AXIS,
    bare,
    error_bars,
    interval_text,
    nothing_yet,
)
from dashboards.theme import AgentStyle, labels
from taskdata.schema.estimate import Estimate
from taskdata.schema.summary import AgentSummary


def headline(
    agents: Sequence[AgentSummary], styles: Mapping[str, AgentStyle], threshold: float
) -> go.Figure:
    """Return two panels, root score (0-10) and root SR (0-1), one line per agent."""
    if all(agent.root_score.mean is None for agent in agents):
        return nothing_yet("No trial has a score yet.")
    titles = ("Root score", f"Root SR above {threshold:g}")
    figure = make_subplots(
        cols=2, shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.06
    )
    called = labels(agent.agent for agent in agents)
    for agent in agents:
        style, name = styles[agent.agent], called[agent.agent]
        figure.add_trace(_point(name, agent.root_score, style, ".2f"), row=1, col=1)
        decided = agent.scored - agent.undecided
        success = Estimate(mean=agent.root_sr, ci95=agent.root_sr_ci95, n=decided)
        figure.add_trace(_point(name, success, style, ".0%"), row=1, col=2)
    figure.update_xaxes(SCORE_AXIS, row=1, col=1)
    figure.update_xaxes(SHARE_AXIS, row=1, col=2)
    figure.update_yaxes(NAMES_AXIS)
    return bare(figure, 50 + 36 * len(agents))


def _point(name: str, estimate: Estimate, style: AgentStyle, form: str) -> go.Scatter:
    interval = f"{interval_text(estimate, form)}, {estimate.n} trials"
    return go.Scatter(
        x=[estimate.mean],
        y=[name],
        error_x=error_bars([estimate]) | {"color": style.colour},
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 11},
        customdata=[interval],
        hovertemplate=f"%{{y}}<br>%{{x:{form}}}<br>%{{customdata}}<extra></extra>",
    )
