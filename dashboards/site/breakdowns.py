"""Scores of the latest night by what its tasks are: capability, category, deliverable, size."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from dashboards.figures.axes import NAMES_AXIS, SCORE_AXIS, error_bars, interval_text
from dashboards.figures.numbers import Cell, Table
from dashboards.pages import formats
from dashboards.site.drawing import Drawing, drawn, empty, marker
from dashboards.site.history import History
from dashboards.theme import label
from taskdata.schema.night import CategoryEstimate, Night, NightTask

_LEAVES = ((5, "1 to 5 leaves"), (10, "6 to 10 leaves"), (20, "11 to 20 leaves"))
_MORE_LEAVES = "more than 20 leaves"
_CORNERS = 3
"""A radar of fewer has no area."""


class _Group(NamedTuple):
    score: float | None
    success: float | None
    tasks: int


def drawings(history: History, pooled: Sequence[CategoryEstimate] = ()) -> dict[str, Drawing]:
    """Return the figures; means of few tasks have no honest interval, so that none is drawn.

    Args:
        history: All nights.
        pooled: Estimates by category that have one, of the latest night; drawn where there are.
    """
    if history.latest is None:
        return {}
    night = history.latest
    agents = [agent for agent in history.competing if agent in history.nights[-1].agents]
    category = _groups(night, lambda task: (task.category,))
    return {
        "radar": _radar(history, agents, _groups(night, lambda task: task.capabilities)),
        "category": _pooled(history, pooled)
        if pooled
        else _dots("category", history, agents, category),
        "deliverables": _dots(
            "type of deliverable", history, agents, _groups(night, lambda t: t.deliverable_types)
        ),
        "leaves": _dots("number of leaves", history, agents, _groups(night, _size), ordered=True),
    }


def _size(task: NightTask) -> tuple[str, ...]:
    return (next((name for most, name in _LEAVES if task.leaves <= most), _MORE_LEAVES),)


def _groups(
    night: Night, names: Callable[[NightTask], Sequence[str]]
) -> Mapping[str, Mapping[str, _Group]]:
    """Return group -> agent -> its means."""
    belongs = {task.task_id: tuple(names(task)) for task in night.tasks}
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    successes: dict[tuple[str, str], list[bool]] = defaultdict(list)
    tasks: dict[tuple[str, str], int] = defaultdict(int)
    for cell in night.cells:
        for group in belongs.get(cell.task_id, ()):
            key = group, cell.agent
            tasks[key] += 1
            scores[key] += [score for score in cell.scores if score is not None]
            successes[key] += [success for success in cell.successes if success is not None]
    found: dict[str, dict[str, _Group]] = defaultdict(dict)
    for (group, agent), count in tasks.items():
        score, success = scores[group, agent], successes[group, agent]
        found[group][agent] = _Group(
            fmean(score) if score else None, fmean(success) if success else None, count
        )
    return found


def _radar(
    history: History, agents: Sequence[str], groups: Mapping[str, Mapping[str, _Group]]
) -> Drawing:
    title = "Success rate by capability"
    names = sorted(groups)
    if len(names) < _CORNERS:
        return _dots("capability", history, agents, groups)
    corners = [label(formats.words(name)) for name in names]

    def trace(agent: str) -> dict[str, Any]:
        shares = [own.success if (own := groups[n].get(agent)) else None for n in names]
        style = history.styles[agent]
        return {
            "type": "scatterpolar",
            "theta": [*corners, corners[0]],
            "r": [*shares, shares[0]],
            "mode": "lines+markers",
            "line": {"color": style.colour, "width": 2},
            "marker": marker(style, 7),
            "hovertemplate": f"{label(agent)}<br>%{{theta}}: %{{r:.0%}}<extra></extra>",
        }

    radial = {"range": [0, 1], "tickformat": ".0%", "tickvals": [0.25, 0.5, 0.75, 1], "angle": 45}
    figure = drawn(
        [trace(agent) for agent in agents],
        360,
        polar={"radialaxis": radial | {"tickfont": {"size": 10}}},
        margin={"l": 84, "r": 84, "t": 30, "b": 30},
    )
    return Drawing(title, figure, _table("capability", agents, groups, names), _note(groups))


def _dots(
    what: str,
    history: History,
    agents: Sequence[str],
    groups: Mapping[str, Mapping[str, _Group]],
    ordered: bool = False,
) -> Drawing:
    title = f"Root score by {what}"
    if not groups:
        return Drawing(title, empty("No task says it."), Table((), ()))
    sizes = [name for _, name in _LEAVES] + [_MORE_LEAVES]
    names = [name for name in sizes if name in groups] if ordered else sorted(groups)

    def trace(agent: str) -> dict[str, Any]:
        own = [(place, found) for place, n in enumerate(names) if (found := groups[n].get(agent))]
        return {
            "type": "scatter",
            "mode": "markers",
            "orientation": "h",
            "x": [group.score for _, group in own],
            "y": [place for place, _ in own],
            "marker": marker(history.styles[agent], 10),
            "customdata": [[formats.plural(group.tasks, "task"), None] for _, group in own],
            "hovertemplate": f"{label(agent)}<br>%{{x:.2f}}, %{{customdata[0]}}<extra></extra>",
        }

    figure = drawn(
        [trace(agent) for agent in agents],
        64 + 34 * len(names),
        xaxis=SCORE_AXIS | {"title": "mean root score"},
        yaxis=names_axis(names),
    )
    return Drawing(title, figure, _table(what, agents, groups, names), _note(groups))


def _pooled(history: History, estimates: Sequence[CategoryEstimate]) -> Drawing:
    """Return the estimates by category with their intervals, the agents one below the other."""
    names = sorted({estimate.category for estimate in estimates})
    agents = [a for a in history.competing if any(e.agent == a for e in estimates)]
    step = 0.8 / max(1, len(agents))

    def trace(place: int, agent: str) -> dict[str, Any]:
        own = [estimate for estimate in estimates if estimate.agent == agent]
        found = [estimate.estimate for estimate in own]
        style = history.styles[agent]
        offset = (place - (len(agents) - 1) / 2) * step
        return {
            "type": "scatter",
            "mode": "markers",
            "x": [estimate.mean for estimate in found],
            "y": [names.index(estimate.category) + offset for estimate in own],
            "error_x": error_bars(found) | {"color": style.colour, "thickness": 1.5, "width": 3},
            "marker": marker(style, 8),
            "customdata": [
                [f"{interval_text(e.estimate, '.2f')}, {formats.plural(e.tasks, 'task')}", None]
                for e in own
            ],
            "hovertemplate": f"{label(agent)}<br>%{{x:.2f}}<br>%{{customdata[0]}}<extra></extra>",
        }

    figure = drawn(
        [trace(place, agent) for place, agent in enumerate(agents)],
        64 + len(names) * max(34, 14 * len(agents)),
        xaxis=SCORE_AXIS | {"title": "mean root score, pooled"},
        yaxis=names_axis(names),
    )
    rows: list[list[Cell]] = [
        [e.category, e.agent, e.tasks, e.estimate.mean, *(e.estimate.ci95 or (None, None))]
        for e in estimates
    ]
    note = (
        "Shrunken estimates with 95 % intervals: a category of few tasks leans on the agent's "
        "other categories."
    )
    table = Table(("category", "agent", "tasks", "score", "from", "to"), rows)
    return Drawing("Root score by category", figure, table, note)


def names_axis(
    names: Sequence[str], text: Callable[[str], str] = lambda name: label(formats.words(name))
) -> dict[str, Any]:
    """Return an axis of names from the top, one at each whole number from 0."""
    return NAMES_AXIS | {
        "type": "linear",
        "tickvals": list(range(len(names))),
        "ticktext": [f"{text(name)} " for name in names],
        "range": [len(names) - 0.5, -0.5],
        "autorange": False,
        "showgrid": True,
        "zeroline": False,
    }


def _note(groups: Mapping[str, Mapping[str, _Group]]) -> str:
    counts = [group.tasks for own in groups.values() for group in own.values()]
    span = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{min(counts)}"
    return f"Means over {span} tasks each, without intervals: they rank no agent."


def _table(
    what: str,
    agents: Sequence[str],
    groups: Mapping[str, Mapping[str, _Group]],
    names: Sequence[str],
) -> Table:
    rows: list[list[Cell]] = [
        [name, agent, own.tasks, own.score, own.success]
        for name in names
        for agent in agents
        if (own := groups[name].get(agent))
    ]
    return Table((what, "agent", "tasks", "score", "root SR"), rows)
