"""Distributions of failure labels (GTA-2, tables 8 to 10; TOBench, figure 5; GTA, table 6)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from quality.breakdowns.authors import by_model
from quality.breakdowns.groups import by_category, by_deliverable_type, by_leaves, in_order
from taskdata.schema.agent import AgentSpec
from taskdata.schema.diagnosis import (
    TOOL_USE,
    Diagnosis,
    FailureLevels,
    FailureStage,
    FailureType,
    Taxonomy,
)
from taskdata.schema.failures import FailureShare, GroupFailures, Grouping, RequirementLevel
from taskdata.schema.run import TrialResult
from taskdata.schema.task import Task

LevelOf = Callable[[str, str], RequirementLevel | None]
"""The level of a leaf, by hash of its task and id; None: the task has no such leaf."""


def level_rates(
    requirements: Iterable[tuple[RequirementLevel, bool]],
) -> dict[RequirementLevel, FailureShare]:
    """Return the failure rate within each level (GTA-2, table 10).

    Args:
        requirements: The level of each requirement, and whether the requirement failed.
    """
    failed: dict[RequirementLevel, list[bool]] = defaultdict(list)
    for level, fails in requirements:
        failed[level].append(fails)
    return {level: FailureShare.of_all(failed[level]) for level in RequirementLevel}


Groups = dict[Grouping, tuple[str, ...]]
"""The groups that an agent or a task is in."""


class CountedTrial(NamedTuple):
    """A first attempt as it is counted."""

    result: TrialResult
    lost_to: str | None
    """Its infrastructure label; None: it was not lost. A lost trial has no other label."""
    requirements: Mapping[RequirementLevel, FailureShare]
    """Of its scored requirements at each level, those that do not hold."""


def counted(
    results: Iterable[TrialResult],
    lost_to: Mapping[str, str],
    level_of: LevelOf,
    threshold: float,
) -> list[CountedTrial]:
    """Return first attempts as they are counted.

    Args:
        results: The first attempts.
        lost_to: The infrastructure label of each lost trial by the trial's id.
        level_of: The level of each requirement.
        threshold: A requirement holds if its score is above this.
    """
    found = []
    for result in results:
        lost = lost_to.get(result.trial.id)
        requirements = () if lost is not None else _requirements(result, level_of, threshold)
        found.append(CountedTrial(result, lost, level_rates(requirements)))
    return found


def group_failures(group: str, trials: Sequence[CountedTrial]) -> GroupFailures:
    """Return the distributions of the labels of one group of trials."""
    kept = [one.result for one in trials if one.lost_to is None]
    diagnosed = [result.diagnosis for result in kept if result.diagnosis is not None]
    failed = [diagnosis for diagnosis in diagnosed if diagnosis.stage is not None]
    lost = Counter(one.lost_to for one in trials if one.lost_to is not None)
    return GroupFailures(
        group=group,
        trials=len(trials),
        scored=sum(result.root_score is not None for result in kept),
        failed=len(failed),
        lost=lost.total(),
        labels={
            "stage": {s.value: _share(d.stage is s for d in failed) for s in FailureStage},
            "type": {t.value: _share(d.type is t for d in failed) for t in FailureType},
            "level": {
                name: _share(getattr(d.levels, name) for d in diagnosed)
                for name in FailureLevels.model_fields
            },
            "tool_use_category": {
                category: _share(any(name in names for name in _tool_use(d)) for d in failed)
                for category, names in TOOL_USE.items()
            },
            **{t.value: _named(failed, t) for t in Taxonomy if t is not Taxonomy.INFRASTRUCTURE},
            Taxonomy.INFRASTRUCTURE.value: {
                name: FailureShare(n=n, of=len(trials)) for name, n in lost.most_common()
            },
        },
        requirements={
            level: FailureShare(
                n=sum(one.requirements[level].n for one in trials),
                of=sum(one.requirements[level].of for one in trials),
            )
            for level in RequirementLevel
        },
        **by_model(failed),
    )


def groups_of_agents(agents: Iterable[AgentSpec]) -> dict[str, Groups]:
    """Return the model and harness of each agent that competes; some have no model."""
    return {
        agent.name: {
            Grouping.MODEL: () if agent.model is None else (str(agent.model),),
            Grouping.HARNESS: (agent.harness,),
        }
        for agent in agents
        if not agent.is_control
    }


def groups_of_tasks(tasks: Iterable[Task]) -> dict[str, Groups]:
    """Return by its id each task's category, deliverable types, and size of its tree."""
    return {
        task.id: {
            Grouping.CATEGORY: tuple(by_category(task)),
            Grouping.DELIVERABLE_TYPE: tuple(sorted(by_deliverable_type(task))),
            Grouping.LEAVES: tuple(by_leaves(task)),
        }
        for task in tasks
    }


def failures_by_group(
    trials: Sequence[CountedTrial],
    agents: Sequence[str],
    agent_groups: Mapping[str, Groups],
    task_groups: Mapping[str, Groups],
) -> dict[Grouping, tuple[GroupFailures, ...]]:
    """Return the distributions by agent, model, harness, and by groups of tasks.

    Controls are among the agents only: their failures say nothing about tasks. A task in two
    groups counts for both, and an agent without a model for no model.

    Args:
        trials: The first attempts of a run.
        agents: Names of its agents, in its order.
        agent_groups: As `groups_of_agents` returns them.
        task_groups: As `groups_of_tasks` returns them.
    """
    by_agent: dict[str, list[CountedTrial]] = {agent: [] for agent in agents}
    members: dict[Grouping, dict[str, list[CountedTrial]]] = {by: {} for by in Grouping}
    for one in trials:
        trial = one.result.trial
        by_agent[trial.agent].append(one)
        if trial.agent in agent_groups:
            for by, names in (
                *agent_groups[trial.agent].items(),
                *task_groups[trial.task_id].items(),
            ):
                for name in names:
                    members[by].setdefault(name, []).append(one)
    return {
        by: tuple(group_failures(name, own[name]) for name in in_order(own))
        for by, own in members.items()
    } | {Grouping.AGENT: tuple(group_failures(name, own) for name, own in by_agent.items())}


def _tool_use(diagnosis: Diagnosis) -> Iterator[str]:
    return (one.name for one in diagnosis.labels if one.taxonomy is Taxonomy.TOOL_USE)


def _share(having: Iterable[bool]) -> FailureShare:
    return FailureShare.of_all(list(having))


def _named(failed: Sequence[Diagnosis], taxonomy: Taxonomy) -> dict[str, FailureShare]:
    """Return the labels of a taxonomy that occur, the most frequent first."""
    names = Counter(
        label.name
        for diagnosis in failed
        for label in diagnosis.labels
        if label.taxonomy is taxonomy
    )
    return {name: FailureShare(n=n, of=len(failed)) for name, n in names.most_common()}


def _requirements(
    result: TrialResult, level_of: LevelOf, threshold: float
) -> Iterator[tuple[RequirementLevel, bool]]:
    for leaf in () if result.score is None else result.score.leaves:
        level = level_of(result.trial.task_hash, leaf.leaf_id)
        if level is not None and leaf.score is not None:
            yield level, leaf.score <= threshold
