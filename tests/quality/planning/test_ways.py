"""Direct, plan-first and plan-refine on the same tasks."""

import pytest

from quality.planning.ways import ways_of_planning
from taskdata.schema.agent import AgentSpec

WAYS = ("react:openai/m", "react+plan_first:openai/m", "react+plan_refine:openai/m")


def agents(*names):
    return [AgentSpec.parse(name) for name in names]


@pytest.fixture
def scored(make_task, make_result):
    def make(agent, *scores, **fields):
        return [
            make_result(agent, task := make_task(id=f"t{n}"), _leaves(task, score), **fields)
            for n, score in enumerate(scores)
        ]

    return make


def _leaves(task, score):
    return {leaf.id: score for leaf in task.checkpoints.leaves()}


def test_ways_are_compared_on_the_tasks_that_all_of_them_have_scores_on(scored):
    results = [
        *scored(WAYS[0], 2.0, 4.0, 6.0, 9.0),
        *scored(WAYS[1], 4.0, 6.0, 8.0),
        *scored(WAYS[2], 5.0, 7.0, 9.0),
    ]
    (found,) = ways_of_planning(agents(*WAYS), results)
    assert (found.harness, found.model, found.tasks) == ("react", "openai/m", 3)
    means = {way: one.mean for way, one in found.root_scores.items()}
    assert means == pytest.approx({"direct": 4.0, "plan_first": 6.0, "plan_refine": 7.0})
    assert found.over_direct["plan_refine"].mean == pytest.approx(3.0)
    assert found.p_values == {"plan_first": 0.5, "plan_refine": 0.5}


def test_refined_attempts_do_not_count(scored):
    results = [*scored(WAYS[0], 2.0), *scored(WAYS[1], 4.0), *scored(WAYS[1], 10.0, round_=1)]
    (found,) = ways_of_planning(agents(*WAYS[:2]), results)
    assert found.root_scores["plan_first"].mean == 4.0


def test_without_the_direct_way_there_is_no_difference(scored):
    results = [*scored(WAYS[1], 2.0, 3.0), *scored(WAYS[2], 4.0, 5.0)]
    (found,) = ways_of_planning(agents(*WAYS[1:]), results)
    assert (found.over_direct, found.p_values) == ({}, {})


def test_one_way_alone_and_other_models_are_no_comparison(scored):
    other = "react+plan_first:openai/other"
    results = [*scored(WAYS[0], 2.0), *scored(other, 4.0)]
    assert ways_of_planning(agents(WAYS[0], other, "nop"), results) == ()
