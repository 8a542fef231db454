"""The attempts of an arm, by the first attempt from which they start."""

from collections.abc import Sequence
from dataclasses import dataclass

from taskdata.schema.run import OutcomeStatus, TrialResult


@dataclass(frozen=True)
class RefinedTrial:
    """A first attempt, and what an arm made of it."""

    first: TrialResult
    attempts: tuple[TrialResult, ...]
    """Of the arm, by round; at least one."""

    @property
    def task_id(self) -> str:
        """The task, by which trials are clustered."""
        return self.first.trial.task_id

    def until(self, round_: int) -> tuple[TrialResult, ...]:
        """Return the attempts up to that round."""
        return tuple(one for one in self.attempts if one.trial.round <= round_)

    def after(self, round_: int) -> TrialResult | None:
        """Return the last attempt up to that round; None where it has no score.

        An arm that ended before the round thus keeps what it reached, while a lost attempt is not
        replaced by an earlier one.
        """
        tried = self.until(round_)
        return tried[-1] if tried and tried[-1].root_score is not None else None


@dataclass(frozen=True)
class Pair:
    """A first attempt and the attempt that stands at the end of a round, both with a score."""

    first: TrialResult
    last: TrialResult

    @property
    def task_id(self) -> str:
        """The task, by which trials are clustered."""
        return self.first.trial.task_id

    @property
    def before(self) -> float:
        """The most that the first attempt can have scored."""
        return self.first.root_score_upper or 0.0

    @property
    def after(self) -> float:
        """The least that the last attempt has scored."""
        return self.last.root_score or 0.0


def refined_trials(results: Sequence[TrialResult], arm: str) -> list[RefinedTrial]:
    """Return the trials of one agent that the arm has tried again, in the order of `results`."""
    attempts: dict[tuple[str, int], list[TrialResult]] = {}
    for result in sorted(results, key=lambda one: one.trial.round):
        if result.trial.round and result.trial.arm == arm:
            attempts.setdefault(_origin(result), []).append(result)
    return [
        RefinedTrial(result, tuple(attempts[_origin(result)]))
        for result in results
        if result.trial.round == 0 and _origin(result) in attempts
    ]


def paired(refined: Sequence[RefinedTrial], round_: int) -> list[Pair]:
    """Return the pairs of the trials that have a score in both attempts."""
    return [
        Pair(one.first, last)
        for one in refined
        if one.first.root_score is not None and (last := one.after(round_)) is not None
    ]


def cost_of(attempts: Sequence[TrialResult]) -> float | None:
    """Return what finished attempts cost with the models that wrote their feedback, in dollars.

    None: a price is unknown, or nothing has finished.
    """
    finished = [
        (one.outcome.cost_usd, one.critique.cost_usd)
        for one in attempts
        if one.outcome is not None and one.outcome.status is OutcomeStatus.FINISHED
    ]
    known = [price for prices in finished for price in prices if price is not None]
    return sum(known) if known and len(known) == 2 * len(finished) else None


def _origin(result: TrialResult) -> tuple[str, int]:
    return result.trial.task_id, result.trial.repetition
