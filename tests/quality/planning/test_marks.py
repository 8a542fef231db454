"""What counts in the columns of a table, and which group an answer is in."""

import pytest

from quality.planning.marks import by_position, by_step_range, grouped, plan_marks
from taskdata.schema.planning import Setting


def test_an_unreadable_answer_counts_as_not_correct_and_has_no_error(case, mark, answer):
    found = plan_marks(
        [
            answer(case(source="s1"), mark(1.0)),
            answer(case(source="s2"), mark(0.0).model_copy(update={"unreadable": True})),
        ]
    )
    assert (found.correct.mean, found.grade.mean, found.unreadable) == (0.5, 0.5, 1)
    assert {share.mean for share in found.errors.values()} == {0.0}


def test_a_missing_verdict_counts_0_and_says_what_it_could_add(case, mark, answer):
    right = [answer(case(source=f"s{n}"), mark(1.0)) for n in range(3)]
    found = plan_marks([*right, answer(case(source="s9"), mark(None, undecided="no_verdict"))])
    assert found.correct.mean == 0.75
    assert found.correct_upper == 1.0


def test_what_nobody_was_asked_to_judge_and_what_infrastructure_prevented_is_left_out(
    case, mark, answer
):
    found = plan_marks(
        [
            answer(case(source="s1"), mark(0.6, ["E4"])),
            answer(case(source="s2"), mark(None, undecided="no_judge")),
            answer(case(source="s3"), None),
        ]
    )
    assert (found.answers, found.marked, found.no_judge, found.infrastructure) == (2, 1, 1, 1)
    assert found.grade.mean == pytest.approx(0.6)
    assert found.errors["E4"].mean == 1.0


def test_e2_is_told_apart_by_form(case, mark, answer):
    found = plan_marks(
        [
            answer(case(source="s1"), mark(0.4, ["E2"])),
            answer(case(Setting.STEP_WISE, source="s2"), mark(0.4, ["E2"], form="step_wise")),
        ]
    )
    assert found.errors["E2"].mean == 1.0
    assert found.errors["E2 premature_conclusion"].mean == 0.5
    assert found.errors["E2 task_incompleteness"].mean == 0.5


def test_cases_of_one_source_task_are_one_cluster(case, mark, answer):
    one_source = [answer(case(source="s"), mark(1.0), case_id=f"c{n}") for n in range(20)]
    assert plan_marks(one_source).correct.ci95 is None
    two = [*one_source, answer(case(source="t"), mark(0.2, ["E1"]))]
    own = [answer(case(source=f"s{n}"), mark(1.0)) for n in range(20)]
    wide, narrow = plan_marks(two).correct.ci95, plan_marks([*own, two[-1]]).correct.ci95
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


@pytest.mark.parametrize(
    ("steps", "group"), [(1, "1-5"), (5, "1-5"), (6, "6-10"), (20, "16-20"), (21, ">20")]
)
def test_holistic_cases_by_the_length_of_their_reference(steps, group, case, mark, answer):
    assert by_step_range(answer(case(steps=steps), mark())) == group


@pytest.mark.parametrize(
    ("position", "length", "group"),
    [(0, 9, "early"), (2, 9, "early"), (3, 9, "middle"), (6, 9, "late"), (8, 9, "late")],
)
def test_single_next_actions_by_their_third_of_the_trajectory(
    position, length, group, case, mark, answer
):
    one = case(Setting.STEP_WISE, horizon=1, position=position, length=length)
    assert by_position(answer(one, mark())) == group
    two = case(Setting.STEP_WISE, horizon=2, position=position, length=length)
    assert by_position(answer(two, mark())) is None


def test_groups_come_in_the_order_that_is_asked_for(case, mark, answer):
    answers = [answer(case(steps=n), mark()) for n in (22, 3, 7)]
    assert list(grouped(answers, by_step_range, ["1-5", "6-10"])) == ["1-5", "6-10", ">20"]
