"""Trials that failed for a reason outside the agent, by cause."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from taskdata.schema.run import TrialResult

_NAMED = 8
_CAUSE_LENGTH = 300


class LostTrials(NamedTuple):
    """Trials lost to one cause."""

    cause: str
    agents: tuple[str, ...]
    trials: int
    trial_ids: tuple[str, ...]
    """The first few of them."""


def lost_trials(results: Sequence[TrialResult]) -> list[LostTrials]:
    """Return the infrastructure errors of all rounds by cause, the commonest first."""
    by_cause: dict[str, list[TrialResult]] = defaultdict(list)
    for result in results:
        if result.is_infrastructure_error:
            by_cause[_cause(result)].append(result)
    found = [
        LostTrials(
            cause=cause,
            agents=tuple(dict.fromkeys(r.trial.agent for r in lost)),
            trials=len(lost),
            trial_ids=tuple(r.trial.id for r in lost[:_NAMED]),
        )
        for cause, lost in by_cause.items()
    ]
    return sorted(found, key=lambda lost: -lost.trials)


def _cause(result: TrialResult) -> str:
    error = None if result.outcome is None else result.outcome.error
    cause = error or result.scoring_error or "no cause was recorded"
    return " ".join(cause[: 2 * _CAUSE_LENGTH].split())[:_CAUSE_LENGTH]
