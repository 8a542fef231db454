"""Root score of every agent on every task."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

import plotly.graph_objects as go

from dashboards.figures.axes import bare, nothing_yet
from dashboards.theme import SCORES, label, labels

MOST_TASKS = 40
"""With more tasks than this, those are drawn on which the agents differ most."""


class TaskScore(NamedTuple):
    """Root score (0-10) of one first attempt."""

    agent: str
    task_id: str
    score: float


def task_scores(rows: Iterable[TaskScore], agents: Sequence[str]) -> go.Figure:
    """Return a heat map of the mean root score per task and agent."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        scores[row.task_id][row.agent].append(row.score)
    if not scores:
        return nothing_yet("No trial has a score yet.")
    means = {task: {a: fmean(s) for a, s in own.items()} for task, own in scores.items()}
    tasks = sorted(sorted(means, key=lambda t: _spread(means[t]), reverse=True)[:MOST_TASKS])
    cells = [[means[task].get(agent) for agent in agents] for task in tasks]
    figure = go.Figure(
        go.Heatmap(
            z=cells,
            x=list(labels(agents, 24).values()),
            y=[label(task, 44) for task in tasks],
            text=[["" if c is None else f"{c:.1f}" for c in row] for row in cells],
            texttemplate="%{text}",
            zmin=0,
            zmax=10,
            colorscale=SCORES,
            xgap=2,
            ygap=2,
            colorbar={"thickness": 10, "outlinewidth": 0, "tickvals": [0, 5, 10]},
            hovertemplate="%{y}<br>%{x}<br>root score %{z:.2f}<extra></extra>",
            hoverongaps=False,
        )
    )
    return bare(
        figure,
        44 + 25 * len(tasks),
        xaxis={"type": "category", "side": "top", "showgrid": False},
        yaxis={
            "type": "category",
            "autorange": "reversed",
            "ticksuffix": " ",
            "showgrid": False,
            "title": _note(len(means) - len(tasks)),
        },
    )


def _spread(means: dict[str, float]) -> float:
    return max(means.values()) - min(means.values())


def _note(left_out: int) -> str | None:
    if not left_out:
        return None
    return f"the {MOST_TASKS} tasks with the widest spread; {left_out} more are not drawn"
