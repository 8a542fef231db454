"""Distributions of failure labels (GTA-2, tables 8 to 10; TOBench, figure 5; GTA, table 6)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

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
    )


def failures_by_group(
    trials: Sequence[CountedTrial], agents: Sequence[AgentSpec], tasks: Mapping[str, Task]
) -> dict[Grouping, tuple[GroupFailures, ...]]:
    """Return the distributions by agent, model, harness, and by groups of tasks.

    Controls are among the agents only: their failures say nothing about tasks. A task in two
    groups counts for both, and an agent without a model for no model.

    Args:
        trials: The first attempts of a run.
        agents: Its agents, in its order.
        tasks: Its tasks by content hash.
    """
    competing = {agent.name: agent for agent in agents if not agent.is_control}
    others = [one for one in trials if one.result.trial.agent in competing]
    by_agent: dict[str, list[CountedTrial]] = {agent.name: [] for agent in agents}
    for one in trials:
        by_agent[one.result.trial.agent].append(one)
    found = {Grouping.AGENT: tuple(group_failures(name, own) for name, own in by_agent.items())}
    groupings: dict[Grouping, Callable[[CountedTrial], Iterable[str]]] = {
        Grouping.MODEL: lambda one: _model(competing[one.result.trial.agent]),
        Grouping.HARNESS: lambda one: (competing[one.result.trial.agent].harness,),
        Grouping.CATEGORY: lambda one: by_category(tasks[one.result.trial.task_hash]),
        Grouping.DELIVERABLE_TYPE: lambda one: by_deliverable_type(
            tasks[one.result.trial.task_hash]
        ),
        Grouping.LEAVES: lambda one: by_leaves(tasks[one.result.trial.task_hash]),
    }
    for grouping, names_of in groupings.items():
        members: dict[str, list[CountedTrial]] = defaultdict(list)
        for one in others:
            for name in names_of(one):
                members[name].append(one)
        found[grouping] = tuple(group_failures(n, members[n]) for n in in_order(members))
    return found


def _model(agent: AgentSpec) -> tuple[str, ...]:
    return () if agent.model is None else (str(agent.model),)


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
