"""The numbers of a run for its readers; imports nothing of Prefect, so that reading is quick."""

from taskdata.schema.summary import RunSummary
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
            "cost": "-" if agent.cost_usd is None else f"${agent.cost_usd:.2f}",
            "time": "-" if agent.wall_s is None else f"{agent.wall_s:.0f} s",
        }
        for agent in summary.agents
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
