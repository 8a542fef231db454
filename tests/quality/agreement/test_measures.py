"""The formulas give what their sources print."""

import math

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from quality.agreement.measures import between, icc, kappa, measures

SHROUT_AND_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]],
    dtype=float,
)
"""Six things, four raters: table 2 of Shrout and Fleiss (1979)."""


def test_icc_is_that_of_the_paper():
    assert icc(SHROUT_AND_FLEISS) == pytest.approx(0.29, abs=0.005)


def test_icc_sees_what_correlation_does_not():
    scores = np.array([1.0, 4, 6, 9])
    found = measures(scores, scores + 1, threshold=7)
    assert found.pearson == pytest.approx(1)
    assert found.icc < 0.98
    assert found.mae == 1
    assert found.within_one == 1


def test_kappa_is_that_of_statsmodels():
    rng = np.random.default_rng(3)
    first = rng.random(200) < 0.3
    second = np.where(rng.random(200) < 0.8, first, ~first)
    table = [[(first == a)[second == b].sum() for b in (True, False)] for a in (True, False)]
    assert kappa(first, second) == pytest.approx(cohens_kappa(table).kappa)
    assert math.isnan(kappa(np.ones(5, dtype=bool), np.ones(5, dtype=bool)))


def test_several_raters_are_compared_at_once_where_all_scored_most_things():
    assert between(SHROUT_AND_FLEISS, 7).icc == pytest.approx(icc(SHROUT_AND_FLEISS))
    holes = SHROUT_AND_FLEISS.copy()
    holes[:4, 0] = np.nan
    pairs = [icc(SHROUT_AND_FLEISS[:, [i, j]]) for i, j in ((1, 2), (1, 3), (2, 3))]
    alone = [icc(SHROUT_AND_FLEISS[4:, [0, j]]) for j in (1, 2, 3)]
    expected = (6 * sum(pairs) + 2 * sum(alone)) / (6 * 3 + 2 * 3)
    assert between(holes, 7).icc == pytest.approx(expected)
