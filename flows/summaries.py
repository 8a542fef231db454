"""The numbers of a run for its readers; imports nothing of Prefect, so that reading is quick."""

from collections.abc import Sequence

from taskdata.garbage import collected_after
from taskdata.schema.ranking import controls, ranked, standings
from taskdata.schema.run import TrialResult
from taskdata.schema.summary import AgentSummary, Estimate, RunSummary
from taskdata.store import Store


def summary_of(
    store: Store, run_id: str, results: Sequence[TrialResult] | None = None
) -> RunSummary:
    """Return the numbers of a run as they are now; `results`: of its trials, if they are known."""
    from flows.agreement.standing import judge_notice
    from flows.config import load_settings
    from quality.summary import summarise

    with collected_after():
        summary = summarise(
            store.run(run_id),
            store.results(run_id) if results is None else results,
            store.tasks_of_run(run_id),
            store.gates(run_id),
            store.stages(run_id),
        )
    notice = judge_notice(store, run_id, load_settings().agreement)
    return summary.model_copy(update={"judge_notice": notice})


def headline(summary: RunSummary) -> list[dict[str, str]]:
    """Return one row per agent with all columns: ranked, the controls last."""
    ordered = (*ranked(summary.agents), *controls(summary.agents))
    return [wide_row(summary, agent) for agent in ordered]


def brief_row(summary: RunSummary, agent: AgentSummary) -> dict[str, str]:
    """Return the headline figures of an agent, in columns that fit a terminal of 80 characters."""
    mean, interval = _number(agent.root_score.mean), agent.root_score.ci95
    # Without spaces an interval stays in one line.
    spread = "" if interval is None else "\n{:.2f}-{:.2f}".format(*interval)
    return {
        "agent": agent.agent,
        "rank": _ranks(summary).get(agent.agent, "").replace(" to ", "-"),
        "root score": f"{mean}{spread}",
        f"root SR > {summary.run.threshold:g}": _success(agent),
        "n\nerrors": f"{agent.scored}/{agent.trials}\n{agent.errors} ({_error_share(agent)})",
        "coverage": _share(agent.coverage),
        "cost": _money(agent.cost_usd),
    }


def wide_row(summary: RunSummary, agent: AgentSummary) -> dict[str, str]:
    """Return the numbers of an agent that stand beside its score."""
    detail = agent.detail
    return {
        "agent": agent.agent,
        "rank": _ranks(summary).get(agent.agent, ""),
        "root score": _number(agent.root_score.mean),
        "95 % interval": _interval(agent.root_score.ci95),
        **_at_most(summary, _number(agent.missing.root_score_upper)),
        f"root SR > {summary.run.threshold:g}": _success(agent),
        **_undecided(summary, agent),
        "leaf SR": _rated(agent.leaf_sr, None if detail is None else detail.leaf_sr),
        "tool SR": _rated(agent.tool_sr, None if detail is None else detail.tool_sr),
        "coverage": _share(agent.coverage),
        "n": f"{agent.scored}/{agent.trials}",
        "errors": _rate(agent.errors, agent.trials),
        "turns": "-" if agent.turns is None else f"{agent.turns:.1f}",
        "cost": _money(agent.cost_usd),
        **({"judge cost": _money(agent.judge_cost_usd)} if summary.run.judge else {}),
        **({"user cost": _money(agent.user_cost_usd)} if summary.run.user else {}),
        **({"labeller cost": _money(agent.labeller_cost_usd)} if summary.run.labeller else {}),
        "time": "-" if agent.wall_s is None else f"{agent.wall_s:.0f} s",
    }


def _ranks(summary: RunSummary) -> dict[str, str]:
    """Return the ranks that the run leaves open, by competing agent."""
    return {standing.summary.agent: standing.rank for standing in standings(summary)}


def _success(agent: AgentSummary) -> str:
    return _rated(agent.root_sr, Estimate(mean=agent.root_sr, ci95=agent.root_sr_ci95))


def _rated(share: float | None, estimate: Estimate | None) -> str:
    """Return a share, and its interval below it where there is one."""
    interval = None if estimate is None else estimate.ci95
    return _share(share) if interval is None else f"{_share(share)}\n{_shares(interval)}"


def _error_share(agent: AgentSummary) -> str:
    return f"{agent.errors / agent.trials:.0%}" if agent.trials else "-"


def _rate(errors: int, trials: int) -> str:
    """Return the infrastructure-error rate, and how many errors it is."""
    return f"{errors / trials:.0%} ({errors})" if errors else "0%"


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
    """Return one row per agent, arm and refinement round: what the round changed."""
    return [
        {
            "agent": gain.agent,
            "arm": gain.arm,
            "round": str(gain.round),
            "n": f"{gain.gain.n}/{gain.trials}",
            "errors": _rate(gain.errors, gain.trials),
            "before": _number(gain.mean_before),
            "after": _number(gain.mean_after),
            "gain": _number(gain.gain.mean),
            "95 % interval": _interval(gain.gain.ci95),
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


def _shares(interval: tuple[float, float]) -> str:
    return "{:.0%}-{:.0%}".format(*interval)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
