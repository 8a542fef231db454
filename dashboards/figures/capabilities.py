"""Root success rate over the tasks that carry each capability."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboards.figures.axes import NAMES_AXIS, SHARE_AXIS, bare, nothing_yet
from dashboards.theme import AgentStyle, bar_marker, label
from taskdata.schema.summary import AgentSummary


def capabilities(agents: Sequence[AgentSummary], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return capability SR (0-1) as bars, the agents side by side per capability."""
    names = list(
        dict.fromkeys(c for a in agents for c, s in a.capability_sr.items() if s is not None)
    )
    if not names:
        return nothing_yet("No trial has a score yet.")
    figure = go.Figure()
    for agent in agents:
        shares = [agent.capability_sr.get(name) for name in names]
        figure.add_bar(
            x=shares,
            y=[label(name) for name in names],
            name=label(agent.agent),
            orientation="h",
            marker=bar_marker(styles[agent.agent]),
            text=["" if share is None else f"{share:.0%}" for share in shares],
            textposition="outside",
            textfont_size=11,
            constraintext="none",
            cliponaxis=False,
            hovertemplate="%{y}: %{x:.0%}",
        )
    return bare(
        figure,
        58 + len(names) * max(30, 19 * len(agents)),
        barmode="group",
        xaxis=SHARE_AXIS | {"range": [0, 1.08], "title": "root SR"},
        yaxis=NAMES_AXIS,
    )
