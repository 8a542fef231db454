"""What `run --estimate` shows: what a run would use, before anything is asked."""

from typing import TYPE_CHECKING

from flows.cli import console

if TYPE_CHECKING:
    from flows.config import Settings
    from stages.prepare.estimate import AnyEstimate, Effort
    from taskdata.schema.run import RunConfig


def show_estimate(settings: "Settings", config: "RunConfig", as_json: bool) -> None:
    """Write what a run would use: by agent, for models beside the agents, and in total.

    Raises:
        Misuse: if such a run would be refused on any machine.
    """
    from environments.models.registry import require_limited
    from flows.config import as_planner
    from stages.prepare.critique_estimate import estimate_critique
    from stages.prepare.estimate import estimate, totals
    from stages.prepare.judge_estimate import estimate_judge
    from stages.prepare.labeller_estimate import estimate_labeller
    from stages.prepare.modes import in_mode_of
    from stages.prepare.select import chosen_tasks
    from stages.prepare.user_estimate import estimate_user
    from stages.prepare.work import require_fitting
    from taskdata.banks.found import find_bank
    from taskdata.store import Store

    require_limited(config.limits)
    require_fitting(config)
    store = Store.open(settings.address)
    bank = find_bank(store, config.bank, config.tasks)
    config = in_mode_of(bank, config, as_planner=as_planner)
    tasks = chosen_tasks(store, config)
    estimates, judge = estimate(store, config, tasks), estimate_judge(store, config, tasks)
    user = estimate_user(store, config, tasks)
    critique = estimate_critique(store, config, tasks)
    labeller = estimate_labeller(store, config, tasks)
    store.close()
    together = totals(estimates, judge, config.max_usd, user, critique, labeller)
    if as_json:
        found = {
            "tasks": len(tasks),
            "agents": [each.model_dump(mode="json") for each in estimates],
            "judge": None if judge is None else judge.model_dump(mode="json"),
            "user": None if user is None else user.model_dump(mode="json"),
            "labeller": None if labeller is None else labeller.model_dump(mode="json"),
            "critique": None if critique is None else critique.model_dump(mode="json"),
            "total": dict(together),
        }
        console.write_json(found)
        return
    rows = [_row(each.agent, each.trials, each.attempts_seen, each) for each in estimates]
    if judge is not None:
        rows.append(_row(f"judge {judge.judge}", None, judge.calls_seen, judge))
    if user is not None:
        rows.append(_row(f"user {user.user}", None, user.calls_seen, user))
    if labeller is not None:
        rows.append(_row(f"labeller {labeller.labeller}", None, labeller.calls_seen, labeller))
    if critique is not None:
        rows.append(_row(f"feedback {critique.writers}", None, critique.calls_seen, critique))
    console.table(
        rows,
        title=f"{len(tasks)} tasks of bank {config.bank}",
        optional=("seen", "likely calls", "most calls"),
    )
    console.say(
        f"Together: {together['trials']} trials, likely {_money(together['likely_usd'])}, "
        f"at most {_money(together['at_most_usd'])}"
    )
    console.paragraph(
        "Likely: from earlier attempts by agents of the same name, and earlier calls of the same "
        "judge, user, critic or labeller. At most: from the agent's budget, the most that these "
        "are shown, and --max-usd, if no trial is repeated. Both include the cost of models of "
        "tools, but no search fees; for the labeller, every trial counts as failed."
    )


def _row(
    name: str,
    trials: int | None,
    seen: int,
    estimate: "AnyEstimate",
) -> dict[str, str]:
    likely, most = estimate.likely, estimate.at_most
    return {
        "agent": name,
        "trials": "" if trials is None else str(trials),
        "seen": str(seen),
        "likely calls": _count(likely, "model_calls"),
        "likely tokens": _count(likely, "tokens"),
        "likely cost": _money(likely.cost_usd if likely else None),
        "most calls": _count(most, "model_calls"),
        "most tokens": _count(most, "tokens"),
        "most cost": _money(most.cost_usd),
    }


def _count(effort: "Effort | None", name: str) -> str:
    count = None if effort is None else getattr(effort, name)
    return "unknown" if count is None else f"{count:,.0f}"


def _money(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:,.2f}"
