"""The numbers of a run for its readers; imports nothing of Prefect, so that reading is quick."""

from taskdata.schema.summary import Estimate, RunSummary
from taskdata.store import Store


def summary_of(store: Store, run_id: str) -> RunSummary:
    """Return the numbers of a run as they are now."""
    from quality.summary import summarise

    return summarise(
        store.run(run_id),
        store.results(run_id),
        store.tasks_of_run(run_id),
        store.gates(run_id),
        store.stages(run_id),
    )


def headline(summary: RunSummary) -> list[dict[str, str]]:
    """Return one row per agent: the few numbers that are read first."""
    return [
        {
            "agent": agent.agent,
            "trials": str(agent.trials),
            "errors": str(agent.errors),
            "root score": _number(agent.root_score.mean),
            "95 % interval": _interval(agent.root_score.ci95),
            f"root SR > {summary.run.threshold:g}": _share(agent.root_sr),
            "leaf SR": _share(agent.leaf_sr),
            "tool SR": _share(agent.tool_sr),
            "coverage": _share(agent.coverage),
            "turns": "-" if agent.turns is None else f"{agent.turns:.1f}",
            "cost": _money(agent.cost_usd),
            **({"judge cost": _money(agent.judge_cost_usd)} if summary.run.judge else {}),
            "time": "-" if agent.wall_s is None else f"{agent.wall_s:.0f} s",
        }
        for agent in summary.agents
    ]


def step_accuracies(summary: RunSummary) -> list[dict[str, str]]:
    """Return one row per agent that predicted steps: the metrics of GTA, section 4.1."""
    return [
        {
            "agent": agent.agent,
            "trials": str(steps.trials),
            "InstAcc": _accuracy(steps.inst_acc),
            "ToolAcc": _accuracy(steps.tool_acc),
            "ArgAcc": _accuracy(steps.arg_acc),
            "SummAcc": _accuracy(steps.summ_acc),
            "answers scored": f"{steps.answers - steps.answers_unscored} of {steps.answers}",
            "faulty calls": f"{steps.predicted_errors} of {steps.predicted_calls}",
        }
        for agent in summary.agents
        if (steps := agent.steps) is not None
    ]


def _accuracy(estimate: Estimate) -> str:
    if estimate.mean is None:
        return "-"
    low_high = "" if estimate.ci95 is None else " ({:.1%} to {:.1%})".format(*estimate.ci95)
    return f"{estimate.mean:.1%}{low_high}, n={estimate.n}"


def _money(usd: float | None) -> str:
    return "-" if usd is None else f"${usd:.2f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
