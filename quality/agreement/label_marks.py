"""Which labels two raters gave to the same trials, as arrays, and how far they agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taskdata.schema.label_agreement import (
    ALL_LABELS,
    ONE_OF_A_KIND,
    GivenLabels,
    LabelRating,
)

Marks = NDArray[np.bool_]
"""Trials by labels: whether a rater gave the label."""
Trial = tuple[str, str, int]

COLUMNS = tuple((kind, name) for kind, names in ALL_LABELS.items() for name in names)
"""The labels in the order of the arrays' columns."""
_KIND_OF = np.array([kind for kind, _ in COLUMNS])


def columns_of(kind: str) -> NDArray[np.intp]:
    """Return the columns of a kind's labels."""
    return np.flatnonzero(kind == _KIND_OF)


@dataclass(frozen=True)
class Study:
    """All labels of a study."""

    raters: tuple[str, ...]
    """Labellers first, then people, each by name."""
    labellers: frozenset[str]
    given: Mapping[str, Mapping[Trial, GivenLabels]]
    """By rater and trial."""
    lost: frozenset[Trial]
    """Trials that a labeller calls lost outside the agent: they count for infrastructure alone."""
    not_atomic: frozenset[Trial]
    """Trials known to be of another tier: they have no argument errors."""

    @property
    def people(self) -> tuple[str, ...]:
        """The raters who are no labellers."""
        return tuple(rater for rater in self.raters if rater not in self.labellers)

    def common(self, first: str, second: str) -> list[Trial]:
        """Return the trials that both raters labelled, in a stable order."""
        return sorted(self.given[first].keys() & self.given[second].keys())

    def marks(self, rater: str, trials: Sequence[Trial]) -> Marks:
        """Return which labels a rater gave to these trials."""
        given = self.given[rater]
        rows = [[name in given[trial].of(kind) for kind, name in COLUMNS] for trial in trials]
        return np.array(rows, dtype=bool).reshape(len(trials), len(COLUMNS))

    def counts_for(self, kind: str, trial: Trial) -> bool:
        """Return whether labels of the kind are asked about in this trial."""
        if kind == "infrastructure":
            return True
        return trial not in self.lost and not (kind == "arguments" and trial in self.not_atomic)


def study_of(ratings: Sequence[LabelRating]) -> Study:
    """Return the labels as one study; where a rater labelled a trial twice, the first time."""
    given: dict[str, dict[Trial, GivenLabels]] = {}
    for rating in ratings:
        given.setdefault(rating.rater, {}).setdefault(rating.trial, rating.labels)
    labellers = frozenset(rating.rater for rating in ratings if rating.is_labeller)
    return Study(
        raters=tuple(sorted(given, key=lambda rater: (rater not in labellers, rater))),
        labellers=labellers,
        given=given,
        lost=frozenset(
            rating.trial
            for rating in ratings
            if rating.is_labeller and rating.labels.infrastructure is not None
        ),
        not_atomic=frozenset(r.trial for r in ratings if r.tier not in ("", "atomic")),
    )


def kappas(first: Marks, second: Marks) -> NDArray[np.float64]:
    """Return Cohen's (1960) kappa of each column, -1 to 1.

    It is NaN where chance alone would agree always: both raters always or never gave the label.
    """
    if not len(first):
        return np.full(first.shape[1], np.nan)
    agreed = (first == second).mean(axis=0)
    one, other = first.mean(axis=0), second.mean(axis=0)
    return _beyond_chance(agreed, one * other + (1 - one) * (1 - other))


def kappa_of_kind(first: Marks, second: Marks) -> float:
    """Return Cohen's kappa of columns of which a trial has at most one; none of them is a class."""
    if not len(first):
        return float("nan")
    agreed = (first == second).all(axis=1).mean()
    one, other = (np.append(m.mean(axis=0), (~m.any(axis=1)).mean()) for m in (first, second))
    return float(_beyond_chance(np.array([agreed]), np.array([one @ other]))[0])


def f1s(given: Marks, true: Marks) -> NDArray[np.float64]:
    """Return the harmonic mean of precision and recall of each column, 0-1; NaN without a label."""
    hits = 2.0 * (given & true).sum(axis=0)
    total = (given.sum(axis=0) + true.sum(axis=0)).astype(float)
    return np.asarray(np.divide(hits, total, out=np.full(len(total), np.nan), where=total > 0))


def any_of(marks: Marks) -> Marks:
    """Return for each trial whether the rater gave any of these labels."""
    return np.asarray(marks.any(axis=1))


def asked_at_once(kind: str) -> bool:
    """Return whether agreement on the kind as a whole is defined: a trial has at most one label."""
    return kind in ONE_OF_A_KIND


def _beyond_chance(agreed: NDArray[np.float64], chance: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.full(agreed.shape, np.nan)
    return np.asarray(np.divide(agreed - chance, 1 - chance, out=found, where=chance < 1 - 1e-12))
