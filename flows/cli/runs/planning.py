"""What `nightshift results --planning` shows: the tables about plans (APB)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flows.cli import console
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from taskdata.schema.estimate import Estimate
    from taskdata.schema.planning_summary import (
        DraftMarks,
        PlanMarks,
        PlanningAgent,
        PlanningSummary,
    )
    from taskdata.schema.summary import RunSummary

_GROUPS = {
    "horizons": "Step-wise, by the number of actions asked for (APB, table 14)",
    "positions": "One next action, by the part of the trajectory (APB, table 15)",
    "step_ranges": "Whole plans, by the length of the reference's tool chain (APB, table 12)",
    "modalities": "Whole plans, by the richest medium of the files (APB, table 13)",
}


def write_planning(summary: "RunSummary", *, as_json: bool) -> None:
    """Write the planning tables of a run.

    Raises:
        Misuse: if the run has no planning cases.
    """
    plans = summary.planning
    if plans is None:
        raise Misuse(
            f"run {summary.run.id} has no planning cases, and none of its agents plans first; "
            "`nightshift run --bank starter-planning --mode plan` makes one that has"
        )
    if as_json:
        console.write_json({"run": summary.run.id} | plans.model_dump(mode="json"))
        return
    if plans.ways:
        _write_ways(plans)
    if not plans.agents:
        if not plans.ways:
            console.paragraph(f"Run {summary.run.id}: no planning case has an answer yet.")
        return
    _write_settings(summary.run.id, plans)
    _write_robustness(plans)
    for name, title in _GROUPS.items():
        rows = [
            _marks_row(agent.agent, group, marks)
            for agent in plans.agents
            for group, marks in getattr(agent, name).items()
        ]
        if rows:
            console.table(rows, title=title, optional=_OPTIONAL)
    _write_comparisons(plans)
    console.paragraph(
        "Correct is the share of answers without any error, with 95 % intervals that respect that "
        "cases made from one task resemble each other. An answer that cannot be read counts as not "
        "correct and has no error; what only a judge could decide is left out where there is none. "
        "docs/planning.md defines every column; --json has everything."
    )


_OPTIONAL = ("E6", "E5", "E4", "E3", "E2", "E1")


def _write_settings(run_id: str, plans: "PlanningSummary") -> None:
    rows: list[dict[str, str]] = []
    controls: list[dict[str, str]] = []
    for agent in plans.agents:
        for setting, marks in agent.settings.items():
            row = _marks_row(agent.agent, setting.replace("_", " "), marks)
            (controls if agent.is_control else rows).append(row)
    console.table(
        rows,
        title=f"Run {run_id}: plans by setting (APB, table 1)",
        apart=controls,
        optional=_OPTIONAL,
    )


def _marks_row(agent: str, group: str, marks: "PlanMarks") -> dict[str, str]:
    left_out = {
        "unreadable": marks.unreadable,
        "no verdict": marks.no_verdict,
        "no judge": marks.no_judge,
        "lost": marks.infrastructure,
    }
    return {
        "agent": agent,
        "cases": group,
        "n": f"{marks.marked}/{marks.answers + marks.infrastructure}",
        "correct": _rate(marks.correct),
        "grade": "-" if marks.grade.mean is None else f"{marks.grade.mean:.2f}",
        **{f"E{n}": _share(marks.errors[f"E{n}"]) for n in range(1, 7)},
        "apart": ", ".join(f"{count} {what}" for what, count in left_out.items() if count),
    }


def _write_robustness(plans: "PlanningSummary") -> None:
    agents = plans.agents
    if rows := [_extraneous_row(a, form) for a in agents for form in a.extraneous]:
        console.table(rows, title="Distractors: calls of them, and correctness (APB, table 2)")
    if rows := [_shares_row(a.agent, a.behaviours) for a in agents if a.behaviours]:
        console.table(rows, title="After a broken tool (APB, table 1)")
    if rows := [_shares_row(a.agent, a.refusals) for a in agents if a.refusals]:
        console.table(rows, title="Unsolvable cases that were refused (APB, table 1)")
    if rows := [_cost_row(a) for a in agents if a.costs is not None]:
        console.table(rows, title="Cost of tool chains (APB, table 5)")


def _extraneous_row(agent: "PlanningAgent", form: str) -> dict[str, str]:
    effect = agent.extraneous[form]
    by_count = ", ".join(f"{count}: {use.calls}" for count, use in effect.by_count.items())
    return {
        "agent": agent.agent,
        "form": form.replace("_", " "),
        "calls": str(effect.calls),
        "by number": by_count,
        "base": _share(effect.base),
        "with them": _share(effect.extraneous),
        "difference": _points(effect.difference),
        "p": "-" if effect.p_value is None else f"{effect.p_value:.3f}",
    }


def _shares_row(agent: str, shares: "Mapping[str, Estimate]") -> dict[str, str]:
    return {"agent": agent} | {name.replace("_", " "): _rate(one) for name, one in shares.items()}


def _cost_row(agent: "PlanningAgent") -> dict[str, str]:
    costs = agent.costs
    if costs is None:
        return {}
    return {
        "agent": agent.agent,
        "correct": _rate(costs.marks.correct),
        "grade": "-" if costs.marks.grade.mean is None else f"{costs.marks.grade.mean:.2f}",
        "cost, all": _number(costs.all),
        "passed": _number(costs.passed),
        "passed by all": _number(costs.common),
        "over optimum": _share(costs.over_optimum),
        "traps": str(costs.trap_calls),
    }


def _write_comparisons(plans: "PlanningSummary") -> None:
    if rows := [
        {
            "cases": one.setting.replace("_", " "),
            "first": one.first,
            "second": one.second,
            "n": str(one.cases),
            "second minus first": _points(one.difference),
            "p (Holm)": "-" if one.p_holm is None else f"{one.p_holm:.3f}",
        }
        for one in plans.comparisons
    ]:
        console.table(rows, title="Agents on the same cases")
    if rows := [
        {
            "agent": one.agent,
            "arm": one.arm.replace("_", " "),
            "form": one.form.replace("_", " "),
            "tried again": f"{one.retried} of {one.answers}",
            "base": _share(one.base),
            "refined": _share(one.refined),
            "difference": _points(one.difference),
        }
        for one in plans.refined
    ]:
        console.table(rows, title="Refinement (APB, table 4)")
    if rows := [
        {
            "planner": one.agent,
            "agent that did the tasks": one.doing_agent,
            "tasks": str(one.tasks),
            "plans by": one.by,
            "correlation": "-" if one.correlation is None else f"{one.correlation:+.2f}",
            "95 % interval": "-" if one.ci95 is None else "{:+.2f} to {:+.2f}".format(*one.ci95),
        }
        for one in plans.outcomes
    ]:
        console.table(rows, title="Do plans foretell root scores? (APB, section 5.1)")


def _write_ways(plans: "PlanningSummary") -> None:
    rows = []
    for one in plans.ways:
        for way, score in one.root_scores.items():
            over, p_value = one.over_direct.get(way), one.p_values.get(way)
            rows.append(
                {
                    "harness and model": f"{one.harness}:{one.model}",
                    "way": way.replace("_", " "),
                    "tasks": str(one.tasks),
                    "root score": _number(score),
                    "over direct": "-"
                    if over is None or over.mean is None
                    else f"{over.mean:+.2f}",
                    "p (Holm)": "-" if p_value is None else f"{p_value:.3f}",
                    "faulty plans": _faulty(one.drafts.get(way)),
                }
            )
    console.table(rows, title="With a plan and without, on the same tasks (APB, table 3)")
    if any(one.drafts for one in plans.ways):
        console.paragraph(
            "Faulty plans are those in which code finds an error, of the tasks with a reference "
            "solution: of the shared drafts, and of the plans that were followed after their "
            "refinement. Other plans are not proven right."
        )


def _faulty(drafts: "DraftMarks | None") -> str:
    return "" if drafts is None else f"{_share(drafts.faulty)} of {drafts.plans}"


def _share(estimate: "Estimate") -> str:
    return "-" if estimate.mean is None else f"{estimate.mean:.0%}"


def _rate(estimate: "Estimate") -> str:
    if estimate.ci95 is None:
        return _share(estimate)
    low, high = estimate.ci95
    return f"{_share(estimate)}\n{low:.0%}-{high:.0%}"


def _points(estimate: "Estimate") -> str:
    """Return a difference of shares in percentage points."""
    if estimate.mean is None:
        return "-"
    spread = ""
    if estimate.ci95 is not None:
        spread = "\n{:+.0f} to {:+.0f}".format(*(100 * bound for bound in estimate.ci95))
    return f"{100 * estimate.mean:+.1f}{spread}"


def _gain(estimate: "Estimate") -> str:
    return "-" if estimate.mean is None else f"{estimate.mean:+.2f}"


def _number(estimate: "Estimate") -> str:
    return "-" if estimate.mean is None else f"{estimate.mean:.2f}"
