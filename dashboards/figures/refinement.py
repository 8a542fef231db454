"""What each refinement round gained."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboards.figures.axes import NAMES_AXIS, bare, error_bars, interval_text, nothing_yet
from dashboards.theme import AgentStyle, label
from taskdata.schema.summary import RefinementGain


def refinement(gains: Sequence[RefinementGain], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return the mean gain in root score with its interval, one line per agent, arm and round."""
    known = [gain for gain in gains if gain.gain.mean is not None]
    if not known:
        return nothing_yet("No refined trial has a score before and after.")
    figure = go.Figure()
    for gain in known:
        style = styles[gain.agent]
        figure.add_scatter(
            x=[gain.gain.mean],
            y=[f"{label(gain.agent, 32)}, {label(gain.arm)}, round {gain.round}"],
            error_x=error_bars([gain.gain]) | {"color": style.colour},
            mode="markers",
            marker={"color": style.colour, "symbol": style.symbol, "size": 11},
            customdata=[f"{interval_text(gain.gain, '+.2f')}, {gain.gain.n} trials"],
            hovertemplate="%{y}<br>%{x:+.2f}<br>%{customdata}<extra></extra>",
        )
    reach = 1.1 * max(abs(bound) for g in known for bound in (g.gain.mean, *(g.gain.ci95 or ())))
    figure.add_vline(x=0, line={"width": 1, "dash": "dot", "color": "#808891"})
    return bare(
        figure,
        50 + 34 * len(known),
        xaxis={"range": [-max(1.0, reach), max(1.0, reach)], "title": "gain in root score"},
        yaxis=NAMES_AXIS,
    )
