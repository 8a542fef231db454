"""What the arms of refinement gained."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboards.figures.axes import NAMES_AXIS, bare, error_bars, interval_text, nothing_yet
from dashboards.theme import AgentStyle, label
from taskdata.schema.estimate import Estimate
from taskdata.schema.summary import RefinementGain

_OVER_FIRST = "Over the first attempts"
_OVER_NONE = "Over the arm none"
_ROW = 36
"""Pixels."""
_BETWEEN = 64
"""Pixels between two panels, for an axis and a title."""
_LENGTHS = (24, 48, 200)
"""Of the names of agents, in letters; the first that tells them apart."""

_Panel = list[tuple[RefinementGain, Estimate]]


def refinement(gains: Sequence[RefinementGain], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return mean gains in root score with their intervals, by agent, arm and round.

    One panel is over the first attempts. Where the run has the arm `none`, another one below it is
    over that arm.
    """
    over_first = [(gain, gain.gain) for gain in gains if gain.gain.mean is not None]
    if not over_first:
        return nothing_yet("No refined trial has a score before and after.")
    over_none = [
        (gain, gain.over_none.difference)
        for gain in gains
        if gain.over_none and gain.over_none.difference.mean is not None
    ]
    panels = {_OVER_FIRST: over_first} | ({_OVER_NONE: over_none} if over_none else {})
    rows = [len(panel) for panel in panels.values()]
    height = _ROW * sum(rows) + _BETWEEN * (len(rows) - 1)
    figure = make_subplots(
        rows=len(rows),
        shared_xaxes="all",
        subplot_titles=tuple(panels),
        row_heights=rows,
        vertical_spacing=_BETWEEN / height if len(rows) > 1 else 0,
    )
    has_rounds = len({gain.round for gain in gains}) > 1
    agents = _agents([gain.agent for gain, _ in over_first])
    for row, panel in enumerate(panels.values(), start=1):
        ends = {"range": [len(panel) - 0.5, -0.5], "autorange": False}
        figure.update_yaxes(NAMES_AXIS | ends, row=row)
        for gain, estimate in panel:
            name = _name(gain, agents[gain.agent], has_rounds=has_rounds)
            point = _point(name, estimate, styles[gain.agent])
            figure.add_trace(point.update(name=label(gain.agent, 60)), row=row, col=1)
    reach = max(1.0, 1.1 * max(_reach(panel) for panel in panels.values()))
    figure.update_xaxes(range=[-reach, reach], showticklabels=True)
    figure.update_xaxes(title="gain in root score", row=len(rows))
    figure.add_vline(x=0, line={"width": 1, "dash": "dot", "color": "#808891"})
    return bare(figure, 50 + height, showlegend=False)


def _agents(names: Sequence[str]) -> dict[str, str]:
    """Return what each agent is called: as short as tells them apart; nothing if it is alone."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) == 1:
        return {distinct[0]: ""}
    for length in _LENGTHS:
        called = {name: label(name, length) for name in distinct}
        if len(set(called.values())) == len(distinct):
            break
    return called


def _name(gain: RefinementGain, agent: str, *, has_rounds: bool) -> str:
    """Return the name of a line: as short as it is clear, for narrow screens."""
    arm = label(gain.arm.replace("_", " "), 24)
    name = f"{arm}, round {gain.round}" if has_rounds else arm
    return f"{agent}<br>{name}" if agent else name


def _point(name: str, estimate: Estimate, style: AgentStyle) -> go.Scatter:
    return go.Scatter(
        x=[estimate.mean],
        y=[name],
        error_x=error_bars([estimate]) | {"color": style.colour},
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 11},
        customdata=[f"{interval_text(estimate, '+.2f')}, {estimate.n} trials"],
        hovertemplate="%{y}<br>%{x:+.2f}<br>%{customdata}<extra></extra>",
    )


def _reach(panel: _Panel) -> float:
    """Return how far from 0 the intervals of a panel go."""
    bounds: list[float] = [
        bound for _, one in panel for bound in (one.mean or 0.0, *(one.ci95 or ()))
    ]
    return max(abs(bound) for bound in bounds)
