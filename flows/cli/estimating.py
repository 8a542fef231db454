"""What `run --estimate` shows: what a run would use, before anything is asked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flows.cli import console

if TYPE_CHECKING:
    from flows.config import Settings
    from stages.prepare.estimate import AgentEstimate, Effort
    from taskdata.schema.run import RunConfig


def show_estimate(settings: "Settings", config: "RunConfig", as_json: bool) -> None:
    """Write what a run of that configuration would use, by agent and together."""
    from stages.prepare.estimate import estimate, totals
    from stages.prepare.select import chosen_tasks
    from taskdata.store import Store

    store = Store.open(settings.address)
    tasks = chosen_tasks(store, config)
    estimates = estimate(store, config, tasks)
    store.close()
    together = totals(estimates)
    if as_json:
        agents = [each.model_dump(mode="json") for each in estimates]
        console.write_json({"tasks": len(tasks), "agents": agents, "total": dict(together)})
        return
    console.table(_rows(estimates), title=f"{len(tasks)} tasks of bank {config.bank}")
    console.say(
        f"Together: {together['trials']} trials, likely {_money(together['likely_usd'])}, "
        f"at most {_money(together['at_most_usd'])}"
    )
    console.say(
        "Likely: by earlier attempts of the same agent. At most: by its budget. What tools, a "
        "judge and services cost is not in it."
    )


def _rows(estimates: Sequence["AgentEstimate"]) -> list[dict[str, str]]:
    return [
        {
            "agent": each.agent,
            "trials": str(each.trials),
            "seen": str(each.attempts_seen),
            "likely calls": _count(each.likely, "model_calls"),
            "likely tokens": _count(each.likely, "tokens"),
            "likely cost": _money(each.likely.cost_usd if each.likely else None),
            "most calls": _count(each.at_most, "model_calls"),
            "most tokens": _count(each.at_most, "tokens"),
            "most cost": _money(each.at_most.cost_usd),
        }
        for each in estimates
    ]


def _count(effort: "Effort | None", name: str) -> str:
    return "unknown" if effort is None else f"{getattr(effort, name):,.0f}"


def _money(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:,.2f}"
