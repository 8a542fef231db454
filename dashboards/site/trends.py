"""Every agent's score, success, cost, time and errors over the nights."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from dashboards.figures.axes import SCORE_AXIS, SHARE_AXIS
from dashboards.figures.numbers import Cell, Table
from dashboards.pages import formats
from dashboards.site.document import Link
from dashboards.site.drawing import GREY, Drawing, drawn, empty, marker
from dashboards.site.history import AgentNight, History, NightRow
from dashboards.theme import label

_HEIGHT = 300
_MARKED = 12
"""Changes of release that are named in a figure; of more, only the lines are drawn."""
_NAMED_NIGHTS = 7
"""So few nights each have a tick of their own on an axis of time."""
_APART = 0.1
"""Part of the axis that two such ticks must be apart, or one label covers the other."""
_LINK = Link()


class _Measure(NamedTuple):
    title: str
    of: Callable[[AgentNight], float | None]
    form: str
    axis: Mapping[str, Any]
    note: str = ""


_FROM_ZERO = {"rangemode": "tozero"}
MEASURES: Mapping[str, _Measure] = {
    "score": _Measure("Root score", lambda own: own.score, ".2f", SCORE_AXIS),
    "success": _Measure("Root success rate", lambda own: own.success, ".0%", SHARE_AXIS),
    "cost": _Measure(
        "Dollars per trial",
        lambda own: own.each(own.cost_usd),
        "$,.3~g",
        _FROM_ZERO | {"tickformat": "$,.3~g"},
        "A night without a point has a price that is unknown.",
    ),
    "time": _Measure("Seconds per trial", lambda own: own.each(own.wall_s), ",.1f", _FROM_ZERO),
    "errors": _Measure(
        "Trials lost to infrastructure errors",
        lambda own: own.errors / own.trials if own.trials else None,
        ".1%",
        _FROM_ZERO | {"tickformat": ".0%", "minallowed": 0},
        "Share of the trials of the night. They are in no score.",
    ),
}
"""Figure -> what it shows of an agent in a night."""


def trend_drawings(history: History) -> dict[str, Drawing]:
    """Return one figure per measure, with a line per agent and a mark per change of release."""
    return {name: _drawing(history, measure) for name, measure in MEASURES.items()}


def release_changes(nights: Sequence[NightRow]) -> list[tuple[int, str]]:
    """Return the nights that ran another release than the night before, and which one."""
    banks = [(night.settings.bank, night.settings.release_hash) for night in nights]
    return [(n, banks[n][0]) for n in range(1, len(banks)) if banks[n] != banks[n - 1]]


def _drawing(history: History, measure: _Measure) -> Drawing:
    nights = history.nights
    agents = [agent for agent in history.styles if _has(nights, agent, measure)]
    if not agents:
        return Drawing(measure.title, empty("No night has it."), Table((), ()), measure.note)
    changes = release_changes(nights)
    figure = drawn(
        [_line(history, agent, measure) for agent in agents],
        _HEIGHT,
        hovermode="closest",
        xaxis=nights_axis(nights),
        yaxis=dict(measure.axis),
        shapes=[_mark(nights[night]) for night, _ in changes],
        annotations=[_named(nights[n], bank) for n, bank in changes[-_MARKED:]],
        margin={"l": 8, "r": 18, "t": 26 if changes else 10, "b": 44},
    )
    return Drawing(measure.title, figure, _table(history, agents, measure), measure.note)


def _has(nights: Sequence[NightRow], agent: str, measure: _Measure) -> bool:
    return any(agent in n.agents and measure.of(n.agents[agent]) is not None for n in nights)


def _line(history: History, agent: str, measure: _Measure) -> dict[str, Any]:
    style = history.styles[agent]
    own = [night for night in history.nights if agent in night.agents]
    many = len(own) > 30
    return {
        "type": "scatter",
        "x": [moment(night) for night in own],
        "y": [_short(measure.of(night.agents[agent])) for night in own],
        "name": label(agent),
        "mode": "lines+markers",
        "line": {"color": style.colour, "width": 1.5}
        | ({"dash": "dot"} if agent in history.controls else {}),
        "marker": marker(style, 5 if many else 7),
        "customdata": [
            [
                f"{label(night.run_id)}, {night.agents[agent].scored} scored",
                _LINK.morning(night.run_id),
            ]
            for night in own
        ],
        "hovertemplate": f"{label(agent)}<br>%{{x|%e %b %Y}}: %{{y:{measure.form}}}"
        "<br>%{customdata[0]}<extra></extra>",
    }


def moment(night: NightRow) -> str:
    """Return when the night began, as Plotly reads it."""
    return f"{night.created_at:%Y-%m-%d %H:%M}"


def nights_axis(nights: Sequence[NightRow]) -> dict[str, Any]:
    """Return an axis of time; a few nights have their own days as ticks.

    Plotly's own ticks for one night, or for a few, are hours that repeat the same day.
    """
    axis: dict[str, Any] = {"type": "date", "nticks": 12}
    times = [night.created_at for night in nights]
    if not times or len(times) > _NAMED_NIGHTS:
        return axis
    room = max(0.05 * (times[-1] - times[0]), timedelta(minutes=1))
    if len(times) == 1:
        room = timedelta(hours=12)
    span = times[-1] - times[0] + 2 * room
    form = "%e %b %H:%M" if len({time.date() for time in times}) < len(times) else "%e %b"
    ticks = {"tickvals": [moment(n) for n in nights], "ticktext": [f"{t:{form}}" for t in times]}
    if any(after - before < _APART * span for before, after in pairwise(times)):
        ticks = {}
    ends = (times[0] - room, times[-1] + room)
    return axis | ticks | {"range": [f"{end:%Y-%m-%d %H:%M:%S}" for end in ends]}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _mark(night: NightRow) -> dict[str, Any]:
    line = {"color": GREY, "width": 1, "dash": "dot"}
    x = moment(night)
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _named(night: NightRow, bank: str) -> dict[str, Any]:
    return {
        "x": moment(night),
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "text": label(formats.bank(bank), 24),
        "showarrow": False,
        "font": {"size": 11},
    }


def _table(history: History, agents: Sequence[str], measure: _Measure) -> Table:
    columns = ("night", "started", "bank", *agents)
    rows: list[list[Cell]] = []
    for night in history.nights:
        values = [measure.of(n) if (n := night.agents.get(agent)) else None for agent in agents]
        rows.append([night.run_id, moment(night), night.settings.bank, *values])
    return Table(columns, rows, [_LINK.morning(night.run_id) for night in history.nights])
