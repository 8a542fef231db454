"""Calls of tools that gave no result: by GTA's categories of tools, by tool, and why."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.figures.axes import SHARE_AXIS
from dashboards.figures.numbers import Cell, Table
from dashboards.pages import formats
from dashboards.site.breakdowns import names_axis
from dashboards.site.drawing import Drawing, drawn, marker
from dashboards.site.history import History
from dashboards.theme import PALETTE, PATTERNS, label
from taskdata.schema.night import NightTool
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolErrorKind

_MOST_TOOLS = 20
_NO_SUCH_TOOL = "no such tool"
_CAUSES: Mapping[str, str] = {
    ToolErrorKind.UNKNOWN_TOOL: "wrong tool: not offered",
    ToolErrorKind.BAD_ARGUMENTS: "wrong arguments",
    ToolErrorKind.REFUSED: "the tool refused or failed",
    ToolErrorKind.LIMIT: "limit of time or size",
}


def tool_drawings(history: History) -> dict[str, Drawing]:
    """Return the figures of the latest night; none where no agent's calls are known."""
    tools = () if history.latest is None else history.latest.tools
    if not tools:
        return {}
    found = {"tool-categories": _by_category(history, tools)}
    if any(tool.failed for tool in tools):
        found["tools"] = _by_tool(tools)
    return found


def _by_category(history: History, tools: Sequence[NightTool]) -> Drawing:
    calls: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for tool in tools:
        key = tool.agent, tool.category or _NO_SUCH_TOOL
        calls[key] += tool.calls
        failed[key] += tool.failed
    there = {category for _, category in calls}
    order = [capability.value for capability in Capability]
    names = [*(n for n in order if n in there), *sorted(there.difference(order))]
    agents = [agent for agent in history.competing if any(agent == a for a, _ in calls)]
    figure = drawn(
        [_points(history, agent, names, calls, failed) for agent in agents],
        64 + 34 * len(names),
        xaxis=SHARE_AXIS | {"title": "share of calls that gave no result"},
        yaxis=names_axis(names),
    )
    rows: list[list[Cell]] = [
        [agent, name, calls[agent, name], failed[agent, name]]
        for name in names
        for agent in agents
        if (agent, name) in calls
    ]
    note = (
        "First attempts of the latest night, tools as GTA sorts them. No such tool: what was "
        "called is not among the tools that the agent was offered."
    )
    table = Table(("agent", "category of tools", "calls", "failed"), rows)
    return Drawing("Failed calls by category of tools", figure, table, note)


def _points(
    history: History,
    agent: str,
    names: Sequence[str],
    calls: Mapping[tuple[str, str], int],
    failed: Mapping[tuple[str, str], int],
) -> dict[str, Any]:
    own = [(place, agent, name) for place, name in enumerate(names) if (agent, name) in calls]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [failed[a, name] / calls[a, name] for _, a, name in own],
        "y": [place for place, _, _ in own],
        "marker": marker(history.styles[agent], 10),
        "customdata": [[f"{failed[a, n]} of {calls[a, n]} calls", None] for _, a, n in own],
        "hovertemplate": f"{label(agent)}<br>%{{x:.0%}}: %{{customdata[0]}}<extra></extra>",
    }


def _by_tool(tools: Sequence[NightTool]) -> Drawing:
    errors: dict[str, Counter[str]] = defaultdict(Counter)
    for tool in tools:
        errors[tool.tool].update(tool.errors)
    ordered = sorted(errors, key=lambda name: (-errors[name].total(), name))
    shown = [name for name in ordered if errors[name]][:_MOST_TOOLS]
    kinds = [*_CAUSES, *sorted({k for own in errors.values() for k in own} - set(_CAUSES))]
    figure = drawn(
        [
            _cause_bars(place, kind, [errors[name][kind] for name in shown])
            for place, kind in enumerate(kinds)
            if any(errors[name][kind] for name in shown)
        ],
        104 + 24 * len(shown),
        barmode="stack",
        xaxis={"title": "calls of all agents", "rangemode": "tozero"},
        yaxis=names_axis(shown, label),
        showlegend=True,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "traceorder": "normal"},
        margin={"l": 8, "r": 18, "t": 48, "b": 44},
    )
    rows: list[list[Cell]] = [
        [t.tool, t.category, t.agent, t.trials, t.calls, *(t.errors.get(k, 0) for k in kinds)]
        for t in sorted(tools, key=lambda t: (ordered.index(t.tool), t.agent))
    ]
    columns = ("tool", "category", "agent", "trials", "calls", *(_words(kind) for kind in kinds))
    left_out = sum(1 for name in ordered if errors[name]) - len(shown)
    note = f"{formats.plural(left_out, 'more tool')} in the table." if left_out else ""
    return Drawing("Failed calls by tool", figure, Table(columns, rows), note)


def _cause_bars(place: int, kind: str, counts: Sequence[int]) -> dict[str, Any]:
    pattern = PATTERNS[place // len(PALETTE) % len(PATTERNS)]
    return {
        "type": "bar",
        "orientation": "h",
        "name": label(_words(kind)),
        "x": list(counts),
        "y": list(range(len(counts))),
        "marker": {"color": PALETTE[place % len(PALETTE)], "pattern": {"shape": pattern}},
        "hovertemplate": f"%{{x}} calls: {label(_words(kind))}<extra></extra>",
    }


def _words(kind: str) -> str:
    return _CAUSES.get(kind, formats.words(kind))
