"""How often failed trials have each label, in percent: stage, type and level."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboards.figures.axes import NAMES_AXIS, bare, nothing_yet
from dashboards.pages.trial_filter import FIRST, trials_where
from dashboards.theme import AgentStyle, bar_marker, label
from taskdata.schema.summary import AgentSummary

PANELS = {
    "stage": "Stage in which it failed",
    "type": "Type of failure",
    "level": "Level at which it fails",
}
_OF = {"stage": "failed trials", "type": "failed trials", "level": "scored trials"}


def failures(
    agents: Sequence[AgentSummary], styles: Mapping[str, AgentStyle], page: str = ""
) -> go.Figure:
    """Return three panels of shares, the agents side by side per label.

    Args:
        agents: Their numbers.
        styles: How each is drawn.
        page: Address of the run's page, whose trials bars link to, as seen from the page with the
            figure; empty: the same page.
    """
    counts = [n for a in agents for labels in a.failures.values() for n in labels.values()]
    if not any(counts):
        return nothing_yet("No trial carries a failure label.")
    figure = make_subplots(cols=3, subplot_titles=tuple(PANELS.values()), horizontal_spacing=0.11)
    for column, panel in enumerate(PANELS, start=1):
        for agent in agents:
            figure.add_trace(_bars(agent, panel, styles[agent.agent], page), row=1, col=column)
        of = f"percent of {_OF[panel]}"
        figure.update_xaxes({"title": of, "range": [0, 104]}, row=1, col=column)
    figure.update_yaxes(NAMES_AXIS)
    return bare(figure, 50 + 5 * max(30, 15 * len(agents)), barmode="group")


def _bars(agent: AgentSummary, panel: str, style: AgentStyle, page: str) -> go.Bar:
    labels = agent.failures.get(panel, {})
    # A failed trial has exactly one stage.
    of = agent.scored if panel == "level" else sum(agent.failures.get("stage", {}).values())
    of = max(of, *labels.values(), 1) if labels else 1
    return go.Bar(
        x=[round(100 * n / of, 2) for n in labels.values()],
        y=[label(name.replace("_", " ")) for name in labels],
        name=label(agent.agent),
        orientation="h",
        marker=bar_marker(style),
        customdata=[f"{n} of {of}" for n in labels.values()],
        hovertemplate="%{y}: %{x} %, %{customdata}",
        meta={"links": [_link(agent.agent, panel, name, n, page) for name, n in labels.items()]},
    )


def _link(agent: str, panel: str, name: str, n: int, page: str) -> str | None:
    if not n:
        return None
    value = name.replace("_", " ") if panel == "stage" else name
    return trials_where(FIRST | {"agent": agent, panel: value}, n, page)
