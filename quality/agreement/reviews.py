"""How far people agree about tasks that they reviewed without knowing each other's answers."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quality.agreement.label_marks import kappa_of_kind
from quality.statistics.bootstrap import (
    Chosen,
    bootstrapped,
    drawn_rows,
    rows_by_task,
    varying,
)
from taskdata.schema.construct import ReviewDecision
from taskdata.schema.review import (
    ANSWERS,
    VERDICTS,
    ChecklistItem,
    ItemAgreement,
    ReviewAgreement,
)

Codes = NDArray[np.int64]
"""Answers by number; -1: none was given."""

_KINDS: Mapping[str, Sequence[str]] = {
    "verdict": VERDICTS,
    **{item.value: ANSWERS for item in ChecklistItem},
}


class ReviewPair(NamedTuple):
    """What two people said about one draft."""

    task: str
    first: ReviewDecision
    second: ReviewDecision


def review_agreement(pairs: Sequence[ReviewPair]) -> ReviewAgreement | None:
    """Return the agreement on the verdict and on each item; None without any pair.

    Cohen's (1960) kappa takes the answers as categories. It is of two people; where several pairs
    of people have reviewed, it is the mean over these pairs, weighted by their drafts. Intervals
    are from a bootstrap over tasks.
    """
    if not pairs:
        return None
    ordered = [_ordered(pair) for pair in pairs]
    people = [(one.first.reviewer.casefold(), one.second.reviewer.casefold()) for one in ordered]
    first, second = (
        np.array([[_code(kind, getattr(one, side)) for kind in _KINDS] for one in ordered])
        for side in ("first", "second")
    )
    groups = rows_by_task([one.task for one in ordered])
    numbers = {names: number for number, names in enumerate(dict.fromkeys(people))}
    raters = np.array([numbers[names] for names in people])

    def told(chosen: Chosen) -> list[float]:
        rows = drawn_rows(groups, chosen)
        return [
            _kappa(first[rows, column], second[rows, column], raters[rows], len(names))
            for column, names in enumerate(_KINDS.values())
        ]

    both = (first >= 0) & (second >= 0)
    counts = both.sum(axis=0).tolist()
    kappas = bootstrapped(told, len(groups), counts)
    return ReviewAgreement(
        reviewers=_names(pairs),
        tasks=len(groups),
        items=tuple(
            ItemAgreement(
                item=kind,
                tasks=len({one.task for one, known in zip(ordered, column, strict=True) if known}),
                agreed=int((same & column).sum()),
                pairs=count,
                kappa=varying(kappa),
            )
            for kind, column, same, count, kappa in zip(
                _KINDS, both.T, (first == second).T, counts, kappas, strict=True
            )
        ),
    )


def _kappa(first: Codes, second: Codes, raters: NDArray[np.int64], classes: int) -> float:
    values, weights = list[float](), list[int]()
    known = (first >= 0) & (second >= 0)
    for number in np.unique(raters[known]):
        rows = known & (raters == number)
        one, other = (np.eye(classes, dtype=bool)[codes[rows]] for codes in (first, second))
        kappa = kappa_of_kind(one, other)
        if not math.isnan(kappa):
            values.append(kappa)
            weights.append(int(rows.sum()))
    return float(np.average(values, weights=weights)) if values else math.nan


def _ordered(pair: ReviewPair) -> ReviewPair:
    """Return the pair with its people in the order of their names, whoever came first."""
    first, second = sorted(pair[1:], key=lambda one: one.reviewer.casefold())
    return ReviewPair(pair.task, first, second)


def _code(kind: str, decision: ReviewDecision) -> int:
    if kind == "verdict":
        return VERDICTS.index(decision.decision) if decision.decision != "edit" else -1
    given = {one.item.value: one.answer for one in decision.checklist}
    return ANSWERS.index(given[kind]) if kind in given else -1


def _names(pairs: Sequence[ReviewPair]) -> tuple[str, ...]:
    found = {one.reviewer.casefold(): one.reviewer for pair in pairs for one in pair[1:]}
    return tuple(found[name] for name in sorted(found))
