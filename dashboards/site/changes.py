"""Changes of score between two nights: in sentences, in a figure, and what they cost."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dashboards.figures.axes import NAMES_AXIS, error_bars, interval_text
from dashboards.figures.numbers import Table
from dashboards.pages import formats
from dashboards.site.drawing import GREY, Drawing, drawn, marker
from dashboards.site.history import AgentNight, NightRow
from dashboards.theme import AgentStyle, label
from taskdata.schema.night import Morning, ScoreChange

RAISED = ("confirmed", "suspected")
"""Verdicts that raise an alarm, the surer first."""
_MOST_DRAWN = 30
_MOST_LISTED = 2_000
_SCOPES = ("all", "category", "task")


class Pair(NamedTuple):
    """A measure before and tonight."""

    before: float | None
    now: float | None
    is_unusual: bool = False
    """Whether tonight is outside what the nights that it is compared with had."""


class Effort(NamedTuple):
    """What an agent reached and took, per trial."""

    agent: str
    score: Pair
    success: Pair
    cost_usd: Pair
    wall_s: Pair
    turns: Pair
    tokens: Pair
    errors: Pair


def raised(morning: Morning) -> list[ScoreChange]:
    """Return the changes that raise an alarm: the surest and widest first."""

    def order(change: ScoreChange) -> tuple[int, int, float]:
        kind = change.scope.split(" ", 1)[0]
        scope = _SCOPES.index(kind) if kind in _SCOPES else len(_SCOPES)
        return RAISED.index(change.verdict), scope, -abs(change.after - change.before)

    return sorted((c for c in morning.changes if c.verdict in RAISED), key=order)


def is_regression(change: ScoreChange) -> bool:
    """Return whether the agent got worse."""
    mean = change.difference.mean
    return (change.after - change.before if mean is None else mean) < 0


def sentence(change: ScoreChange) -> str:
    """Return how far the score moved, from where to where, and how sure that is."""
    by = change.difference.mean
    moved = change.after - change.before if by is None else by
    where = {
        "all": "over all tasks",
        "category": f"in {formats.words(change.scope.partition(' ')[2])}",
        "task": f"on {change.scope.partition(' ')[2]}",
    }.get(change.scope.split(" ", 1)[0], change.scope)
    facts = [f"{formats.score(change.before)} to {formats.score(change.after)}"]
    if change.difference.ci95 is not None:
        facts.append(f"95 % interval {formats.gain_interval(change.difference.ci95)}")
    if not change.scope.startswith("task"):
        facts.append(formats.plural(change.tasks, "task"))
    if change.success_before is not None and change.success_after is not None:
        before, after = (formats.share(s) for s in (change.success_before, change.success_after))
        facts.insert(1, f"success {before} to {after}")
    if change.p_value is not None:
        facts.append(f"p {_equals(formats.probability(change.p_value))}")
    if change.verdict == "lasting":
        verb = "is still lower" if moved < 0 else "is still higher"
    else:
        verb = "fell" if moved < 0 else "rose"
    return f"{verb} by {abs(moved):.2f} points {where} ({'; '.join(facts)})."


def _equals(probability: str) -> str:
    return probability if probability.startswith("<") else f"= {probability}"


def changes_figure(morning: Morning, styles: Mapping[str, AgentStyle]) -> Drawing | None:
    """Return every agent's change over all tasks, and the changes that stand out below them."""
    if not morning.changes:
        return None
    whole = [change for change in morning.changes if change.scope == "all"]
    others = [c for c in morning.changes if c.scope != "all" and c.verdict != "none"]
    shown = [*whole, *others][:_MOST_DRAWN]
    left_out = len(whole) + len(others) - len(shown)
    note = "Root score, after minus before, paired by task, with 95 % intervals. Left is worse."
    if left_out:
        note += f" {left_out} more are in the table."
    figure = drawn(
        [_trace(place, change, styles) for place, change in enumerate(shown)],
        70 + 26 * len(shown),
        xaxis={"title": "change of root score", "range": _range(shown), "zeroline": False},
        yaxis=NAMES_AXIS
        | {
            "type": "linear",
            "tickvals": list(range(len(shown))),
            "ticktext": [f"{_name(change)} " for change in shown],
            "range": [len(shown) - 0.4, -0.6],
            "autorange": False,
            "zeroline": False,
        },
        shapes=[_line(0.0, "solid"), *_noise(morning.noise_floor)],
    )
    return Drawing("Changes of root score", figure, _table(morning.changes), note)


def effort_rows(night: NightRow, before: NightRow | None, morning: Morning) -> list[Effort]:
    """Return what each agent of the night reached and took.

    What is compared is over the tasks that both nights have; the rest stands alone, over all.
    """
    return [
        _effort(agent, now, None if before is None else before.agents.get(agent), morning)
        for agent, now in night.agents.items()
    ]


def _effort(agent: str, now: AgentNight, past: AgentNight | None, morning: Morning) -> Effort:
    efforts = {effort.what: effort for effort in morning.efforts if effort.agent == agent}
    whole = next((c for c in morning.changes if (c.agent, c.scope) == (agent, "all")), None)

    def took(what: str, total: float | None) -> Pair:
        if what not in efforts:
            return Pair(None, now.each(total))
        found = efforts[what]
        low, high = found.usual or (found.after, found.after)
        return Pair(found.before, found.after, not low <= found.after <= high)

    return Effort(
        agent,
        score=Pair(None, now.score) if whole is None else Pair(whole.before, whole.after),
        success=Pair(None, now.success)
        if whole is None or whole.success_after is None
        else Pair(whole.success_before, whole.success_after),
        cost_usd=took("cost_usd", now.cost_usd),
        wall_s=took("wall_s", now.wall_s),
        turns=took("turns", now.turns_sum),
        tokens=took("tokens", now.tokens),
        errors=Pair(None if past is None else past.errors, now.errors),
    )


def _name(change: ScoreChange) -> str:
    scope = "all tasks" if change.scope == "all" else change.scope.partition(" ")[2]
    return f"{label(change.agent, 30)} · {label(formats.words(scope), 30)}"


def _trace(place: int, change: ScoreChange, styles: Mapping[str, AgentStyle]) -> dict[str, Any]:
    style = styles[change.agent]
    moved = change.difference.mean
    interval = interval_text(change.difference, "+.2f")
    said = "not outside the noise" if change.verdict == "none" else change.verdict
    return {
        "type": "scatter",
        "x": [change.after - change.before if moved is None else moved],
        "y": [place],
        "error_x": error_bars([change.difference]) | {"color": style.colour},
        "mode": "markers",
        "marker": marker(style, 11) | {"opacity": 1 if change.verdict in RAISED else 0.55},
        "customdata": [[f"{interval}, {formats.plural(change.tasks, 'task')}<br>{said}", None]],
        "hovertemplate": f"{_name(change)}<br>%{{x:+.2f}}<br>%{{customdata[0]}}<extra></extra>",
    }


def _range(changes: Sequence[ScoreChange]) -> list[float]:
    bounds = [abs(b) for c in changes for b in (c.difference.ci95 or (c.after - c.before,))]
    reach = 1.1 * max([0.5, *bounds])
    return [-reach, reach]


def _line(x: float, dash: str) -> dict[str, Any]:
    line = {"color": GREY, "width": 1, "dash": dash}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _noise(floor: float | None) -> list[dict[str, Any]]:
    """Return the band within which a difference over all tasks raises no alarm."""
    if floor is None:
        return []
    band = {"type": "rect", "x0": -floor, "x1": floor, "yref": "paper", "y0": 0, "y1": 1}
    return [{**band, "fillcolor": GREY, "opacity": 0.12, "line": {"width": 0}, "layer": "below"}]


def _table(changes: Sequence[ScoreChange]) -> Table:
    columns = ("agent", "scope", "tasks", "before", "after", "difference", "from", "to", "p-value")
    rows = []
    for change in changes[:_MOST_LISTED]:
        low, high = change.difference.ci95 or (None, None)
        rows.append(
            [
                *(change.agent, change.scope, change.tasks, change.before, change.after),
                *(change.difference.mean, low, high, change.p_value, change.verdict),
            ]
        )
    return Table((*columns, "verdict"), rows)
