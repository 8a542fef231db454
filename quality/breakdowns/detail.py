"""Everything that `results --detail` shows of one agent."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from quality.breakdowns import groups
from quality.breakdowns.effort import per_trial
from quality.breakdowns.servers import server_groups
from quality.breakdowns.tools import tool_faults, tool_sr
from quality.breakdowns.turns import turn_groups
from quality.breakdowns.verification import verification_groups
from quality.success import SUCCESS_THRESHOLDS, root_sr, successes_by_repetition
from taskdata.schema.agent import AgentSpec
from taskdata.schema.agent_detail import AgentDetail, Spread
from taskdata.schema.run import OutcomeStatus, TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Capability, Task


def agent_detail(
    agent: AgentSpec,
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
    rule: SuccessRule,
    turns: Mapping[str, float],
    score_per_usd: float | None,
) -> AgentDetail:
    """Return the figures of one agent's first attempts, with their intervals.

    Args:
        agent: Its harness and model are named beside the figures.
        results: Its trials.
        tasks: By content hash.
        rule: What success is.
        turns: Mean turns of each task over all agents.
        score_per_usd: As in the summary.
    """
    finished = [
        (r.trial.task_id, r.outcome)
        for r in results
        if r.outcome is not None and r.outcome.status is OutcomeStatus.FINISHED
    ]
    return AgentDetail(
        harness=agent.way_of_working,
        model=None if agent.model is None else str(agent.model),
        root_sr_at={str(k): root_sr(results, rule.at(k)) for k in SUCCESS_THRESHOLDS},
        leaf_sr=groups.group_result(results, tasks, rule).leaf_sr,
        tool_sr=tool_sr(finished),
        capability_sr={
            capability.value: root_sr(
                [r for r in results if capability in tasks[r.trial.task_hash].capabilities], rule
            )
            for capability in Capability
        },
        category=groups.grouped(results, tasks, rule, groups.by_category),
        deliverable_type=groups.grouped(results, tasks, rule, groups.by_deliverable_type),
        deliverable_group=groups.grouped(results, tasks, rule, groups.by_deliverable_group),
        leaves=groups.grouped(results, tasks, rule, groups.by_leaves),
        family_difficulty=groups.grouped(results, tasks, rule, groups.by_family_and_difficulty),
        subcategory=groups.grouped(results, tasks, rule, groups.by_subcategory),
        seconds=per_trial([(t, o.wall_seconds) for t, o in finished]),
        cost_usd=per_trial([(t, o.cost_usd) for t, o in finished]),
        score_per_usd=score_per_usd,
        turns=per_trial([(t, o.turns) for t, o in finished]),
        output_tokens=per_trial(
            [(t, None if o.usage is None else o.usage.output_tokens) for t, o in finished]
        ),
        pass_at_1=_spread(results, rule),
        tool_faults=tool_faults(results, rule),
        turn_groups=turn_groups(results, turns, rule),
        self_verification=verification_groups(results, rule),
        server=server_groups(results, tasks, rule),
    )


def _spread(results: Sequence[TrialResult], rule: SuccessRule) -> Spread:
    """Return Root SR over runs of all tasks, of which each repetition is one (Toolathlon, 4.1)."""
    runs = successes_by_repetition(results, rule)
    rates = [fmean(successes) for _, successes in sorted(runs.items())]
    return Spread(
        mean=fmean(rates) if rates else None,
        sd=stdev(rates) if len(rates) > 1 else None,
        runs=len(rates),
    )
