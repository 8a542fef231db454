"""Distributions of failure labels (GTA-2, tables 8 to 10; TOBench, figure 5; GTA, table 6)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from taskdata.schema.diagnosis import (
    TOOL_USE,
    Diagnosis,
    FailureLevels,
    FailureStage,
    FailureType,
    Taxonomy,
)
from taskdata.schema.failures import AgentFailures, FailureShare, RequirementLevel
from taskdata.schema.run import TrialResult

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


def agent_failures(
    agent: str,
    results: Sequence[TrialResult],
    lost_to: Mapping[str, str],
    level_of: LevelOf,
    threshold: float,
) -> AgentFailures:
    """Return the distributions of one agent's labels.

    Args:
        agent: The agent's name.
        results: The agent's first attempts.
        lost_to: The infrastructure label of each lost trial by the trial's id; lost trials have no
            other label.
        level_of: The level of each requirement.
        threshold: A requirement holds if its score is above this.
    """
    kept = [result for result in results if result.trial.id not in lost_to]
    diagnosed = [result.diagnosis for result in kept if result.diagnosis is not None]
    failed = [diagnosis for diagnosis in diagnosed if diagnosis.stage is not None]
    lost = Counter(lost_to[r.trial.id] for r in results if r.trial.id in lost_to)
    return AgentFailures(
        agent=agent,
        trials=len(results),
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
                name: FailureShare(n=n, of=len(results)) for name, n in lost.most_common()
            },
        },
        requirements=level_rates(_requirements(kept, level_of, threshold)),
        **_by_model(failed),
    )


def _by_model(failed: Sequence[Diagnosis]) -> dict[str, Any]:
    """Return which labels of failed trials a model gave; nothing if none was asked."""
    asked = [one.by_model for one in failed if one.by_model is not None]
    asked = [one for one in asked if one.error is None]
    if not asked:
        return {}
    found = [label for one in failed for label in _all_labels(one)]
    of_model: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, name, is_model in found:
        if is_model:
            of_model[kind][name] += 1
    for names in (_of_model(one, Taxonomy.TOOL_USE) for one in failed):
        of_model["tool_use_category"].update(
            category for category, all_names in TOOL_USE.items() if names.intersection(all_names)
        )
    given = [is_model for *_, is_model in found]
    return {
        "given_by": {
            "rules": FailureShare(n=len(given) - sum(given), of=len(given)),
            "model": FailureShare(n=sum(given), of=len(given)),
        },
        "of_model": {kind: dict(names.most_common()) for kind, names in of_model.items() if names},
        "asked": len(asked),
        "rejected": sum(one.rejected is not None for one in asked),
    }


def _of_model(diagnosis: Diagnosis, taxonomy: Taxonomy) -> set[str]:
    """Return the labels of a taxonomy that a model gave."""
    own = (one for one in diagnosis.labels if one.by is not None)
    return {one.name for one in own if one.taxonomy is taxonomy}


def _all_labels(diagnosis: Diagnosis) -> Iterator[tuple[str, str, bool]]:
    """Yield kind and name of each label of a failed trial, and whether a model gave it."""
    if diagnosis.stage not in (None, FailureStage.UNDETERMINED):
        yield "stage", str(diagnosis.stage), diagnosis.is_by_model("stage")
    if diagnosis.type is not None:
        yield "type", diagnosis.type.value, diagnosis.is_by_model("type")
    for label in diagnosis.labels:
        yield label.taxonomy.value, label.name, label.by is not None


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
    results: Iterable[TrialResult], level_of: LevelOf, threshold: float
) -> Iterable[tuple[RequirementLevel, bool]]:
    for result in results:
        for leaf in () if result.score is None else result.score.leaves:
            level = level_of(result.trial.task_hash, leaf.leaf_id)
            if level is not None and leaf.score is not None:
                yield level, leaf.score <= threshold
