"""Failures that share a cause as one line, with the trials that have it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from quality.clusters.causes import Cause, cause_of, error_cause
from taskdata.schema.night import INFRASTRUCTURE, FailureCluster
from taskdata.schema.run import TrialResult
from taskdata.schema.task import Task

NEAR = 0.8
"""Causes of equal evidence whose texts have at least this cosine similarity are one cluster."""
_COMPARED = 200
"""So many causes at most are compared by meaning, those of most trials first."""

Alike = Callable[[str, str], float]
"""Returns the cosine similarity (0-1) of two texts in meaning."""


def failure_clusters(
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
    *,
    without: Sequence[str] = (),
    alike: Callable[[], Alike | None] = lambda: None,
) -> tuple[FailureCluster, ...]:
    """Return the clusters of failed and of lost trials, the largest first.

    Args:
        results: First attempts.
        tasks: Theirs, by content hash.
        without: Agents whose failures say nothing, as those of controls.
        alike: Returns what compares texts in meaning, or None; asked only where texts differ.
    """
    groups: dict[Cause, list[TrialResult]] = defaultdict(list)
    for result in results:
        if result.trial.agent not in without:
            cause = cause_of(result, tasks[result.trial.task_hash])
            if cause is not None:
                groups[cause].append(result)
    clusters = [_cluster(causes, groups) for causes in _together(groups, alike)]
    return tuple(sorted(clusters, key=lambda c: (-c.trials, c.key)))


def error_causes(results: Sequence[TrialResult]) -> Mapping[str, int]:
    """Return how many trials were lost to infrastructure errors, by normalised cause."""
    lost = (error_cause(result) for result in results if result.is_infrastructure_error)
    return dict(Counter(lost).most_common())


def _together(
    groups: Mapping[Cause, Sequence[TrialResult]], alike: Callable[[], Alike | None]
) -> list[list[Cause]]:
    """Return the causes that are one cluster, that of most trials first in each."""
    ordered = sorted(groups, key=lambda cause: (-len(groups[cause]), cause))
    texts = Counter(cause.evidence for cause in ordered if cause.text)
    similarity = alike() if any(count > 1 for count in texts.values()) else None
    found: list[list[Cause]] = []
    for cause in ordered:
        near = None
        if similarity is not None and cause.text and len(found) < _COMPARED:
            near = _nearest(cause, found, similarity)
        if near is None:
            found.append([cause])
        else:
            near.append(cause)
    return found


def _nearest(cause: Cause, found: Sequence[list[Cause]], alike: Alike) -> list[Cause] | None:
    own = [causes for causes in found if causes[0].evidence == cause.evidence]
    scored = [(alike(cause.text, causes[0].text), place) for place, causes in enumerate(own)]
    best, place = max(scored, default=(0.0, 0))
    return own[place] if best >= NEAR else None


def _cluster(
    causes: Sequence[Cause], groups: Mapping[Cause, Sequence[TrialResult]]
) -> FailureCluster:
    members = [result for cause in causes for result in groups[cause]]
    stages = Counter(_stage(result) for result in members)
    types = Counter(
        m.diagnosis.type.value for m in members if m.diagnosis is not None and m.diagnosis.type
    )
    return FailureCluster(
        key=causes[0].key,
        title=causes[0].title,
        merged=tuple(cause.key for cause in causes[1:]),
        stage=stages.most_common(1)[0][0],
        stages=dict(stages.most_common()),
        type=types.most_common(1)[0][0] if types else None,
        trials=len(members),
        agents=tuple(sorted({m.trial.agent for m in members})),
        tasks=tuple(sorted({m.trial.task_id for m in members})),
        example=min(m.trial.id for m in members),
        trial_ids=tuple(sorted(m.trial.id for m in members)),
    )


def _stage(result: TrialResult) -> str:
    if result.is_infrastructure_error or result.diagnosis is None or result.diagnosis.stage is None:
        return INFRASTRUCTURE
    return result.diagnosis.stage.value
