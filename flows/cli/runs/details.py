"""The tables of `nightshift results --detail`: figures by groups, with their intervals."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flows.cli import console

if TYPE_CHECKING:
    from taskdata.schema.summary import AgentDetail, AgentSummary, Estimate, GroupResult, RunSummary

_Row = dict[str, str]
_UNKNOWN = "-"


def write_detail(summary: "RunSummary") -> None:
    """Write what the first screen has no room for; docs/metrics.md has each figure's formula."""
    from taskdata.schema.ranking import controls, ranked

    agents = [*ranked(summary.agents), *controls(summary.agents)]
    known = [(agent, agent.detail) for agent in agents if agent.detail is not None]
    tables = {
        "Root SR above k": [_thresholds(agent, detail) for agent, detail in known],
        "Leaf SR, Tool SR and Root SR by capability": [_rates(a, d) for a, d in known],
        "By category": _grouped("category", {a.agent: d.category for a, d in known}),
        "By type of deliverable": _grouped("type", {a.agent: d.deliverable_type for a, d in known}),
        "By group of types": _grouped("group", {a.agent: d.deliverable_group for a, d in known}),
        "By leaves of the tree": _grouped("leaves", {a.agent: d.leaves for a, d in known}),
        "Harness and model, per trial": [_efficiency(agent, detail) for agent, detail in known],
        "Steps against success": [_steps(agent, detail) for agent, detail in known],
        "Runs of all tasks": [_runs(agent, detail) for agent, detail in known],
        "Faults of tool calls, and Root SR with and without": [
            row for agent, detail in known for row in _faults(agent, detail)
        ],
        "Root SR by thirds of the tasks, by turns": [
            row for agent, detail in known for row in _turn_groups(agent, detail)
        ],
        "Self-verification, and Root SR by it": [
            row for agent, detail in known for row in _verification(agent, detail)
        ],
        "End to end, atomic tier": [_end_to_end(agent) for agent in agents if agent.end_to_end],
    }
    for title, rows in tables.items():
        if rows:
            console.table(rows, title=title)
    encoders = {a.end_to_end.encoder for a in agents if a.end_to_end and a.end_to_end.encoder}
    if encoders:
        console.paragraph(f"Similarities of texts are those of {', '.join(sorted(encoders))}.")
    console.paragraph(
        "Intervals are of 95 % and respect clustering by task; n is trials, leaves or calls. "
        "docs/metrics.md has the formulas."
    )


def _thresholds(agent: "AgentSummary", detail: "AgentDetail") -> _Row:
    rates = {f"> {k}": _share(rate) for k, rate in detail.root_sr_at.items()}
    return {"agent": agent.agent, **rates}


def _rates(agent: "AgentSummary", detail: "AgentDetail") -> _Row:
    named = {f"{name[0].upper()}-SR": _share(rate) for name, rate in detail.capability_sr.items()}
    return {
        "agent": agent.agent,
        "leaf SR": _share(detail.leaf_sr),
        "tool SR": _share(detail.tool_sr),
        **named,
    }


def _grouped(column: str, by_agent: Mapping[str, Mapping[str, "GroupResult"]]) -> list[_Row]:
    names = dict.fromkeys(name for groups in by_agent.values() for name in groups)
    return [
        {
            column: name.replace("_", " "),
            "agent": agent,
            "root score": _number(found.root_score),
            "root SR": _share(found.root_sr),
            "leaf SR": _share(found.leaf_sr),
            "trials": str(found.root_score.n),
        }
        for name in names
        for agent, groups in by_agent.items()
        if (found := groups.get(name)) is not None
    ]


def _efficiency(agent: "AgentSummary", detail: "AgentDetail") -> _Row:
    """Return the row of GTA-2's table 7."""
    per_dollar = detail.score_per_usd
    return {
        "harness": detail.harness,
        "model": detail.model or _UNKNOWN,
        "root score": _number(agent.root_score),
        "root SR": _root_sr(agent),
        "leaf SR": _share(detail.leaf_sr),
        "seconds": _number(detail.seconds, ".0f"),
        "cost": _number(detail.cost_usd, ".3f"),
        "score per $": _UNKNOWN if per_dollar is None else f"{per_dollar:.2f}",
    }


def _steps(agent: "AgentSummary", detail: "AgentDetail") -> _Row:
    return {
        "agent": agent.agent,
        "turns": _number(detail.turns, ".1f"),
        "output tokens": _number(detail.output_tokens, ".0f"),
        "root SR": _root_sr(agent),
    }


def _runs(agent: "AgentSummary", detail: "AgentDetail") -> _Row:
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


def _verification(agent: "AgentSummary", detail: "AgentDetail") -> list[_Row]:
    return [
        {
            "level": level,
            "agent": agent.agent,
            "trials": _share(group.trials),
            "root SR": _share(group.root_sr),
        }
        for level, group in detail.self_verification.items()
    ]


def _faults(agent: "AgentSummary", detail: "AgentDetail") -> list[_Row]:
    return [
        {
            "agent": agent.agent,
            "fault": name.replace("_", " "),
            "of calls": _share(split.calls),
            "of trials": _share(split.trials),
            "SR with": _share(split.root_sr_with),
            "SR without": _share(split.root_sr_without),
        }
        for name, split in detail.tool_faults.items()
        if split.calls.n
    ]


def _turn_groups(agent: "AgentSummary", detail: "AgentDetail") -> list[_Row]:
    return [
        {
            "agent": agent.agent,
            "tasks": f"{group.tasks} {name}",
            "turns": f"{group.least_turns:.1f} to {group.most_turns:.1f}",
            "root SR": _share(group.root_sr),
        }
        for name, group in detail.turn_groups.items()
    ]


def _end_to_end(agent: "AgentSummary") -> _Row:
    found = agent.end_to_end
    assert found is not None
    f1 = {
        f"{name[0].upper()}-F1": f"{tools.f1:.0%}" if tools.reference else _UNKNOWN
        for name, tools in found.tool_selection.items()
    }
    return {
        "agent": agent.agent,
        **f1,
        "AnsAcc": _share(found.ans_acc),
        "w/ ImgGen": _share(found.ans_acc_w_imggen),
        "calls": f"{found.tool_errors} of {found.tool_calls} faulty",
        "unscored": str(found.answers_unscored or ""),
    }


def _root_sr(agent: "AgentSummary") -> str:
    """Return Root SR at the run's own threshold."""
    from taskdata.schema.summary import Estimate

    return _share(Estimate(mean=agent.root_sr, ci95=agent.root_sr_ci95))


def _share(estimate: "Estimate | None") -> str:
    if estimate is None or estimate.mean is None:
        return _UNKNOWN
    if estimate.ci95 is None:
        return f"{estimate.mean:.0%}"
    low, high = estimate.ci95
    return f"{estimate.mean:.0%} ({100 * low:.0f} to {100 * high:.0f})"


def _number(estimate: "Estimate", form: str = ".2f") -> str:
    if estimate.mean is None:
        return _UNKNOWN
    mean = format(estimate.mean, form)
    if estimate.ci95 is None:
        return mean
    low, high = estimate.ci95
    return f"{mean} ({format(low, form)} to {format(high, form)})"
