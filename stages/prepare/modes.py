"""Whether the tasks of a run are done or planned, which decides what its agents are asked."""

from stages.execute.harness import AsPlanner, harness_kind, in_plan_mode
from taskdata.banks.found import FoundBank
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.outline import TaskFilter
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Tier


def in_mode_of(
    bank: FoundBank,
    config: RunConfig,
    mode: str | None = None,
    as_planner: AsPlanner = in_plan_mode,
) -> RunConfig:
    """Return the configuration with its agents in the mode that the bank's tasks need.

    Planning cases are only planned: `as_planner` makes agents that would carry them out planners
    with the same model. `mode` is the one that was asked for; None: whatever fits.

    Raises:
        Misuse: planning cases are among tasks to be done, or an agent or the mode does not fit.
    """
    cases = {task.id for task in bank.outlines(TaskFilter(tier=Tier.PLANNING))}
    chosen = set(config.tasks) or (bank.ids() if cases else set())
    if not chosen & cases:
        _require_no_planners(config, mode)
        return config
    if others := sorted(chosen - cases):
        raise Misuse(
            f"bank {config.bank!r}: {sorted(chosen & cases)[0]!r} is a planning case, of which "
            f"nothing is carried out, and {others[0]!r} is a task to be done; choose one kind with "
            "--task"
        )
    if mode not in (None, "plan"):
        raise Misuse(
            f"--mode {mode}: the tasks of bank {config.bank!r} are planning cases, of which "
            "nothing is carried out; leave --mode out"
        )
    agents: dict[str, AgentSpec] = {}
    for agent in config.agents:
        planner = as_planner(agent)
        if agents.setdefault(planner.name, planner) != planner:
            raise Misuse(
                f"agent {agent.name!r}: as a planner it is {planner.name!r}, and so is another "
                "agent with other settings; give one of them a label, or leave it out"
            )
    only = {as_planner(a).name: config.only[a.name] for a in config.agents if a.name in config.only}
    return config.model_copy(update={"agents": tuple(agents.values()), "only": only})


def _require_no_planners(config: RunConfig, mode: str | None) -> None:
    planner = next((a for a in config.agents if harness_kind(a.harness).plans == "only"), None)
    if planner is not None:
        asked = "--mode plan" if mode == "plan" else f"agent {planner.name!r}"
        raise Misuse(
            f"{asked}: only plans, and bank {config.bank!r} has tasks to be done; name a bank of "
            "planning cases with --bank, or another agent or mode"
        )
    if mode == "plan":
        raise Misuse(
            f"--mode plan: bank {config.bank!r} has tasks to be done; name a bank of planning "
            "cases with --bank"
        )
