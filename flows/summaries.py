"""The numbers of a run for its readers; imports nothing of Prefect, so that reading is quick."""

from collections.abc import Sequence

from taskdata.garbage import collected_after
from taskdata.schema.ranking import controls, ranked
from taskdata.schema.run import TrialResult
from taskdata.schema.summary import AgentSummary, Estimate, RunSummary
from taskdata.store import Store


def summary_of(
    store: Store, run_id: str, results: Sequence[TrialResult] | None = None
) -> RunSummary:
    """Return the numbers of a run as they are now; `results`: of its trials, if they are known."""
    from quality.summary import summarise

    with collected_after():
        return summarise(
            store.run(run_id),
            store.results(run_id) if results is None else results,
            store.tasks_of_run(run_id),
            store.gates(run_id),
            store.stages(run_id),
        )


def headline(summary: RunSummary) -> list[dict[str, str]]:
    """Return one row per agent with all columns: ranked, the controls last."""
    ordered = (*ranked(summary.agents), *controls(summary.agents))
    return [wide_row(summary, agent) for agent in ordered]


def brief_row(summary: RunSummary, agent: AgentSummary) -> dict[str, str]:
    """Return the headline figures of an agent, in columns that fit a terminal of 80 characters."""
    mean, interval = _number(agent.root_score.mean), agent.root_score.ci95
    return {
        "agent": agent.agent,
        "root score": mean if interval is None else f"{mean} ({_interval(interval)})",
        f"root SR > {summary.run.threshold:g}": _share(agent.root_sr),
        "trials": str(agent.trials),
        "errors": str(agent.errors),
        "cost": _money(agent.cost_usd),
    }


def wide_row(summary: RunSummary, agent: AgentSummary) -> dict[str, str]:
    """Return the numbers of an agent that stand beside its score."""
    return {
        "agent": agent.agent,
        "root score": _number(agent.root_score.mean),
        "95 % interval": _interval(agent.root_score.ci95),
        **_at_most(summary, _number(agent.missing.root_score_upper)),
        f"root SR > {summary.run.threshold:g}": _share(agent.root_sr),
        **_undecided(summary, agent),
        "leaf SR": _share(agent.leaf_sr),
        "tool SR": _share(agent.tool_sr),
        "coverage": _share(agent.coverage),
        "trials": str(agent.trials),
        "errors": str(agent.errors),
        "turns": "-" if agent.turns is None else f"{agent.turns:.1f}",
        "cost": _money(agent.cost_usd),
        **({"judge cost": _money(agent.judge_cost_usd)} if summary.run.judge else {}),
        "time": "-" if agent.wall_s is None else f"{agent.wall_s:.0f} s",
    }


def _at_most(summary: RunSummary, most: str) -> dict[str, str]:
    """Return the column of upper bounds, where verdicts are missing in the run."""
    return {"at most": most} if any(a.missing.leaves for a in summary.agents) else {}


def _undecided(summary: RunSummary, agent: AgentSummary) -> dict[str, str]:
    """Return the column of undecided trials, where the run has some."""
    if not any(a.undecided for a in summary.agents):
        return {}
    return {"undecided": str(agent.undecided)}


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


def gain_rows(summary: RunSummary) -> list[dict[str, str]]:
    """Return one row per agent and refinement round: what the round changed."""
    return [
        {
            "agent": gain.agent,
            "round": str(gain.round),
            "feedback": gain.feedback,
            "trials": str(gain.trials),
            "before": _number(gain.mean_before),
            "after": _number(gain.mean_after),
            "gain": _number(gain.gain.mean),
        }
        for gain in summary.refinement
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
    return "-" if interval is None else "{:.2f} to {:.2f}".format(*interval)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
