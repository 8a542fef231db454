"""Trials that share a cause are one line."""

import pytest

from flows.failures import compared_by_meaning
from quality.clusters.grouping import NEAR, error_causes, failure_clusters

DOWN = "no reply in 30 s"


@pytest.fixture
def results(make_task, make_result, failed, with_reasons):
    """Trials of two agents on four tasks: two share a cause, one is lost, one is of a control."""
    tasks = [make_task(f"t{i}") for i in range(4)]

    def wrong(agent, task, stage):
        leaves = {"totals": 0.0, "sheets": 10.0, "answer": 10.0, "tone": None}
        result = make_result(agent, task=task, leaves=leaves, tool_calls=3, turns=3)
        return failed(with_reasons(result, {"totals": "was not delivered"}), stage)

    rows = [
        wrong("solver", tasks[0], "handoff"),
        wrong("other", tasks[1], "plan"),
        wrong("nop", tasks[2], "handoff"),
        make_result("solver", task=tasks[3], error=DOWN),
        make_result("solver", task=tasks[3], repetition=1, error="no reply in 40 s"),
    ]
    return rows, {task.content_hash: task for task in tasks}


def test_equal_causes_are_one_cluster_with_its_size_agents_tasks_and_trials(results):
    rows, tasks = results
    lost, gone = failure_clusters(rows, tasks, without=("nop",))
    assert (lost.title, lost.trials) == ("Lost outside the agent: no reply in <n> s", 2)
    assert (gone.title, gone.trials) == ("No file was delivered", 2)
    assert (gone.agents, gone.tasks) == (("other", "solver"), ("t0", "t1"))
    assert gone.by_stage == {"handoff": 1, "plan": 1}
    assert gone.trial_ids == tuple(sorted(row.trial.id for row in rows[:2]))
    assert gone.example in gone.trial_ids
    assert error_causes(rows) == {"no reply in <n> s": 2}


def test_a_cause_has_the_same_key_in_every_run(results):
    rows, tasks = results
    again = [
        r.model_copy(update={"trial": r.trial.model_copy(update={"run_id": "r2"})}) for r in rows
    ]
    first, second = (failure_clusters(some, tasks) for some in (rows, again))
    assert [c.key for c in first] == [c.key for c in second]
    assert len({c.short_key for c in first}) == len(first)


def test_texts_of_one_meaning_are_one_cluster_only_where_the_evidence_is_equal(
    results, make_task, make_result
):
    rows, tasks = results
    task = make_task("t9")
    more = [
        make_result("solver", task=task, error="the endpoint gave no answer in time"),
        make_result("solver", task=task, repetition=1, error="disk full"),
    ]
    every, known = [*rows, *more], tasks | {task.content_hash: task}
    means = {"no reply in <n> s": 1, "the endpoint gave no answer in time": 1, "disk full": 2}

    def alike(one, other):
        return NEAR if means[one] == means[other] else NEAR - 0.01

    apart = failure_clusters(every, known, without=("nop",))
    together = failure_clusters(every, known, without=("nop",), alike=lambda: alike)
    assert [c.trials for c in apart] == [2, 2, 1, 1]
    assert [(c.trials, c.title) for c in together] == [
        (3, "Lost outside the agent: no reply in <n> s"),
        (2, "No file was delivered"),
        (1, "Lost outside the agent: disk full"),
    ]
    assert together[0].keys == {
        "lost|no reply in <n> s",
        "lost|the endpoint gave no answer in time",
    }


def test_no_encoder_is_asked_for_where_no_texts_differ(results):
    def never():
        raise AssertionError("asked for")

    rows, tasks = results
    assert failure_clusters(rows, tasks, alike=never)


def test_the_threshold_parts_what_the_light_encoder_takes_for_one_meaning_and_for_two():
    alike = compared_by_meaning()
    if alike is None:
        pytest.skip("the extra `similarity` is not installed")
    slow = "no reply in <n> s"
    assert alike(slow, "no answer within <n> s") >= NEAR
    assert alike("expected <n> rows, found <n>", "<n> rows expected but got <n>") >= NEAR
    assert alike(slow, "connection refused by <address>") < NEAR
    assert alike("docker could not start", "bubblewrap could not start") < NEAR
    assert alike("[FAIL] total is <n>, expected <n>", "[FAIL] no header row") < NEAR
