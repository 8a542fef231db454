"""What an agent's trials took: time, tokens, turns and money."""

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboards.figures.axes import NAMES_AXIS, bare, nothing_yet
from dashboards.theme import AgentStyle, bar_marker, labels
from taskdata.schema.summary import AgentSummary

Measure = Callable[[AgentSummary, int], float | None]


def _each(total: float | None, trials: int) -> float | None:
    return None if total is None else total / trials


MEASURES: Mapping[str, tuple[str, Measure]] = {
    "Seconds per trial": (",.1f", lambda agent, trials: _each(agent.wall_s, trials)),
    "Tokens per trial": (",.3~s", lambda agent, trials: _each(agent.tokens, trials)),
    "Turns per trial": (",.1f", lambda agent, trials: agent.turns),
    "Dollars per trial": ("$,.3~g", lambda agent, trials: _each(agent.cost_usd, trials)),
}
"""Panel title -> number format and measure, over the trials that the agent ended itself."""


def effort(agents: Sequence[AgentSummary], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return one panel per measure; what is unknown of an agent has no bar."""
    called = labels(agent.agent for agent in agents)
    ended = {a.agent: a.trials - a.errors - a.pending for a in agents}
    if not any(ended.values()):
        return nothing_yet("No trial has finished yet.")
    figure = make_subplots(
        cols=len(MEASURES),
        shared_yaxes=True,
        subplot_titles=tuple(MEASURES),
        horizontal_spacing=0.04,
    )
    for column, (form, measure) in enumerate(MEASURES.values(), start=1):
        for agent in agents:
            trials = ended[agent.agent]
            value = measure(agent, trials) if trials > 0 else None
            bar = _bar(called[agent.agent], value, styles[agent.agent], form)
            figure.add_trace(bar, row=1, col=column)
        reach = max(trace.x[0] for trace in figure.data[-len(agents) :])
        # Room beside the longest bar for its number, which stands in place of an axis.
        figure.update_xaxes({"range": [0, 1.4 * reach or 1], "visible": False}, col=column)
    figure.update_yaxes(NAMES_AXIS)
    return bare(figure, 20 + 32 * len(agents), barmode="overlay")


def _bar(name: str, value: float | None, style: AgentStyle, form: str) -> go.Bar:
    return go.Bar(
        x=[value or 0],
        y=[name],
        orientation="h",
        marker=bar_marker(style),
        texttemplate="unknown" if value is None else f"%{{x:{form}}}",
        textposition="outside",
        textfont_size=12,
        constraintext="none",
        cliponaxis=False,
        hovertemplate="%{y}<br>unknown" if value is None else f"%{{y}}<br>%{{x:{form}}}",
    )
