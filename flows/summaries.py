"""The numbers of a run for its readers; imports nothing of Prefect, so that reading is quick."""

from collections.abc import Sequence

from taskdata.garbage import collected_after
from taskdata.schema.estimate import Estimate
from taskdata.schema.ranking import controls, ranked, standings
from taskdata.schema.run import TrialResult
from taskdata.schema.summary import AgentSummary, RefinementGain, RunSummary
from taskdata.store import Store


def summary_of(
    store: Store, run_id: str, results: Sequence[TrialResult] | None = None
) -> RunSummary:
    """Return the numbers of a run as they are now; `results`: of its trials, if they are known."""
    from flows.agreement.standing import judge_notice
    from flows.config import load_settings
    from quality.summary import summarise

    run = store.run(run_id)
    with collected_after():
        results = store.results(run_id) if results is None else results
        tasks = store.tasks_of_run(run_id)
        summary = summarise(
            run,
            results,
            tasks,
            store.gates(run_id),
            store.stages(run_id),
            store.withdrawn_of_release(run.release_hash).values(),
        )
        plans = summary.planning
        if plans is not None and plans.agents:
            from flows.planning import outcomes_of

            outcomes = outcomes_of(store, run, results, tasks)
            plans = plans.model_copy(update={"outcomes": outcomes})
        if plans is not None and plans.ways:
            from flows.planning import with_drafts

            ways = with_drafts(store, run, plans.ways, results, tasks)
            plans = plans.model_copy(update={"ways": ways})
    notice = judge_notice(store, run_id, load_settings().agreement)
    return summary.model_copy(update={"judge_notice": notice, "planning": plans})


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
    """Return one row per agent, arm and refinement round: what the arm has changed by its end."""
    return [
        {
            "agent": gain.agent,
            "arm": f"{gain.arm}\nround {gain.round}",
            "n": f"{gain.gain.n}/{gain.trials}",
            "before": _number(gain.mean_before),
            "after": _number(gain.mean_after),
            "gain": _change(gain.gain),
            "over none": "" if gain.over_none is None else _change(gain.over_none.difference),
            "success": f"{_share(gain.success_before.mean)} to {_share(gain.success_after.mean)}",
            "per point": cost_per_point(gain).replace(" ", "\n"),
        }
        for gain in summary.refinement
    ]


def gain_details(summary: RunSummary) -> list[dict[str, str]]:
    """Return what `gain_rows` has no room for, one row per agent, arm and round."""
    return [
        {
            "agent": gain.agent,
            "arm": gain.arm,
            "round": str(gain.round),
            "attempts": str(gain.attempts),
            "errors": str(gain.errors),
            "gain in %": "-" if gain.relative is None else f"{gain.relative:+.1%}",
            "p over none": "" if gain.over_none is None else _p(gain.over_none.p_value),
            "p (Holm)": "" if gain.over_none is None else _p(gain.over_none.p_holm),
            "cost": _money(gain.cost_usd),
            "worse leaves": f"{gain.regressions.worse} of {gain.regressions.leaves}",
            "share": _rated(gain.regressions.share.mean, gain.regressions.share),
        }
        for gain in summary.refinement
    ]


def whole_bank_rows(summary: RunSummary) -> list[dict[str, str]]:
    """Return one row per agent, arm and round: all trials, refined or not."""
    return [
        {
            "agent": gain.agent,
            "arm": gain.arm,
            "round": str(gain.round),
            "refined": f"{bank.refined} of {bank.trials}",
            "first attempts": _number(bank.first),
            "with the arm": _number(bank.after.mean),
            "gain": _change(bank.gain),
            "success": f"{_share(bank.success_first.mean)} to {_share(bank.success_after.mean)}",
        }
        for gain in summary.refinement
        for bank in [gain.whole_bank]
    ]


def worse_leaves(summary: RunSummary) -> list[dict[str, str]]:
    """Return the leaves that lost most, of every agent, arm and round."""
    from dashboards.pages.gain_rows import WORST_SHOWN

    return [
        {
            "agent": gain.agent,
            "arm": gain.arm,
            "round": str(gain.round),
            "task": one.task_id,
            "leaf": one.leaf_id,
            "first": _number(one.before),
            "then": _number(one.after),
            "trial": one.trial_id,
        }
        for gain in summary.refinement
        for one in gain.regressions.top[:WORST_SHOWN]
    ]


def cost_per_point(gain: RefinementGain) -> str:
    """Return dollars per point gained, or why there is no such price."""
    if gain.cost_per_point_usd is None:
        return gain.no_cost_per_point or "-"
    return f"${gain.cost_per_point_usd:.2g}"


def _change(estimate: Estimate) -> str:
    """Return a difference with its sign, and its interval below it where there is one."""
    if estimate.mean is None:
        return "-"
    # Without spaces an interval stays in one line.
    interval = "" if estimate.ci95 is None else "\n({:.2f},{:.2f})".format(*estimate.ci95)
    return f"{estimate.mean:+.2f}{interval}"


def _p(p_value: float | None) -> str:
    if p_value is None:
        return "-"
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


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
