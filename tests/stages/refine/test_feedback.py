from collections.abc import Callable

import pytest

from stages.diagnose.signals import LeafSignal, Signals
from stages.refine.feedback import LEAVES_NAMED, feedback
from stages.refine.policy import Policy
from taskdata.errors import NightshiftError
from taskdata.schema.checkpoint import Check, Checkpoint, ToolResultCheck
from taskdata.schema.diagnosis import (
    Diagnosis,
    Evidence,
    FailureLevels,
    FailureStage,
    FailureType,
    Label,
    Taxonomy,
)
from taskdata.schema.success import TrialVerdict
from taskdata.schema.task import DeliverableSpec, Task
from taskdata.schema.transcript import Ending

NewTask = Callable[..., Task]


def leaf(requirement: str, name: str = "a", **args: object) -> Checkpoint:
    check = Check(name="text_contains", deliverable="out.json", args=args)
    return Checkpoint(id=name, requirement=requirement, verifier=check)


def seen(*leaves: tuple[Checkpoint, float], **changes: object) -> Signals:
    fields: dict[str, object] = {
        "root_score": 3.25,
        "lower": 3.25,
        "upper": 3.25,
        "verdict": TrialVerdict.FAILED,
        "coverage": 1.0,
        "threshold": 7.0,
        "ending": Ending.FINISHED,
        "turns": 3,
        "calls": 2,
        "failed_calls": 0,
        "malformed_calls": 0,
        "failures_at_end": 0,
        "first_error": "",
        "last_error": "",
        "writing_calls": 1,
        "asked": ("out.json",),
        "missing": (),
        "misnamed": (),
        "unreadable": (),
        "rejected": (),
        "leaves": tuple(
            LeafSignal(
                checkpoint=checkpoint,
                score=score,
                holds=score > 7,
                share=1 / len(leaves),
                undelivered=False,
            )
            for checkpoint, score in leaves
        ),
        "broken_nodes": (),
    }
    return Signals(**(fields | changes))


def test_checkpoint_feedback_names_what_is_not_met_with_its_score_worst_first(task: Task):
    text = feedback(
        "checkpoint",
        task,
        seen(
            (leaf("The sum is right.", "a"), 4.0),
            (leaf("The file opens.", "b"), 10.0),
            (leaf("The product is right.", "c"), 0.0),
        ),
        None,
    )

    assert text.splitlines() == [
        "The result is not right yet: it scored 3.2 of 10.",
        "",
        "Not met so far, worst first:",
        "- (0 of 10) The product is right.",
        "- (4 of 10) The sum is right.",
    ]


def test_coarse_feedback_only_says_that_it_is_not_right(task: Task):
    text = feedback("coarse", task, seen((leaf("The sum is right."), 0.0)), None)

    assert text == "The result is not right yet."


def test_checkpoint_feedback_says_what_happened_to_the_deliverables(task: Task):
    text = feedback(
        "checkpoint",
        task,
        seen(
            (leaf("The sum is right."), 0.0),
            ending=Ending.OUT_OF_TURNS,
            missing=("out.json",),
            misnamed=("Out\n.json",),
            unreadable=("chart.png",),
            rejected=("link.txt: a symbolic link",),
        ),
        None,
    )

    for fact in (
        "The attempt ended out of turns.",
        "Missing: out.json.",
        "Not asked for, perhaps misnamed: Out .json.",
        "Could not be opened: chart.png.",
        "Not accepted: link.txt: a symbolic link.",
    ):
        assert fact in text.splitlines()


def test_an_attempt_that_tried_nothing_is_told_so(new_task: NewTask):
    signals = seen(
        (leaf("The sums are right."), 0.0),
        calls=0,
        writing_calls=0,
        left_nothing=True,
        missing=("out.json",),
    )

    text = feedback("checkpoint", new_task(), signals, None)

    assert "Nothing was tried: no tool was called, no file left and no answer given." in text


def test_feedback_is_capped(task: Task):
    many = [(leaf("long " * 500, f"l{i}"), 0.0) for i in range(19)]

    text = feedback("checkpoint", task, seen(*many), None)

    assert text.count("(0 of 10)") == LEAVES_NAMED
    assert text.endswith(f"- and {19 - LEAVES_NAMED} more")
    assert len(text) < 2000


@pytest.mark.parametrize(
    ("requirement", "args", "told"),
    [
        ("Net revenue is 48,211.37 in total.", {}, "Net revenue is […] in total."),
        ("The (2024-05-01) deadline is named.", {}, "The ([…]) deadline is named."),
        ("The chart is 1200 pixels wide.", {}, "The chart is 1200 pixels wide."),
        ("It has q3.csv in mind.", {}, "It has q3.csv in mind."),
        (
            "The memo names Nordhaven as the best site.",
            {"all": [["Nordhaven", "the Nordhaven site"]]},
            "The memo names […] as the best site.",
        ),
        ("They are worth -466.05 EUR.", {"all": [["466.05"]]}, "They are worth […] EUR."),
        ("Every Kind has a row.", {"columns": ["Kind"]}, "Every […] has a row."),
        ("A row has its place.", {"columns": ["place"]}, "A row has its place."),
        ("Every Region has a row.", {"expected": ["Region"]}, "Every Region has a row."),
        ("No row is lost.", {"all": [["No"]]}, "No row is lost."),
        ("The five that failed are listed.", {}, "The […] that failed are listed."),
        ("Each of the two parts has one title.", {}, "Each of the two parts has one title."),
    ],
)
def test_a_requirement_keeps_answers_to_itself_that_the_task_does_not_tell(
    new_task: NewTask, requirement: str, args: dict[str, object], told: str
):
    task = new_task(
        query="Make a chart of 1200 pixels and a table by region out of q3.csv.",
        deliverables=(DeliverableSpec(name="out.json", type="json", description="a table"),),
    )

    only = leaf(requirement, **args)
    task = task.model_copy(update={"checkpoints": only})
    assert Policy(task).requirement(only) == told


def test_what_a_tool_result_must_contain_is_an_answer_too(task: Task):
    verifier = ToolResultCheck(tools=("ReadPDF",), contains=("Clause Nine",))
    checkpoint = Checkpoint(id="a", requirement="It finds clause nine.", verifier=verifier)

    task = task.model_copy(update={"checkpoints": checkpoint})
    assert Policy(task).requirement(checkpoint) == "It finds […]."


def diagnosed(*labels: Label) -> Diagnosis:
    return Diagnosis(
        trial_id="t1",
        stage=FailureStage.REASON,
        type=FailureType.CONTENT_SYNTHESIS,
        levels=FailureLevels(leaf=True, composition=False, deliverable=False),
        evidence=("leaf a scored 0.0 of 10: The sum is 5.",),
        labels=labels,
        labeller="rules@3",
    )


def test_the_control_is_told_nothing(task: Task):
    assert feedback("none", task, seen((leaf("The sum is right."), 0.0)), None) == ""


def test_diagnosis_feedback_says_what_went_wrong_and_what_that_cost(task: Task):
    label = Label(
        taxonomy=Taxonomy.LONG_RUN,
        name="loop",
        confidence=1,
        evidence=(
            Evidence(says="read_file: called 3 times", turn=4),
            Evidence(says="read_file: called 3 times", turn=9),
        ),
    )
    signals = seen(
        (leaf("The sum is right.", "a"), 9.0),
        (leaf("The product is 4,812.", "b"), 0.0),
        missing=("chart.png",),
    )

    text = feedback("diagnosis", task, signals, diagnosed(label))

    assert text.splitlines() == [
        "The result is not right yet.",
        "The work was delivered, but most of what is wrong is its content.",
        "Most was lost on analysis, computation and what is written.",
        "Missing: chart.png.",
        "",
        "What went wrong on the way:",
        "- You did the same again and again, with the same result "
        "(turn 4 and turn 9: read_file: called 3 times).",
        "",
        "What that cost most:",
        "- The product is […].",
    ]


def test_an_execution_failure_says_how_it_broke_down(task: Task):
    broken = diagnosed().model_copy(update={"stage": FailureStage.EXECUTE})
    signals = seen((leaf("The sum is right."), 0.0), calls=5, failed_calls=4)

    text = feedback("diagnosis", task, signals, broken)

    assert text.splitlines()[1].endswith("you carried it out: 4 of 5 calls of tools failed.")


def test_diagnosis_feedback_needs_a_diagnosis(task: Task):
    with pytest.raises(NightshiftError, match="nightshift stage diagnose"):
        feedback("diagnosis", task, seen((leaf("The sum is right."), 0.0)), None)
