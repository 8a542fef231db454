"""The leaderboard of the latest night: ranks with their uncertainty, and what they rest on."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dashboards.figures.headline import headline
from dashboards.figures.numbers import Cell, Table
from dashboards.figures.refinement import refinement
from dashboards.figures.success_curve import success_curve
from dashboards.site import breakdowns
from dashboards.site.drawing import Drawing, as_json, drawn, empty, marker
from dashboards.site.history import AgentNight, History
from dashboards.theme import SCORES, label, labels
from taskdata.schema.estimate import Estimate
from taskdata.schema.night import CategoryEstimate
from taskdata.schema.ranking import Standing, controls, ranked, standings
from taskdata.schema.summary import AgentSummary, RunSummary

_DASHES = ("solid", "dot")
_NEAR = (0.35, 0.2)
"""Parts of both axes within which the names of two points would cover each other."""


def leaderboard_drawings(
    history: History, summary: RunSummary, pooled: Sequence[CategoryEstimate] = ()
) -> dict[str, Drawing]:
    """Return the figures of the leaderboard; `pooled` are estimates by category of that night."""
    found = {
        "headline": _headline(history, summary),
        "ranks": _ranks(history, standings(summary)),
        "success-curve": _success_curve(history, summary),
        "cost": _front(history, "Success against cost", "dollars per trial", _cost),
        "steps": _front(history, "Success against steps", "turns per trial", _turns),
        "passes": _passes(history, summary),
        "harnesses": _harnesses(history),
        **breakdowns.drawings(history, pooled),
    }
    if summary.refinement:
        found["refinement"] = _refinement(history, summary)
    return found


def _cost(agent: AgentNight) -> float | None:
    return agent.each(agent.cost_usd)


def _turns(agent: AgentNight) -> float | None:
    return agent.each(agent.turns_sum)


def _headline(history: History, summary: RunSummary) -> Drawing:
    agents = [*ranked(summary.agents), *controls(summary.agents)]
    columns = ("agent", "score", "from", "to", "root SR", "from", "to", "trials")
    rows = [
        [
            *(agent.agent, *_numbers(agent.root_score)),
            *_numbers(Estimate(mean=agent.root_sr, ci95=agent.root_sr_ci95)),
            agent.scored,
        ]
        for agent in agents
    ]
    figure = as_json(headline(agents, history.styles, summary.run.threshold))
    note = "With 95 % intervals that respect clustering by task."
    return Drawing("Root score and root success rate", figure, Table(columns, rows), note)


def _ranks(history: History, standings: Sequence[Standing]) -> Drawing:
    title = "Ranks that the night leaves open"
    if len(standings) < 2:
        return Drawing(title, empty("It takes two agents with a score."), Table((), ()))
    agents = [standing.summary.agent for standing in standings]
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": list(range(standing.best, standing.worst + 1)),
            "y": [place] * (standing.worst - standing.best + 1),
            "line": {"color": history.styles[agent].colour, "width": 5},
            "marker": marker(history.styles[agent], 11),
            "cliponaxis": False,
            "hovertemplate": f"{label(agent)}<br>rank {standing.rank}<extra></extra>",
        }
        for place, (agent, standing) in enumerate(zip(agents, standings, strict=True))
    ]
    figure = drawn(
        data,
        70 + 26 * len(agents),
        xaxis={"title": "rank", "dtick": max(1, len(agents) // 10), "zeroline": False}
        | {"range": [0.6, len(agents) + 0.4]},
        yaxis=breakdowns.names_axis(agents, label),
    )
    rows: list[list[Cell]] = [[s.summary.agent, s.best, s.worst] for s in standings]
    note = "From 95 % intervals of the differences of each pair of agents, paired by task."
    return Drawing(title, figure, Table(("agent", "best rank", "worst rank"), rows), note)


def _numbers(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    low, high = estimate.ci95 or (None, None)
    return estimate.mean, low, high


def _success_curve(history: History, summary: RunSummary) -> Drawing:
    agents = ranked(summary.agents)
    figure = as_json(success_curve(agents, history.styles))
    rows: list[list[Cell]] = [
        [agent.agent, int(k), share] for agent in agents for k, share in agent.root_sr_at.items()
    ]
    return Drawing("Root SR@k as the bar is raised", figure, Table(("agent", "k", "SR"), rows))


def _front(
    history: History, title: str, axis: str, measure: Callable[[AgentNight], float | None]
) -> Drawing:
    points = {}
    for agent in history.competing:
        own = history.nights[-1].agents.get(agent)
        if own is not None and own.success is not None and (x := measure(own)) is not None:
            points[agent] = (x, own.success)
    if not points:
        return Drawing(title, empty("It is unknown of every agent."), Table((), ()))
    best = pareto(points)
    reach = max(x for x, _ in points.values())
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [points[agent][0] for agent in best],
            "y": [points[agent][1] for agent in best],
            "line": {"color": "#808891", "width": 1, "dash": "dot", "shape": "hv"},
            "hoverinfo": "skip",
        },
        *(
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [x],
                "y": [y],
                "text": [label(agent, 26)],
                "textposition": _beside(points, agent, reach),
                "textfont": {"size": 11},
                "marker": marker(history.styles[agent], 11),
                "cliponaxis": False,
                "hovertemplate": f"{label(agent)}<br>%{{x:,.3~g}} {axis}<br>%{{y:.0%}}"
                "<extra></extra>",
            }
            for agent, (x, y) in points.items()
        ),
    ]
    figure = drawn(
        data,
        320,
        xaxis={"title": axis, "range": [-0.04 * reach or -0.04, 1.06 * reach or 1]},
        yaxis={"tickformat": ".0%", "range": [0, 1.12], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
    )
    rows: list[list[Cell]] = [
        [agent, x, y, "yes" if agent in best else "no"] for agent, (x, y) in points.items()
    ]
    table = Table(("agent", axis, "root SR", "on the front"), rows)
    return Drawing(
        title, figure, table, "The dotted line is the Pareto front: nobody is better for less."
    )


def _beside(points: Mapping[str, tuple[float, float]], agent: str, reach: float) -> str:
    """Return where the name of an agent's point stands: inwards, and off the next point above."""
    x, y = points[agent]
    above = (
        abs(other_x - x) < _NEAR[0] * (reach or 1) and 0 <= other_y - y < _NEAR[1]
        for other, (other_x, other_y) in points.items()
        if other != agent
    )
    return f"{'bottom' if any(above) else 'top'} {'left' if 2 * x > reach else 'right'}"


def pareto(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return who is on the Pareto front of least x and most y, by x."""
    front: list[str] = []
    for name, (_, y) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if not front or y > points[front[-1]][1]:
            front.append(name)
    return front


def _passes(history: History, summary: RunSummary) -> Drawing:
    title = "pass@k against pass^k"
    agents = [a for a in ranked(summary.agents) if len(a.pass_at_k) > 1]
    if not agents:
        return Drawing(title, empty("It takes several repetitions of a task."), Table((), ()))
    data = [
        _curve(history, agent, name, values, dash)
        for agent in agents
        for (name, values), dash in zip(_pass_curves(agent), _DASHES, strict=True)
    ]
    figure = drawn(
        data,
        300,
        xaxis={"title": "k", "dtick": 1 if summary.run.repetitions < 12 else None},
        yaxis={"tickformat": ".0%", "range": [0, 1.03]},
    )
    rows: list[list[Cell]] = [
        [agent.agent, name, int(k), *_numbers(estimate)]
        for agent in agents
        for name, values in _pass_curves(agent)
        for k, estimate in values.items()
    ]
    note = (
        "Solid: any of k repetitions succeeds. Dotted: all k do. A wide gap is an unsteady agent."
    )
    table = Table(("agent", "measure", "k", "share", "from", "to"), rows)
    return Drawing(title, figure, table, note)


def _pass_curves(agent: AgentSummary) -> Sequence[tuple[str, Mapping[str, Estimate]]]:
    return (("pass@k", agent.pass_at_k), ("pass^k", agent.pass_hat_k))


def _curve(
    history: History, agent: AgentSummary, name: str, values: Mapping[str, Estimate], dash: str
) -> dict[str, Any]:
    style = history.styles[agent.agent]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [int(k) for k in values],
        "y": [estimate.mean for estimate in values.values()],
        "line": {"color": style.colour, "width": 2, "dash": dash},
        "marker": marker(style),
        "hovertemplate": f"{label(agent.agent)}<br>{name}, k = %{{x}}: %{{y:.0%}}<extra></extra>",
    }


def _harnesses(history: History) -> Drawing:
    title = "Harness × model"
    cells: dict[tuple[str, str], float] = {}
    models: dict[str, None] = {}
    shares: dict[str, list[float]] = defaultdict(list)
    for agent in history.competing:
        harness, colon, model = agent.partition(":")
        own = history.nights[-1].agents.get(agent)
        if colon and own is not None and own.success is not None:
            cells[harness, model] = own.success
            models[model] = None
            shares[harness].append(own.success)
    if not cells:
        return Drawing(title, empty("No agent names a harness and a model."), Table((), ()))
    harnesses = sorted(shares, key=lambda harness: -max(shares[harness]))
    z = [[cells.get((harness, model)) for harness in harnesses] for model in models]
    heat = {
        "type": "heatmap",
        "x": list(range(len(harnesses))),
        "y": list(range(len(models))),
        "z": z,
        "zmin": 0,
        "zmax": 1,
        "colorscale": SCORES,
        "showscale": False,
        "text": [["" if share is None else f"{share:.0%}" for share in row] for row in z],
        "texttemplate": "%{text}",
        "xgap": 2,
        "ygap": 2,
        "hoverinfo": "skip",
    }
    figure = drawn(
        [heat],
        70 + 34 * len(models),
        xaxis={
            "tickvals": heat["x"],
            "ticktext": list(labels(harnesses, 24).values()),
            "side": "top",
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "tickvals": heat["y"],
            "ticktext": [f"{label(m, 32)} " for m in models],
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
        },
        margin={"l": 8, "r": 18, "t": 34, "b": 10},
    )
    rows: list[list[Cell]] = [[h, m, share] for (h, m), share in cells.items()]
    return Drawing(title, figure, Table(("harness", "model", "root SR"), rows), "Root SR.")


def _refinement(history: History, summary: RunSummary) -> Drawing:
    rows = [
        [
            *(gain.agent, gain.arm, gain.round, gain.trials),
            *(gain.mean_before, gain.mean_after, *_numbers(gain.gain)),
            *_numbers(
                gain.over_none.difference if gain.over_none else Estimate(mean=None, ci95=None)
            ),
            gain.cost_per_point_usd,
        ]
        for gain in summary.refinement
    ]
    columns = (
        *("agent", "arm", "round", "trials", "first", "then", "gain", "from", "to"),
        *("over none", "from", "to", "dollars per point"),
    )
    figure = as_json(refinement(summary.refinement, history.styles))
    note = (
        "Root score, over the trials that were tried again; it is in no other figure of this page. "
        "Paired by trial."
    )
    return Drawing("What feedback gains, by arm", figure, Table(columns, rows), note)
