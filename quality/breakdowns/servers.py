"""Success and effort by the MCP servers that tasks need (Toolathlon, section 4)."""

from collections.abc import Mapping, Sequence

from quality.breakdowns.effort import per_trial
from quality.success import root_sr
from taskdata.schema.agent_detail import ServerGroup
from taskdata.schema.run import TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task


def server_groups(
    results: Sequence[TrialResult], tasks: Mapping[str, Task], rule: SuccessRule
) -> dict[str, ServerGroup]:
    """Return one agent's results on the tasks that need a server, by the server's name.

    A task that needs several servers counts for each; trials without a score are left out.

    Args:
        results: The agent's trials.
        tasks: The tasks by content hash.
        rule: Decides which trials are successes.
    """
    members: dict[str, list[TrialResult]] = {}
    for result in results:
        around = tasks[result.trial.task_hash].environment
        if result.root_score is not None and around is not None:
            for name in around.servers:
                members.setdefault(name, []).append(result)
    return {name: _group(members[name], rule) for name in sorted(members)}


def _group(results: Sequence[TrialResult], rule: SuccessRule) -> ServerGroup:
    outcomes = [(r.trial.task_id, r.outcome) for r in results if r.outcome is not None]
    return ServerGroup(
        tasks=len({result.trial.task_id for result in results}),
        trials=len(results),
        root_sr=root_sr(results, rule),
        turns=per_trial([(task, outcome.turns) for task, outcome in outcomes]),
        cost_usd=per_trial([(task, outcome.cost_usd) for task, outcome in outcomes]),
    )
