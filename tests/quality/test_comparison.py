"""Two sides that are alike are called different as seldom as stated."""

import numpy as np
import pytest
from scipy import stats

from quality.comparison import Side, compare, side_of
from quality.statistics.significance import detectable_difference, holm, mcnemar
from taskdata.schema.agent import AgentSpec
from taskdata.schema.comparison import ComparedSide
from taskdata.schema.estimate import Estimate
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.schema.scores import Unscored
from tests.quality.conftest import NOON

A, B = "react:openai/one", "react:openai/two"


def side(scores, successes=None, agent=A, run_id="r1", hashes=None, **facts):
    by_task = {
        f"t{i}": [s] if isinstance(s, int | float) else list(s) for i, s in enumerate(scores)
    }
    won = {
        f"t{i}": [w] if isinstance(w, bool) else list(w) for i, w in enumerate(successes or ())
    } or {task: [s > 7 for s in own] for task, own in by_task.items()}
    nothing = Estimate(mean=None, ci95=None, n=len(scores))
    return Side(
        facts=ComparedSide(
            run_id=run_id,
            agent=agent,
            trials=len(scores),
            root_score=nothing,
            root_sr=nothing,
            error_rate=0.0,
            coverage=1.0,
            **facts,
        ),
        hashes=hashes or dict.fromkeys(by_task, "a" * 64),
        scores=by_task,
        upper=by_task,
        successes=won,
    )


def test_mcnemar_looks_at_discordant_pairs_alone():
    assert mcnemar(8, 1) == pytest.approx(stats.binomtest(1, 9).pvalue)
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(0, 0) is None


def test_holm_corrects_what_is_known():
    # The smallest times 3, the next times 2, the largest as it is, and never falling.
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
    assert holm([None]) == [None]


def test_detectable_difference_is_found_in_80_of_100_comparisons():
    rng = np.random.default_rng(5)
    size = detectable_difference([-1.0, 1.0] * 8, alpha=0.05)
    deviation = np.std([-1.0, 1.0] * 8, ddof=1)
    draws = rng.normal(size, deviation, (4000, 16))
    found = stats.ttest_1samp(draws, 0, axis=1).pvalue <= 0.05
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)
    assert detectable_difference([2.0, 2.0, 2.0], alpha=0.05) is None
    assert detectable_difference([1.0, 2.0], alpha=0.05) is None


def test_two_runs_of_one_agent_are_called_different_no_more_often_than_stated():
    """Three pairs of runs of one agent, corrected together."""
    rng = np.random.default_rng(20261101)
    simulations, tasks, alarms, shifted = 600, 10, 0, 0
    for _ in range(simulations):
        level = rng.uniform(2, 9, tasks)
        sides = [side(np.clip(level + rng.normal(0, 1, tasks), 0, 10).tolist()) for _ in range(4)]
        pairs = [(sides[0], sides[1]), (sides[1], sides[2]), (sides[2], sides[3])]
        alarms += any(pair.is_different for pair in compare(pairs))
        worse = side(np.clip(level - 3 + rng.normal(0, 1, tasks), 0, 10).tolist())
        shifted += compare([(sides[0], worse)])[0].is_different
    # A rate of 0.05 gives more alarms than this once in a thousand such simulations.
    assert alarms <= stats.binom.ppf(0.999, simulations, 0.05)
    assert shifted > 0.9 * simulations


def test_flips_count_tasks_that_are_mostly_won_by_one_side():
    first = side([9, 9, 1, 1, 1], [True, True, False, (True, False), (False, False, True)])
    second = side([1, 9, 9, 9, 9], [False, True, True, True, True])
    (pair,) = compare([(first, second)])
    assert (pair.flips.tasks, pair.flips.gained, pair.flips.lost) == (4, 2, 1)
    assert pair.flips.rate.mean == 0.75
    assert pair.flips.p_value == 1.0


def test_tasks_with_other_content_and_of_one_side_alone_are_left_out_and_counted():
    first = side([5, 6, 7], hashes={"t0": "a" * 64, "t1": "b" * 64, "t2": "c" * 64})
    second = side([9, 8], hashes={"t0": "a" * 64, "t1": "d" * 64})
    (pair,) = compare([(first, second)])
    assert pair.root_score.tasks == 1
    assert pair.root_score.difference.mean == 4
    assert (pair.changed, pair.only_first, pair.only_second) == (1, 1, 0)


def test_other_judges_and_scorers_are_said():
    (pair,) = compare([(side([5], judge="a/x"), side([5], scorer_version="2"))])
    assert "judge differs: a/x scored the first, none the second" in pair.notes[0]
    assert "scorer version differs" in pair.notes[1]


def run_of(*agents):
    return Run(
        id="r1",
        status=RunStatus.COMPLETED,
        config=RunConfig(agents=tuple(AgentSpec.parse(a) for a in agents)),
        release_hash="e" * 64,
        code_version="test",
        created_at=NOON,
    )


def test_a_side_has_its_error_rate_coverage_and_interval(make_result, make_task):
    tasks = [make_task(f"task-{n}") for n in range(3)]
    leaves = {"totals": 10.0, "sheets": 4.0, "answer": 10.0, "tone": None}
    results = [
        make_result(agent=A, task=tasks[0], leaves=leaves),
        make_result(agent=A, task=tasks[1]),
        make_result(agent=A, task=tasks[2], error="no sandbox"),
        make_result(agent=B, task=tasks[0]),
    ]
    found = side_of(run_of(A, B), A, results)
    assert found.facts.trials == 3
    assert found.facts.error_rate == pytest.approx(1 / 3)
    assert found.facts.coverage == pytest.approx((0.75 + 1) / 2)
    assert found.facts.root_score.mean == pytest.approx((8 + 10) / 2)
    assert found.facts.root_score.ci95 is not None
    assert found.scores.keys() == {"task-0", "task-1"}


def test_missing_verdicts_leave_the_difference_open(make_result):
    leaves = {"totals": 10.0, "sheets": 10.0, "answer": 10.0, "tone": Unscored.NO_VERDICT}
    results = [make_result(agent=A, leaves=leaves), make_result(agent=B)]
    run = run_of(A, B)
    (pair,) = compare([(side_of(run, A, results), side_of(run, B, results))])
    assert pair.root_score.difference.mean == 2.5
    assert pair.root_score_range == (0.0, 2.5)
