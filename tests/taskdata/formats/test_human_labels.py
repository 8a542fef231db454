"""Failure labels as CSV come from anybody: a label that there is not is said by its line."""

import pytest

from taskdata.errors import BadTaskData
from taskdata.formats.human_labels import read_labels, write_labels
from taskdata.schema.label_agreement import GivenLabels, LabelRating

HEADER = "task,annotator,stage,type,level,tool_use,long_run,arguments,infrastructure"


@pytest.fixture
def read(tmp_path):
    def from_text(text):
        path = tmp_path / "labels.csv"
        path.write_text(text, encoding="utf-8")
        return read_labels(path)

    return from_text


def test_people_and_labellers_are_read(read):
    ada, rules, lost = read(
        f"{HEADER},agent,place\n"
        "t,ada,plan,reasoning,leaf deliverable,missing_parameter,loop loop,,,x,turn 3\n"
        "t,labeller:rules@3,undetermined,,,,,,,x,\n"
        "u,ada,,,,,,,provider,x,\n"
    )
    assert (ada.rater, ada.is_labeller, ada.agent, ada.place) == ("ada", False, "x", "turn 3")
    assert ada.labels == GivenLabels(
        stage="plan",
        type="reasoning",
        level=("leaf", "deliverable"),
        tool_use=("missing_parameter",),
        long_run=("loop",),
    )
    assert (rules.rater, rules.is_labeller) == ("rules@3", True)
    assert rules.labels.stage == "undetermined"
    assert (lost.labels.stage, lost.labels.infrastructure) == (None, "provider")


def test_labels_that_there_are_not_are_named_with_line_and_way_out(read):
    with pytest.raises(BadTaskData) as caught:
        read(
            f"{HEADER},place\n"
            "t,ada,planing,,,,,,,\n"
            "t,bob,plan,,,missing_param,,,,\n"
            "t,cid,,,leaf,,,,,\n"
            "t,dan,plan execute,,,,,,,\n"
            "t,eve,plan,,,,,,provider,\n"
            "t,fay,plan,,,,,,,page 3\n"
            ",gus,plan,,,,,,,\n"
            "t,hal,plan,,,,,\n"
            "t,ivy,plan,,,,,,,\n"
            "t,ivy,reason,,,,,,,\n"
        )
    told = str(caught.value)
    for part in (
        "line 2: stage has no label 'planing'; did you mean 'plan'? there are: not_attempted,",
        "line 3: tool_use has no label 'missing_param'; did you mean 'missing_parameter'?",
        "line 4: stage: is missing; it is one of not_attempted,",
        "line 5: stage: has at most one label, not 2",
        "line 6: stage: a trial that was lost outside its agent has only the label of infra",
        "line 7: place: 'page 3' is no place; write `turn 3`, `call ID`",
        "line 8: task: is empty",
        "line 9: 8 cells, and the header has 10",
        "line 11: ivy labelled this trial in line 10, too",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("task,annotator,stage\n", "line 1: the header lacks 'type', 'level'"),
        (f"{HEADER},mood\n", "does not know 'mood'; columns are task, annotator, stage"),
        (f"{HEADER}\n", "holds no labels"),
    ],
)
def test_what_is_no_such_file_is_said(read, text, says):
    with pytest.raises(BadTaskData, match=says):
        read(text)


def test_what_is_written_is_read_back_and_holds_no_formula(tmp_path):
    given = [
        LabelRating(
            task="t",
            rater=rater,
            is_labeller=rater == "rules@3",
            labels=GivenLabels(stage="plan", level=("leaf",), tool_use=("no_verification",)),
            agent="react:x/y",
            repetition=1,
            tier="atomic",
            place="call c-1",
            note="=HYPERLINK(1)",
        )
        for rater in ("@SUM(A1)", "rules@3")
    ]
    path = tmp_path / "out.csv"
    write_labels(given, path)
    assert not any(cell.startswith(("=", "@")) for cell in path.read_text().split(","))
    assert read_labels(path) == given
