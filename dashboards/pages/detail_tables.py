"""The figures of agents by groups of tasks, trials and tool calls, as tables for every reader.

`results --detail` prints these tables, and the page of a run shows them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from taskdata.schema.agent_detail import AgentDetail, GroupResult, ServerGroup
from taskdata.schema.estimate import Estimate
from taskdata.schema.summary import AgentSummary

SHARE = "share"
"""The form of a figure that is a share of 0-1."""
_UNKNOWN = "-"


class Figure(NamedTuple):
    """A mean with its interval and n."""

    estimate: Estimate
    form: str = ".2f"
    """How the number is written: a format, or `SHARE`."""


Cell = str | Figure


class DetailRow(NamedTuple):
    """One row of a table, its cells by their columns."""

    agent: str
    is_control: bool
    cells: Mapping[str, Cell]


_Known = tuple[AgentSummary, AgentDetail]


def detail_tables(agents: Sequence[AgentSummary]) -> dict[str, list[DetailRow]]:
    """Return the tables by title, each in the order of `agents`; none without a row."""
    known = [(agent, agent.detail) for agent in agents if agent.detail is not None]
    tables = {
        "Root SR above k": _one_each(known, _thresholds),
        "Leaf SR, Tool SR and Root SR by capability": _one_each(known, _rates),
        "By category": _grouped("category", known, lambda detail: detail.category),
        "By type of deliverable": _grouped("type", known, lambda d: d.deliverable_type),
        "By group of types": _grouped("group", known, lambda detail: detail.deliverable_group),
        "By leaves of the tree": _grouped("leaves", known, lambda detail: detail.leaves),
        "By family and difficulty": _grouped("tasks", known, lambda d: d.family_difficulty),
        "By subcategory": _grouped("tasks", known, lambda detail: detail.subcategory),
        "By MCP server, turns and cost per trial": _by_server(known),
        "Harness and model, per trial": _one_each(known, _efficiency),
        "Steps against success": _one_each(known, _steps),
        "Runs of all tasks": _one_each(known, _runs),
        "Faults of tool calls, and Root SR with and without": _several_each(known, _faults),
        "Root SR by thirds of the tasks, by turns": _several_each(known, _turn_groups),
        "Self-verification, and Root SR by it": _several_each(known, _verification),
    }
    return {title: rows for title, rows in tables.items() if rows}


def _one_each(
    known: Sequence[_Known], cells: Callable[[AgentSummary, AgentDetail], Mapping[str, Cell]]
) -> list[DetailRow]:
    return [_row(agent, cells(agent, detail)) for agent, detail in known]


def _several_each(
    known: Sequence[_Known], cells: Callable[[AgentDetail], Iterable[Mapping[str, Cell]]]
) -> list[DetailRow]:
    return [
        _row(agent, {"agent": agent.agent, **own})
        for agent, detail in known
        for own in cells(detail)
    ]


def _row(agent: AgentSummary, cells: Mapping[str, Cell]) -> DetailRow:
    return DetailRow(agent.agent, agent.is_control, cells)


def _grouped(
    column: str,
    known: Sequence[_Known],
    groups_of: Callable[[AgentDetail], Mapping[str, GroupResult]],
) -> list[DetailRow]:
    names = dict.fromkeys(name for _, detail in known for name in groups_of(detail))
    return [
        _row(agent, {column: name.replace("_", " "), "agent": agent.agent, **_group(found)})
        for name in names
        for agent, detail in known
        if (found := groups_of(detail).get(name)) is not None
    ]


def _group(found: GroupResult) -> dict[str, Cell]:
    return {
        "root score": Figure(found.root_score),
        "root SR": _share(found.root_sr),
        "leaf SR": _share(found.leaf_sr),
        "trials": str(found.root_score.n),
    }


def _by_server(known: Sequence[_Known]) -> list[DetailRow]:
    names = sorted({name for _, detail in known for name in detail.server})
    return [
        _row(agent, {"server": name, "agent": agent.agent, **_server(found)})
        for name in names
        for agent, detail in known
        if (found := detail.server.get(name)) is not None
    ]


def _server(found: ServerGroup) -> dict[str, Cell]:
    return {
        "tasks": str(found.tasks),
        "trials": str(found.trials),
        "root SR": _share(found.root_sr),
        "turns": Figure(found.turns, ".1f"),
        "cost": Figure(found.cost_usd, ".3f"),
    }


def _thresholds(agent: AgentSummary, detail: AgentDetail) -> dict[str, Cell]:
    rates = {f"> {k}": _share(rate) for k, rate in detail.root_sr_at.items()}
    return {"agent": agent.agent, **rates}


def _rates(agent: AgentSummary, detail: AgentDetail) -> dict[str, Cell]:
    named = {f"{name[0].upper()}-SR": _share(rate) for name, rate in detail.capability_sr.items()}
    return {
        "agent": agent.agent,
        "leaf SR": _share(detail.leaf_sr),
        "tool SR": _share(detail.tool_sr),
        **named,
    }


def _efficiency(agent: AgentSummary, detail: AgentDetail) -> dict[str, Cell]:
    """Return the row of GTA-2's table 7."""
    per_dollar = detail.score_per_usd
    return {
        "harness": detail.harness,
        "model": detail.model or _UNKNOWN,
        "root score": Figure(agent.root_score),
        "root SR": _root_sr(agent),
        "leaf SR": _share(detail.leaf_sr),
        "seconds": Figure(detail.seconds, ".0f"),
        "cost": Figure(detail.cost_usd, ".3f"),
        "score per $": _UNKNOWN if per_dollar is None else f"{per_dollar:.2f}",
    }


def _steps(agent: AgentSummary, detail: AgentDetail) -> dict[str, Cell]:
    return {
        "agent": agent.agent,
        "turns": Figure(detail.turns, ".1f"),
        "output tokens": Figure(detail.output_tokens, ".0f"),
        "root SR": _root_sr(agent),
    }


def _runs(agent: AgentSummary, detail: AgentDetail) -> dict[str, Cell]:
    spread, most = detail.pass_at_1, str(len(agent.pass_at_k))
    mean = _UNKNOWN if spread.mean is None else f"{spread.mean:.1%}"
    return {
        "agent": agent.agent,
        "pass@1 ± sd": mean if spread.sd is None else f"{mean} ± {spread.sd:.1%}",
        "runs": str(spread.runs),
        "k": most,
        "pass@k": _share(agent.pass_at_k.get(most)),
        "pass^k": _share(agent.pass_hat_k.get(most)),
    }


def _faults(detail: AgentDetail) -> Iterable[dict[str, Cell]]:
    for name, split in detail.tool_faults.items():
        if split.calls.n:
            yield {
                "fault": name.replace("_", " "),
                "of calls": _share(split.calls),
                "of trials": _share(split.trials),
                "SR with": _share(split.root_sr_with),
                "SR without": _share(split.root_sr_without),
            }


def _turn_groups(detail: AgentDetail) -> Iterable[dict[str, Cell]]:
    for name, group in detail.turn_groups.items():
        yield {
            "tasks": f"{group.tasks} {name}",
            "turns": f"{group.least_turns:.1f} to {group.most_turns:.1f}",
            "root SR": _share(group.root_sr),
        }


def _verification(detail: AgentDetail) -> Iterable[dict[str, Cell]]:
    for level, group in detail.self_verification.items():
        yield {
            "level": level,
            "trials": _share(group.trials),
            "root SR": _share(group.root_sr),
        }


def _root_sr(agent: AgentSummary) -> Figure:
    """Return Root SR at the run's own threshold."""
    decided = agent.scored - agent.undecided
    return _share(Estimate(mean=agent.root_sr, ci95=agent.root_sr_ci95, n=decided))


def _share(estimate: Estimate | None) -> Figure:
    return Figure(estimate or Estimate(mean=None, ci95=None), SHARE)
