"""The tables of `nightshift results --detail`: figures by groups, with their intervals."""

from typing import TYPE_CHECKING

from flows.cli import console

if TYPE_CHECKING:
    from dashboards.pages.detail_tables import Cell
    from taskdata.schema.estimate import Estimate
    from taskdata.schema.summary import AgentSummary, RunSummary, ToolSelection

_Row = dict[str, str]
_UNKNOWN = "-"


def write_detail(summary: "RunSummary") -> None:
    """Write what the first screen has no room for; docs/metrics.md has each figure's formula."""
    from dashboards.pages.detail_tables import detail_tables
    from taskdata.schema.ranking import controls, ranked

    agents = [*ranked(summary.agents), *controls(summary.agents)]
    for title, rows in detail_tables(agents).items():
        told = [{name: _cell(cell) for name, cell in row.cells.items()} for row in rows]
        console.table(told, title=title)
    if acted := [_end_to_end(agent) for agent in agents if agent.end_to_end]:
        console.table(acted, title="End to end, atomic tier")
    encoders = {a.end_to_end.encoder for a in agents if a.end_to_end and a.end_to_end.encoder}
    if encoders:
        console.paragraph(f"Similarities of texts are those of {', '.join(sorted(encoders))}.")
    _write_gains(summary)
    console.paragraph(
        "Intervals are of 95 % and respect clustering by task; n is trials, leaves or calls. "
        "docs/metrics.md has the formulas."
    )


def _write_gains(summary: "RunSummary") -> None:
    from flows.summaries import gain_details, whole_bank_rows, worse_leaves

    if not summary.refinement:
        return
    console.table(gain_details(summary), title="Refinement: tests, cost and leaves that got worse")
    console.table(
        whole_bank_rows(summary),
        title="Refinement over the whole bank: who was not tried again keeps the first score",
    )
    if worse := worse_leaves(summary):
        console.table(worse, title="Leaves that lost most from the first attempt")


def _cell(cell: "Cell") -> str:
    from dashboards.pages.detail_tables import SHARE

    if isinstance(cell, str):
        return cell
    return _share(cell.estimate) if cell.form == SHARE else _number(cell.estimate, cell.form)


def _end_to_end(agent: "AgentSummary") -> _Row:
    found = agent.end_to_end
    assert found is not None
    f1 = {f"{name[0].upper()}-F1": _f1(tools) for name, tools in found.tool_selection.items()}
    return {
        "agent": agent.agent,
        **f1,
        "AnsAcc": _share(found.ans_acc),
        "w/ ImgGen": _share(found.ans_acc_w_imggen),
        "calls": f"{found.tool_errors} of {found.tool_calls} faulty",
        "unscored": str(found.answers_unscored or ""),
    }


def _f1(tools: "ToolSelection") -> str:
    from taskdata.schema.estimate import Estimate

    return _share(Estimate(mean=tools.f1 if tools.reference else None, ci95=tools.f1_ci95))


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
