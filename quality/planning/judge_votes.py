"""A judge's marks of plans beside those of people, as arrays, and the measures between them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from taskdata.schema.plan_agreement import PlanRating, Trial
from taskdata.schema.planning_score import PlanError

KINDS = tuple(PlanError)


@dataclass(frozen=True)
class Side:
    """Marks of the same plans in the same order, by one side."""

    grades: NDArray[np.float64]
    errors: NDArray[np.bool_]
    """Plans by E1 to E6."""

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the plans have no error."""
        return np.asarray(~self.errors.any(axis=1))

    def at(self, rows: NDArray[np.intp]) -> "Side":
        """Return the marks of these rows."""
        return Side(self.grades[rows], self.errors[rows])


class Measures(NamedTuple):
    """The numbers of APB's table 7, 0-1; NaN where one cannot be told."""

    agreement: float
    precision: float
    recall: float
    f1: float
    grade_mae: float
    error_types: float


@dataclass(frozen=True)
class Votes:
    """Pairs of a plan and a person, with the judge's marks of the plan."""

    trials: tuple[Trial, ...]
    sources: tuple[str, ...]
    people: Side
    judge: Side
    same: NDArray[np.bool_]
    by_code: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.trials)

    def at(self, rows: NDArray[np.intp]) -> "Votes":
        """Return the pairs of these rows."""
        return Votes(
            trials=tuple(self.trials[i] for i in rows),
            sources=tuple(self.sources[i] for i in rows),
            people=self.people.at(rows),
            judge=self.judge.at(rows),
            same=self.same[rows],
            by_code=self.by_code[rows],
        )

    def where(self, condition: NDArray[np.bool_]) -> "Votes":
        """Return the pairs for which the condition holds."""
        return self.at(np.flatnonzero(condition))


def votes_of(people: Sequence[PlanRating], judge: Sequence[PlanRating]) -> Votes:
    """Return the pairs of people's marks with the judge's marks of the same plan.

    Each person's marks of a plan are a pair of their own. The source task of a pair, and
    whether its plan has the reference's chain, are taken from the judge's marks.
    """
    given = {one.trial: one for one in reversed(judge)}
    return paired([(one, given[one.trial]) for one in people if one.trial in given])


def paired(pairs: Sequence[tuple[PlanRating, PlanRating]]) -> Votes:
    """Return pairs of one side's and the other's marks of a plan as arrays."""
    theirs = [other for _, other in pairs]
    return Votes(
        trials=tuple(one.trial for one in theirs),
        sources=tuple(one.source or one.task for one in theirs),
        people=_side([one for one, _ in pairs]),
        judge=_side(theirs),
        same=np.array([one.same_as_reference for one in theirs], dtype=bool),
        by_code=np.array([one.by_code for one in theirs], dtype=bool),
    )


def measures(people: Side, judge: Side) -> Measures:
    """Return how far a judge's marks are those of people; a correct plan is the positive class."""
    if not len(people.grades):
        return Measures(*[math.nan] * len(Measures._fields))
    true, said = people.correct, judge.correct
    alike = (people.errors == judge.errors)[~true]
    hits, given, all_true = (int(rows.sum()) for rows in (true & said, said, true))
    return Measures(
        agreement=float((true == said).mean()),
        precision=hits / given if given else math.nan,
        recall=hits / all_true if all_true else math.nan,
        f1=2 * hits / (given + all_true) if given + all_true else math.nan,
        grade_mae=float(np.abs(people.grades - judge.grades).mean()),
        error_types=float(alike.mean()) if len(alike) else math.nan,
    )


def _side(ratings: Sequence[PlanRating]) -> Side:
    rows = [[kind in one.marks.errors for kind in KINDS] for one in ratings]
    return Side(
        grades=np.array([one.marks.grade for one in ratings], dtype=np.float64),
        errors=np.array(rows, dtype=bool).reshape(len(ratings), len(KINDS)),
    )
