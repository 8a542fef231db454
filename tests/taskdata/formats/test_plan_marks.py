"""Marks of plans as CSV come from anybody: what is off the scale is said by its line."""

import pytest

from taskdata.errors import BadTaskData
from taskdata.formats.plan_marks import read_plan_marks, write_plan_marks
from taskdata.schema.plan_agreement import GivenMarks, judge_of

HEADER = "task,annotator,grade,errors"


@pytest.fixture
def read(tmp_path):
    def from_text(text, plans=None):
        path = tmp_path / "marks.csv"
        path.write_text(text, encoding="utf-8")
        return read_plan_marks(path, plans)

    return from_text


def test_people_and_judges_are_read(read):
    ada, judge = read(
        f"{HEADER},agent,repetition,source,same_as_reference,by_code,note\n"
        't,ada,0.4,"e4, E2 E4",x,1,,,,late\n'
        "t,judge:openai/m@1,1.0,,x,1,s,yes,no,\n"
    )
    assert (ada.rater, ada.is_judge, ada.trial, ada.note) == ("ada", False, ("t", "x", 1), "late")
    assert ada.marks == GivenMarks(grade=0.4, errors=("E2", "E4"))
    assert (judge.rater, judge.is_judge, judge.source) == ("openai/m@1", True, "s")
    assert (judge.marks.correct, judge.same_as_reference, judge.by_code) == (True, True, False)


def test_what_is_written_is_read_back(read, tmp_path):
    given = read(
        f"{HEADER},agent,source,same_as_reference,by_code,note\n"
        "t,ada,0.8,E5,x,s,no,no,'=1+1\n"
        "u,judge:m@1,0,E1 E6,x,s,yes,yes,\n"
    )
    out = tmp_path / "out.csv"
    write_plan_marks(given, out)
    assert read_plan_marks(out) == given
    assert "'=1+1" in out.read_text()


def test_bad_rows_are_named_with_line_and_way_out(read):
    with pytest.raises(BadTaskData) as caught:
        read(
            f"{HEADER},same_as_reference\n"
            "t,ada,0.5,E4,\n"
            "t,bob,good,,\n"
            "t,cid,0.4,E7,\n"
            "t,dan,0.6,,\n"
            "t,eve,1,E1,\n"
            ",fay,1,,\n"
            "t,gus,1,,maybe\n"
            "t,hal,1\n"
            "t,ivy,1,,\n"
            "t,ivy,1,,\n"
            "t,joe,nan,,\n"
            "t,kim,-0.2,E1,\n"
        )
    told = str(caught.value)
    for part in (
        "line 2: grade: 0.5 is not on the scale; write one of 0, 0.2, 0.4, 0.6, 0.8, 1",
        "line 3: grade: 'good' is no number",
        "line 4: errors: there is no 'E7'; there are E1, E2, E3, E4, E5, E6, and nothing stands",
        "line 5: grade 0.6 without an error: name what is wrong (E1 to E6), or grade 1",
        "line 6: grade 1 with E1: a plan with an error has at most 0.8",
        "line 7: task: is empty",
        "line 8: same_as_reference: 'maybe' is neither `yes` nor `no`",
        "line 9: 3 cells, and the header has 5",
        "line 11: ivy marked this plan in line 10, too; keep one",
        "line 12: grade: nan is not on the scale",
        "line 13: grade: -0.2 is not on the scale",
    ):
        assert part in told


def test_plans_that_there_are_not_are_named(read):
    plans = {("lamp", "x", 0), ("desk", "x", 0), ("desk", "x", 1)}
    assert [one.agent for one in read(f"{HEADER}\nlamp,ada,1,\n", plans)] == ["x"]
    with pytest.raises(BadTaskData) as caught:
        read(
            f"{HEADER},agent,repetition\n"
            "lamb,ada,1,,x,0\n"
            "sofa,ada,1,,x,0\n"
            "lamp,ada,1,,y,0\n"
            "lamp,ada,1,,x,1\n",
            plans,
        )
    told = str(caught.value)
    for part in (
        "line 2: task: 'lamb' has no plan in the run; did you mean 'lamp'?",
        "line 3: task: 'sofa' has no plan in the run; there are: desk, lamp",
        "line 4: agent: 'y' has no plan in the run; there are: x",
        "line 5: the run has no plan of x for lamp, repetition 1; repetitions count from 0",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("rater", "judge", "blind"),
    [
        ("m@1", "m@1", False),
        ("m[blind]@1", "m@1", True),
        ("m[gta2-published, blind]@1", "m[gta2-published]@1", True),
        ("majority(a[blind], b[blind])@1", "majority(a, b)@1", True),
    ],
)
def test_a_blind_judge_is_the_same_judge_in_another_mode(rater, judge, blind):
    assert judge_of(rater) == (judge, blind)
