"""What `nightshift results --failures` shows: how often each failure label occurs, by agent."""

from typing import TYPE_CHECKING

from flows.cli import console

if TYPE_CHECKING:
    from taskdata.schema.failures import AgentFailures, FailureShare
    from taskdata.schema.run import Run
    from taskdata.store import Store

_TITLES = {
    "stage": "Stage at which failed trials broke down (GTA-2, table 8)",
    "type": "Type of failure (GTA-2, table 9)",
    "level": "Levels: trials with a failure at the level",
    "tool_use_category": "Tool use by category (TOBench, table 4)",
    "tool_use": "Tool use by subcategory (TOBench, table 4)",
    "long_run": "Long runs",
    "arguments": "Argument errors, atomic tier (GTA, table 6)",
    "infrastructure": "Trials lost outside the agent, of all trials",
}
_LEVELS = {"A": "A: leaf", "B": "B: composition", "C": "C: deliverable"}


def write_failures(store: "Store", run: "Run", *, as_json: bool) -> None:
    """Write the distributions of labels of a run's first attempts."""
    agents = failures_of(store, run)
    if as_json:
        listed = [agent.model_dump(mode="json") for agent in agents]
        console.write_json({"run": run.id, "agents": listed})
        return
    console.table(
        [
            {
                "agent": agent.agent,
                "trials": str(agent.trials),
                "scored": str(agent.scored),
                "failed": str(agent.failed),
                "lost": str(agent.lost),
            }
            for agent in agents
        ],
        title=f"Run {run.id}: failures of first attempts",
    )
    for kind, title in _TITLES.items():
        rows = [row for agent in agents for row in _rows(agent, kind)]
        if rows:
            console.table(rows, title=title)
    levels = [row for agent in agents for row in _levels(agent)]
    if levels:
        console.table(levels, title="Requirements that do not hold, by level (GTA-2, table 10)")
    authors = [row for agent in agents for row in _authors(agent)]
    if authors:
        console.table(authors, title=f"By whom the labels are; the model is {run.config.labeller}")
    console.paragraph(
        "A trial may have several labels of tool use, of long runs and of arguments. "
        "docs/failures.md defines each label; `nightshift show TRIAL` has its evidence."
    )


def failures_of(store: "Store", run: "Run") -> "list[AgentFailures]":
    """Return the distributions of each agent of the run, in the run's order."""
    from quality.breakdowns.failures import agent_failures
    from stages.diagnose.infrastructure import infrastructure_label
    from stages.diagnose.levels import requirement_level
    from taskdata.garbage import collected_after

    with collected_after():
        results = store.results(run.id, 0)
        levels = {
            (task_hash, leaf.id): requirement_level(leaf)
            for task_hash, task in store.tasks_of_run(run.id).items()
            for leaf in task.checkpoints.leaves()
        }
        found = {result.trial.id: infrastructure_label(result) for result in results}
        lost_to = {trial: label.name for trial, label in found.items() if label is not None}
        return [
            agent_failures(
                agent.name,
                [result for result in results if result.trial.agent == agent.name],
                lost_to,
                lambda task_hash, leaf_id: levels.get((task_hash, leaf_id)),
                run.config.threshold,
            )
            for agent in run.config.agents
        ]


def _rows(agent: "AgentFailures", kind: str) -> list[dict[str, str]]:
    rows = []
    of_model = agent.of_model.get(kind, {})
    for name, share in agent.labels[kind].items():
        if share.n:
            by_model = {"by model": str(of_model.get(name, 0))} if of_model else {}
            rows.append(_row(agent.agent, name.replace("_", " "), share) | by_model)
    return rows


def _authors(agent: "AgentFailures") -> list[dict[str, str]]:
    """Return how many labels are by rules and by the model, and how often it was rejected."""
    if not agent.asked:
        return []
    by = [_row(agent.agent, f"by {who}", share) for who, share in agent.given_by.items()]
    told = f"{agent.rejected} of {agent.asked}"
    share = f"{100 * agent.rejected / agent.asked:.2f} %"
    rejected = {"agent": agent.agent, "label": "trials with rejected replies", "n": told}
    return [*by, rejected | {"share": share}]


def _levels(agent: "AgentFailures") -> list[dict[str, str]]:
    shares = agent.requirements.items()
    return [_row(agent.agent, _LEVELS[level], share) for level, share in shares if share.of]


def _row(agent: str, name: str, share: "FailureShare") -> dict[str, str]:
    percent = "-" if share.percent is None else f"{share.percent:.2f} %"
    return {"agent": agent, "label": name, "n": f"{share.n} of {share.of}", "share": percent}
