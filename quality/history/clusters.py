"""Failures that share a cause, told by rules, so that a cause has the same key in any night."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from taskdata.schema.diagnosis import FailureType
from taskdata.schema.night import FailureCluster
from taskdata.schema.run import TrialResult
from taskdata.schema.scores import LeafScore
from taskdata.schema.transcript import Ending

INFRASTRUCTURE = "infrastructure"
"""The stage of clusters of trials that were lost for a reason outside their agent."""

_CAUSE_LENGTH = 160
_FAILED_BELOW = 5.0
"""A leaf that scores less than half is one that failed."""

_TIME = r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
# In this order: what is longest and most particular first.
_PARTICULARS = (
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\",;)]*[^\s'\",;:.)]", re.IGNORECASE), "<address>"),
    (re.compile(r"(?<![\w.])~?/[^\s'\",;:)]+"), "<path>"),
    (re.compile(_TIME), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{18,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b(?=[a-z_-]*\d)(?=[\d_-]*[a-z])[a-z0-9_-]{10,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d+(?:[.,:]\d+)*(?:\s?%)?"), "<n>"),
)


class _Cause(NamedTuple):
    stage: str
    type: str | None
    detail: str

    @property
    def key(self) -> str:
        return "|".join((self.stage, self.type or "", self.detail))

    @property
    def title(self) -> str:
        if self.stage == INFRASTRUCTURE:
            return self.detail
        label = " / ".join(dict.fromkeys(filter(None, (self.stage, self.type))))
        label = label.replace("_", " ")
        return f"{label}: {self.detail}" if self.detail else label


def normalised(cause: str) -> str:
    """Return the first line of an error's cause without what differs from trial to trial.

    Numbers, times, addresses, paths and ids are replaced by what they are, as in `<n> s`.
    """
    lines = cause.strip().splitlines()
    text = " ".join(lines[0].split()) if lines else "no cause was recorded"
    for pattern, name in _PARTICULARS:
        text = pattern.sub(name, text)
    return text[:_CAUSE_LENGTH]


def error_cause(result: TrialResult) -> str:
    """Return the normalised cause of a trial that was lost to an infrastructure error."""
    error = None if result.outcome is None else result.outcome.error
    return normalised(error or result.scoring_error or "")


def failure_clusters(
    results: Sequence[TrialResult], *, without: Sequence[str] = ()
) -> tuple[FailureCluster, ...]:
    """Return the clusters of failed and of lost trials, the largest first.

    A failed trial belongs to the stage and type of its diagnosis and to what failed in it: how it
    ended, where its agent did not end it itself, and the verifier of most leaves that failed.

    Args:
        results: First attempts.
        without: Agents whose failures say nothing, as those of controls.
    """
    groups: dict[_Cause, list[TrialResult]] = defaultdict(list)
    for result in results:
        cause = None if result.trial.agent in without else _cause(result)
        if cause is not None:
            groups[cause].append(result)
    clusters = [_cluster(cause, members) for cause, members in groups.items()]
    return tuple(sorted(clusters, key=lambda c: (-c.trials, c.key)))


def error_causes(results: Sequence[TrialResult]) -> Mapping[str, int]:
    """Return how many trials were lost to infrastructure errors, by normalised cause."""
    lost = (error_cause(result) for result in results if result.is_infrastructure_error)
    return dict(Counter(lost).most_common())


def _cluster(cause: _Cause, members: Sequence[TrialResult]) -> FailureCluster:
    return FailureCluster(
        key=cause.key,
        title=cause.title,
        stage=cause.stage,
        type=cause.type,
        trials=len(members),
        agents=tuple(sorted({m.trial.agent for m in members})),
        tasks=tuple(sorted({m.trial.task_id for m in members})),
        example=min(m.trial.id for m in members),
    )


def _cause(result: TrialResult) -> _Cause | None:
    if result.is_infrastructure_error:
        return _Cause(INFRASTRUCTURE, None, error_cause(result))
    label = result.diagnosis
    if label is None or label.stage is None:
        return None
    return _Cause(
        label.stage.value, label.type.value if label.type is not None else None, _detail(result)
    )


def _detail(result: TrialResult) -> str:
    """Return how the trial ended, where its agent did not end it itself, and what failed most."""
    ending = None if result.outcome is None else result.outcome.ending
    is_cut = ending is not None and ending is not Ending.FINISHED
    parts = [ending.value.replace("_", " ")] if ending is not None and is_cut else []
    label = result.diagnosis
    # Where nothing is there, every verifier fails, and which one says nothing.
    if label is not None and label.type is not FailureType.NOT_ATTEMPTED:
        parts += _failed_verifier(result)
    return "; ".join(parts)


def _failed_verifier(result: TrialResult) -> list[str]:
    """Return the verifier, without its version or model, of most of the leaves that failed."""
    leaves = () if result.score is None else result.score.leaves
    failed = Counter(_kind(leaf.verifier) for leaf in leaves if _has_failed(leaf))
    return sorted(failed, key=lambda name: (-failed[name], name))[:1]


def _has_failed(leaf: LeafScore) -> bool:
    return leaf.score is not None and leaf.score < _FAILED_BELOW


def _kind(verifier: str) -> str:
    """Return `check xlsx_cells` of `check:xlsx_cells@1`, and `judge` of any judge."""
    kind, _, name = verifier.partition(":")
    if kind == "judge":
        return kind
    return f"{kind} {name.partition('@')[0]}".strip()
