"""The list of tasks, and one page per task: its history over nights and agents."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dashboards.figures.axes import SCORE_AXIS
from dashboards.figures.histogram import histogram
from dashboards.figures.numbers import Cell, Table
from dashboards.pages import formats
from dashboards.site.document import Link
from dashboards.site.drawing import GREY, Drawing, as_json, drawn, empty, marker
from dashboards.site.history import AgentNight, History, TaskHistory, TaskResult
from dashboards.site.task_facts import TaskFacts, flips, task_facts
from dashboards.site.trends import moment, nights_axis
from dashboards.theme import PALETTE, label
from taskdata.schema.night import NightTask

MOST_ROWS = 2_500
"""Tasks in the list, the suspicious and then the hardest first."""
_COMPOSITION: Mapping[str, Callable[[NightTask], Sequence[str]]] = {
    "category": lambda task: (task.category,),
    "tier": lambda task: (task.tier,),
    "capability": lambda task: task.capabilities,
    "type of deliverable": lambda task: task.deliverable_types,
}
_LINK = Link()
_BELOW = Link("../")


class TaskRow(NamedTuple):
    """A task in the list."""

    task: NightTask
    facts: TaskFacts
    is_current: bool
    """Whether the latest night has it."""


class AgentOnTask(NamedTuple):
    """One agent on one task, since the task is as it is now."""

    agent: str
    nights: int
    trials: int
    success: float | None
    score: float | None
    latest: float | None
    flips: int
    errors: int


def task_rows(history: History) -> list[TaskRow]:
    """Return every task: suspicious ones first, then those that are solved least."""
    current = set() if history.latest is None else {t.task_id for t in history.latest.tasks}
    rows = [
        TaskRow(known.task, task_facts(history, known), task_id in current)
        for task_id, known in history.tasks.items()
    ]

    def order(row: TaskRow) -> tuple[bool, bool, float, str]:
        success = 2.0 if row.facts.success is None else row.facts.success
        return not row.is_current, not row.facts.suspicions, success, row.task.task_id

    return sorted(rows, key=order)


def list_drawings(history: History, rows: Sequence[TaskRow]) -> dict[str, Drawing]:
    """Return what the bank is made of, and how hard and how telling each task is."""
    found = {"telling": _telling(rows)}
    tasks = () if history.latest is None else history.latest.tasks
    for name, names_of in _COMPOSITION.items():
        counts = Counter(formats.words(value) for task in tasks for value in names_of(task))
        ordered = dict(counts.most_common())
        table = Table((name, "tasks"), [[value, count] for value, count in ordered.items()])
        figure = as_json(histogram(ordered, len(tasks), PALETTE[0]))
        found[name.replace(" ", "-")] = Drawing(f"Tasks by {name}", figure, table)
    return found


def _telling(rows: Sequence[TaskRow]) -> Drawing:
    title = "How hard and how telling the tasks are"
    shown = [
        (row, row.facts.success, row.facts.discrimination)
        for row in rows
        if row.facts.success is not None and row.facts.discrimination is not None
    ]
    if not shown:
        sentence = "It takes a few nights or agents to tell."
        return Drawing(title, empty(sentence), Table((), ()))
    lowest = min(0.0, *(telling for _, _, telling in shown))
    figure = drawn(
        [_points(shown)],
        340,
        hovermode="closest",
        xaxis={
            "tickformat": ".0%",
            "range": [-0.03, 1.03],
            "title": "trials that solve it",
        },
        yaxis={"title": "discrimination", "range": [lowest - 0.1, 1.05]},
    )
    rows_of: list[list[Cell]] = [
        [row.task.task_id, row.task.title, success, telling] for row, success, telling in shown
    ]
    table = Table(
        ("task", "title", "success", "discrimination"),
        rows_of,
        [_LINK.task(row.task.task_id) for row, _, _ in shown],
    )
    note = (
        "Discrimination is the correlation of a task's score with the agent's mean over the other "
        "tasks: near 0 a task tells no agents apart, below 0 it may be broken. Diamonds are "
        "under suspicion."
    )
    return Drawing(title, figure, table, note)


def _points(shown: Sequence[tuple[TaskRow, float, float]]) -> dict[str, Any]:
    """Return a point for each task by success and discrimination; suspicious ones stand out."""
    suspicious = [bool(row.facts.suspicions) for row, _, _ in shown]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [success for _, success, _ in shown],
        "y": [telling for _, _, telling in shown],
        "marker": {
            "size": 8,
            "opacity": 0.75,
            "color": [PALETTE[1] if one else PALETTE[0] for one in suspicious],
            "symbol": ["diamond" if one else "circle" for one in suspicious],
        },
        "customdata": [
            [
                f"{label(row.task.task_id, 60)}<br>{label(row.task.title, 70)}",
                _LINK.task(row.task.task_id),
            ]
            for row, _, _ in shown
        ],
        "cliponaxis": False,
        "hovertemplate": "%{customdata[0]}<br>solved in %{x:.0%}, discrimination %{y:.2f}"
        "<extra></extra>",
    }


def task_context(history: History, known: TaskHistory) -> dict[str, Any]:
    """Return what the template of a task's page needs."""
    facts = task_facts(history, known)
    by_night: dict[int, list[TaskResult]] = defaultdict(list)
    for result in known.results:
        by_night[result.night].append(result)
    there = {result.agent for result in known.results}
    return {
        "task": known.task,
        "facts": facts,
        "agents": _agents(history, known),
        "styles": history.styles,
        "used_styles": {a: style for a, style in history.styles.items() if a in there},
        "nights": [
            (history.nights[place], [result.agent for result in by_night[place]])
            for place in sorted(by_night, reverse=True)
        ],
        "changed": [history.nights[place] for place in known.changed],
        "bank": history.nights[max(by_night)].settings.bank if by_night else None,
    }


def _agents(history: History, known: TaskHistory) -> list[AgentOnTask]:
    own: dict[str, list[TaskResult]] = defaultdict(list)
    for result in known.results:
        if result.night >= known.since:
            own[result.agent].append(result)
    return [_agent(agent, own[agent]) for agent in history.styles if agent in own]


def _agent(agent: str, results: Sequence[TaskResult]) -> AgentOnTask:
    tally = AgentNight()
    for result in results:
        tally.trials += result.trials
        tally.scored += result.scored
        tally.score_sum += (result.score or 0.0) * result.scored
        tally.decided += result.decided
        tally.succeeded += result.succeeded
        tally.errors += result.errors
    return AgentOnTask(
        agent=agent,
        nights=len(results),
        trials=tally.trials,
        success=tally.success,
        score=tally.score,
        latest=results[-1].score,
        flips=flips(results),
        errors=tally.errors,
    )


def task_drawings(history: History, known: TaskHistory) -> dict[str, Drawing]:
    """Return the scores of every agent on the task over the nights."""
    places = sorted({result.night for result in known.results})
    scores: dict[str, dict[int, float | None]] = defaultdict(dict)
    for result in known.results:
        scores[result.agent][result.night] = result.score
    agents = [agent for agent in history.styles if agent in scores]
    nights = {place: history.nights[place] for place in places}
    figure = drawn(
        [_line(history, agent, scores[agent], places) for agent in agents],
        320,
        hovermode="closest",
        xaxis=nights_axis(list(nights.values())),
        yaxis=SCORE_AXIS | {"title": "root score"},
        shapes=[_mark(moment(nights[place])) for place in known.changed if place in nights],
        margin={"l": 8, "r": 18, "t": 10, "b": 44},
    )
    rows: list[list[Cell]] = [
        [night.run_id, moment(night), *(_short(scores[agent].get(place)) for agent in agents)]
        for place, night in nights.items()
    ]
    task_id = known.task.task_id
    links = [_BELOW.compare(night.run_id, task_id) for night in nights.values()]
    note = "A dotted line: from here on the task is another. A click opens the night's trials."
    table = Table(("night", "started", *agents), rows, links)
    return {"scores": Drawing("Root score over the nights", figure, table, note)}


def _line(
    history: History, agent: str, scores: Mapping[int, float | None], places: Sequence[int]
) -> dict[str, Any]:
    style = history.styles[agent]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [moment(history.nights[place]) for place in scores],
        "y": [_short(score) for score in scores.values()],
        # Rows of the table, which has the links: written out for each point, they fill the page.
        "customdata": [places.index(place) for place in scores],
        "line": {"color": style.colour, "width": 1.5}
        | ({"dash": "dot"} if agent in history.controls else {}),
        "marker": marker(style, 7),
        "cliponaxis": False,
        "hovertemplate": f"{label(agent)}<br>%{{x|%e %b %Y}}: %{{y:.2f}}<extra></extra>",
    }


def _short(score: float | None) -> float | None:
    return None if score is None else round(score, 3)


def _mark(x: str) -> dict[str, Any]:
    line = {"color": GREY, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}
