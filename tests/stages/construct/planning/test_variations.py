"""Which cases are dealt: the same for the same input, spread, and each with its base."""

from collections import Counter

from stages.construct.planning.variations import deal, spread, third_of
from taskdata.schema.construct import CaseCounts
from taskdata.schema.planning import Setting

LENGTHS = {f"task-{n}": 3 + n for n in range(9)}
DOMAINS = {task_id: "abc"[n % 3] for n, task_id in enumerate(LENGTHS)}


def dealt(can_write=lambda task_id, question: True, **counts: int):
    return deal(LENGTHS, DOMAINS, CaseCounts(**counts), can_write)


def test_domains_take_turns():
    order = spread(sorted(LENGTHS), DOMAINS)

    assert [DOMAINS[task_id] for task_id in order] == ["a", "b", "c"] * 3


def test_the_base_of_every_case_is_dealt_too_and_ids_are_unique():
    cases = dealt()

    assert all(case.base is None or case.base in cases for case in cases)
    assert len({case.case_id for case in cases}) == len(cases)
    assert cases == dealt()


def test_horizons_and_thirds_take_turns():
    cuts = [case for case in dealt(step_wise=18) if case.setting is Setting.STEP_WISE]

    cells = Counter((c.horizon, third_of(c.position, LENGTHS[c.task_id])) for c in cuts)
    assert cells == {(horizon, third): 2 for horizon in (1, 2, 3) for third in (0, 1, 2)}
    assert all(0 < c.position <= LENGTHS[c.task_id] - c.horizon for c in cuts)


def test_settings_without_words_are_left_out():
    settings = {case.setting for case in dealt(lambda task_id, question: question == "substitute")}

    assert settings == {Setting.HOLISTIC, Setting.STEP_WISE, Setting.BROKEN}


def test_a_trajectory_of_one_step_gives_no_case():
    assert deal({"one": 1}, {"one": "a"}, CaseCounts(), lambda task_id, question: True) == ()


def test_short_trajectories_leave_no_room_for_costs():
    efficient = [case for case in dealt() if case.setting is Setting.EFFICIENCY]

    assert min(LENGTHS[case.task_id] for case in efficient) == 5
