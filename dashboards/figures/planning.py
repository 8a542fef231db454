"""Plans: errors by kind, calls of distractors by their number, cost against the optimum (APB)."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboards.figures.axes import NAMES_AXIS, bare, error_bars, interval_text, nothing_yet
from dashboards.theme import AgentStyle, label
from taskdata.schema.estimate import Estimate
from taskdata.schema.planning_summary import PlanningAgent

ERRORS = {
    "E1": "goal",
    "E2": "unfinished",
    "E3": "constraint",
    "E4": "logic",
    "E5": "tool use",
    "E6": "hallucination",
}
"""The errors of plans in a word."""
_FORMS = {"holistic": "Whole plans", "step_wise": "Next actions"}
_ROUND_NAMES = 28
"""Pixels beside a round axis for the names on it."""
_FEW_CALLS = 5
"""Below so many, an axis would have ticks between whole calls."""
_COSTS = {"all": "all answers", "passed": "correct ones", "common": "correct for every agent"}


def plan_errors(agents: Sequence[PlanningAgent], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return one closed line per agent and form over E1 to E6: the share of answers with each.

    The left panel is whole plans, the right one next actions (APB, figure 3).
    """
    forms = [form for form in _FORMS if any(form in a.settings for a in agents)]
    if not forms:
        return nothing_yet("No plan without distractors has marks yet.")
    figure = make_subplots(
        cols=len(forms),
        horizontal_spacing=0.2,
        specs=[[{"type": "polar"}] * len(forms)],
        subplot_titles=[_FORMS[form] for form in forms],
    )
    highest = 0.1
    for column, form in enumerate(forms, start=1):
        for agent in agents:
            if form not in agent.settings:
                continue
            errors = agent.settings[form].errors
            shares = [errors[name].mean or 0.0 for name in ERRORS]
            highest = max(highest, *shares)
            figure.add_trace(_closed(agent.agent, shares, styles[agent.agent]), row=1, col=column)
    figure.update_polars(
        radialaxis={
            "range": [0, min(1.0, 1.1 * highest)],
            "tickformat": ".0%",
            "nticks": 4,
            "angle": 60,
        },
        angularaxis={"direction": "clockwise", "rotation": 90},
        bgcolor="rgba(0,0,0,0)",
    )
    return bare(figure, 340, margin_l=_ROUND_NAMES, margin_r=_ROUND_NAMES)


def _closed(agent: str, shares: Sequence[float], style: AgentStyle) -> go.Scatterpolar:
    names = [*ERRORS, "E1"]
    return go.Scatterpolar(
        r=[*shares, shares[0]],
        theta=names,
        name=label(agent),
        mode="lines+markers",
        line={"color": style.colour, "width": 2},
        marker={"color": style.colour, "symbol": style.symbol, "size": 7},
        customdata=[ERRORS[name] for name in names],
        hovertemplate="%{theta} %{customdata}: %{r:.1%}",
    )


def extraneous_use(agents: Sequence[PlanningAgent], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return calls of distractors against how many there are, by agent (APB, figure 4)."""
    forms = [form for form in _FORMS if any(form in a.extraneous for a in agents)]
    if not forms:
        return nothing_yet("No case with distractors has an answer yet.")
    figure = make_subplots(cols=len(forms), subplot_titles=[_FORMS[form] for form in forms])
    for column, form in enumerate(forms, start=1):
        for agent in agents:
            effect = agent.extraneous.get(form)
            if effect is None:
                continue
            style, uses = styles[agent.agent], effect.by_count
            line = go.Scatter(
                x=list(uses),
                y=[use.calls for use in uses.values()],
                name=label(agent.agent),
                mode="lines+markers",
                line={"color": style.colour, "width": 2},
                marker={"color": style.colour, "symbol": style.symbol, "size": 9},
                customdata=[f"{use.marks.answers} answers" for use in uses.values()],
                hovertemplate="%{x} distractors: %{y} calls<br>%{customdata}",
                cliponaxis=False,
            )
            figure.add_trace(line, row=1, col=column)
        figure.update_xaxes({"title": "distractors offered", "dtick": 2}, row=1, col=column)
    figure.update_yaxes({"rangemode": "nonnegative"})
    if max(y for line in figure.data for y in line.y) < _FEW_CALLS:
        figure.update_yaxes({"dtick": 1})
    figure.update_yaxes({"title": "calls of them"}, row=1, col=1)
    return bare(figure, 240)


def plan_costs(agents: Sequence[PlanningAgent], styles: Mapping[str, AgentStyle]) -> go.Figure:
    """Return the mean cost of each agent's tool chains; the dotted line is the optimum."""
    priced = [(a, a.costs) for a in agents if a.costs is not None and a.costs.all.mean is not None]
    if not priced:
        return nothing_yet("No efficiency-aware case has an answer with a known cost yet.")
    figure = go.Figure()
    for agent, costs in priced:
        known = [
            (name, one)
            for field, name in _COSTS.items()
            if (one := getattr(costs, field)).mean is not None
        ]
        figure.add_trace(_cost_points(agent.agent, known, styles[agent.agent]))
    optimum = priced[0][1].optimum.mean
    if optimum is not None:
        figure.add_vline(x=optimum, line={"width": 1, "dash": "dot", "color": "#808891"})
    return bare(
        figure,
        58 + len(_COSTS) * max(28, 15 * len(priced)),
        scattermode="group",
        xaxis={"title": "mean cost of a tool chain", "rangemode": "tozero"},
        yaxis=NAMES_AXIS | {"categoryorder": "array", "categoryarray": list(_COSTS.values())},
    )


def _cost_points(
    agent: str, known: Sequence[tuple[str, Estimate]], style: AgentStyle
) -> go.Scatter:
    estimates = [one for _, one in known]
    return go.Scatter(
        x=[one.mean for one in estimates],
        y=[name for name, _ in known],
        name=label(agent),
        orientation="h",
        error_x=error_bars(estimates) | {"color": style.colour, "thickness": 1.5, "width": 3},
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 9},
        customdata=[f"{interval_text(one, '.1f')}, {one.n} answers" for one in estimates],
        hovertemplate="%{y}: %{x:.2f}<br>%{customdata}",
    )
