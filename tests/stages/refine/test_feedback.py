from collections.abc import Callable

import pytest

from stages.diagnose.signals import LeafSignal, Signals
from stages.refine.feedback import LEAVES_NAMED, feedback
from stages.refine.policy import Policy
from taskdata.schema.checkpoint import Check, Checkpoint, ToolResultCheck
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
