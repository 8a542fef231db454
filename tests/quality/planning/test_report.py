"""The planning tables of a run, from its trials."""

import pytest

from quality.planning.report import planning_summary
from taskdata.schema.planning import Setting


@pytest.fixture
def tasks(new_case_task, case):
    return [new_case_task(f"c{n}", case(source=f"s{n}")) for n in range(6)]


def by_hash(tasks):
    return {task.content_hash: task for task in tasks}


def test_agents_are_compared_on_common_cases_with_corrected_p_values(tasks, mark, new_plan_result):
    results = [
        *(new_plan_result(task, mark(1.0), agent="good") for task in tasks),
        *(new_plan_result(task, mark(0.2, ["E1"]), agent="bad") for task in tasks[:-1]),
        new_plan_result(tasks[-1], None, agent="bad"),
        *(new_plan_result(task, mark(1.0), agent="reference") for task in tasks),
    ]
    found = planning_summary(results, by_hash(tasks), frozenset({"reference"}))
    assert [one.agent for one in found.agents] == ["good", "bad", "reference"]
    assert found.agents[1].settings["holistic"].infrastructure == 1
    (compared,) = found.comparisons
    assert (compared.first, compared.second, compared.cases) == ("good", "bad", 5)
    assert compared.difference.mean == -1.0
    assert compared.p_value == compared.p_holm == pytest.approx(2 / 2**5)


def test_refined_answers_are_no_part_of_the_first_attempts_table(tasks, mark, new_plan_result):
    results = [
        *(new_plan_result(task, mark(0.4)) for task in tasks),
        *(new_plan_result(task, mark(1.0), round_=1) for task in tasks[:3]),
    ]
    found = planning_summary(results, by_hash(tasks), arms=("self",))
    assert found.agents[0].settings["holistic"].correct.mean == 0.0
    (refined,) = found.refined
    assert (refined.answers, refined.retried, refined.base.mean) == (6, 3, 0.0)
    assert refined.refined.mean == pytest.approx(0.5)


def test_settings_stand_in_the_papers_order(new_case_task, case, mark, new_plan_result):
    kinds = [Setting.EFFICIENCY, Setting.UNSOLVABLE, Setting.STEP_WISE, Setting.HOLISTIC]
    tasks = [new_case_task(kind.value.replace("_", "-"), case(kind)) for kind in kinds]
    found = planning_summary([new_plan_result(t, mark()) for t in tasks], by_hash(tasks))
    assert list(found.agents[0].settings) == ["holistic", "step_wise", "unsolvable", "efficiency"]
    assert found.agents[0].costs is not None


def test_runs_without_planning_cases_have_no_planning_tables(make_result, make_task):
    task = make_task()
    assert planning_summary([make_result(task=task)], by_hash([task])).agents == ()
