"""How many trials carry each failure label: stage, type and level."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboards.figures.axes import NAMES_AXIS, bare, nothing_yet
from dashboards.theme import AgentStyle, bar_marker, label
from taskdata.schema.summary import AgentSummary

PANELS = {
    "stage": "Stage in which it failed",
    "type": "Type of failure",
    "level": "Level at which it fails",
}


def failures(agents: Sequence[AgentSummary], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return three panels of counts, the agents side by side per label."""
    counts = [n for a in agents for labels in a.failures.values() for n in labels.values()]
    if not any(counts):
        return nothing_yet("No trial carries a failure label.")
    figure = make_subplots(cols=3, subplot_titles=tuple(PANELS.values()), horizontal_spacing=0.11)
    for column, panel in enumerate(PANELS, start=1):
        for agent in agents:
            figure.add_trace(_bars(agent, panel, styles[agent.agent]), row=1, col=column)
    figure.update_xaxes({"title": "trials", "rangemode": "tozero", "tickformat": ",d"})
    figure.update_yaxes(NAMES_AXIS)
    return bare(figure, 50 + 5 * max(30, 15 * len(agents)), barmode="group")


def _bars(agent: AgentSummary, panel: str, style: AgentStyle) -> go.Bar:
    labels = agent.failures.get(panel, {})
    return go.Bar(
        x=list(labels.values()),
        y=[label(name.replace("_", " ")) for name in labels],
        name=label(agent.agent),
        orientation="h",
        marker=bar_marker(style),
        hovertemplate="%{y}: %{x} trials",
    )
