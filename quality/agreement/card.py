"""A judge's card: its agreement with people, with itself and with other judges."""

from collections.abc import Callable, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from quality.agreement.measures import ICC_FORM, Measures, Scores, between, measures, pearson
from quality.agreement.probes import probes
from quality.agreement.scored import Scored, scored
from quality.statistics.bootstrap import Chosen, bootstrapped, drawn_rows, rows_by_task
from taskdata.errors import Misuse
from taskdata.schema.agreement import (
    Agreement,
    BetweenJudges,
    JudgeCard,
    PassRates,
    Rating,
    TwoLevels,
)

Compare = Callable[[NDArray[np.intp]], Measures]
"""Measures over these rows."""


def judges_of(ratings: Sequence[Rating]) -> list[str]:
    """Return the judges that gave a score, by name."""
    return sorted({rating.rater for rating in ratings if rating.is_judge})


def judge_card(
    ratings: Sequence[Rating],
    judge: str,
    threshold: float,
    evidence: str,
    code_version: str,
    made_at: datetime,
) -> JudgeCard:
    """Return the card of `judge`, from its scores and those of people and other judges.

    Raises:
        Misuse: if no leaf was scored by a person and by the judge.
    """
    study = scored(ratings, judge)
    if not study.leaf_of:
        raise Misuse(f"no leaf was scored by a person and by judge {judge}")
    everything = np.ones(len(study.leaf_of), dtype=bool)
    agents = sorted({output[1] for output in study.outputs if output[1]})
    return JudgeCard(
        judge=judge,
        made_at=made_at,
        code_version=code_version,
        evidence=evidence,
        threshold=threshold,
        tasks=len(study.tasks),
        outputs=len(study.outputs),
        leaves=len(study.leaf_of),
        annotators=study.annotators,
        icc_form=ICC_FORM,
        agreement=_with_people(study, everything, threshold),
        pass_rates=_pass_rates(study, threshold),
        between_annotators=_between_people(study, threshold),
        by_source={
            agent: _with_people(study, study.leaves_of(agent), threshold) for agent in agents
        },
        retest=_retest(ratings, judge, threshold),
        judges=tuple(
            found
            for other in judges_of(ratings)
            if other != judge and (found := _between(ratings, judge, other, threshold))
        ),
        probes=probes(study, judge),
    )


def _with_people(study: Scored, leaves: NDArray[np.bool_], threshold: float) -> TwoLevels:
    human = study.human
    outputs = np.unique(study.output_of[leaves])
    ours, theirs = study.by_output(human), study.by_output(study.judge)
    return TwoLevels(
        task=_agreement(
            [study.outputs[i][0] for i in outputs],
            lambda rows: measures(ours[outputs][rows], theirs[outputs][rows], threshold),
        ),
        leaf=_agreement(
            [output[0] for output, _ in np.array(study.leaf_of, dtype=object)[leaves]],
            lambda rows: measures(human[leaves][rows], study.judge[leaves][rows], threshold),
        ),
    )


def _between_people(study: Scored, threshold: float) -> TwoLevels | None:
    several = (~np.isnan(study.people)).sum(axis=1) > 1
    if not several.any():
        return None
    by_output = np.column_stack([study.by_output(column) for column in study.people.T])
    return TwoLevels(
        task=_agreement(
            [output[0] for output in study.outputs],
            lambda rows: between(by_output[rows], threshold),
            int(((~np.isnan(by_output)).sum(axis=1) > 1).sum()),
        ),
        leaf=_agreement(
            [output[0] for output, _ in study.leaf_of],
            lambda rows: between(study.people[rows], threshold),
            int(several.sum()),
        ),
    )


def _pass_rates(study: Scored, threshold: float) -> PassRates:
    """Return how far shares of passed leaves agree (GTA-2, section 6.4.2)."""
    leaves = np.bincount(study.output_of)
    ours, theirs = (
        np.bincount(study.output_of, (scores > threshold).astype(float)) / leaves
        for scores in (study.human, study.judge)
    )
    tasks = [output[0] for output in study.outputs]
    groups = rows_by_task(tasks)

    def told(chosen: Chosen) -> tuple[float, float]:
        rows = drawn_rows(groups, chosen)
        one, other = ours[rows], theirs[rows]
        return pearson(one, other), float(np.abs(one - other).mean())

    correlation, difference = bootstrapped(told, len(groups), [len(tasks)] * 2)
    return PassRates(pearson=correlation, difference=difference)


def _retest(ratings: Sequence[Rating], judge: str, threshold: float) -> Agreement | None:
    own = [r for r in ratings if r.is_judge and r.rater == judge]
    first = {_leaf(r): r.score for r in own if r.occasion == 1}
    second = {_leaf(r): r.score for r in own if r.occasion == 2}
    return _of_leaves(first, second, threshold)


def _between(
    ratings: Sequence[Rating], judge: str, other: str, threshold: float
) -> BetweenJudges | None:
    first, second = (
        {_leaf(r): r.score for r in ratings if r.is_judge and r.rater == name and r.occasion == 1}
        for name in (judge, other)
    )
    leaf = _of_leaves(first, second, threshold)
    if leaf is None:
        return None
    common = first.keys() & second.keys()
    agents = sorted({key[1] for key in common if key[1]})
    means = [
        [float(np.mean([own[key] for key in common if key[1] == agent])) for agent in agents]
        for own in (first, second)
    ]
    spearman, kendall = _ranks_alike(means[0], means[1])
    return BetweenJudges(
        other=other, agents=len(agents), spearman=spearman, kendall=kendall, leaf=leaf
    )


def _ranks_alike(first: Sequence[float], second: Sequence[float]) -> tuple[float | None, ...]:
    """Return Spearman's rho and Kendall's tau-b; None where there are no ranks to compare."""
    if len(first) < 3 or len(set(first)) == 1 or len(set(second)) == 1:
        return None, None
    from scipy.stats import kendalltau, spearmanr

    return (
        float(spearmanr(first, second).statistic),
        float(kendalltau(first, second).statistic),
    )


_Leaf = tuple[str, str, int, str]


def _leaf(rating: Rating) -> _Leaf:
    return rating.task, rating.agent, rating.repetition, rating.leaf


def _of_leaves(
    first: dict[_Leaf, float], second: dict[_Leaf, float], threshold: float
) -> Agreement | None:
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    one: Scores = np.array([first[key] for key in common])
    other: Scores = np.array([second[key] for key in common])
    return _agreement(
        [key[0] for key in common], lambda rows: measures(one[rows], other[rows], threshold)
    )


def _agreement(tasks: Sequence[str], compare: Compare, count: int | None = None) -> Agreement:
    """Return the measures over rows that belong to these tasks."""
    groups = rows_by_task(tasks)
    counts = [len(tasks) if count is None else count] * len(Measures._fields)
    found = bootstrapped(lambda chosen: compare(drawn_rows(groups, chosen)), len(groups), counts)
    return Agreement(**dict(zip(Measures._fields, found, strict=True)))
