from collections.abc import Callable, Sequence

import pytest

from stages.diagnose.arguments import argument_labels
from stages.diagnose.record import Record
from taskdata.schema.task import Task, Tier
from taskdata.schema.transcript import Ending, Event
from tests.stages.diagnose.played import BAD, called, named, replied, told

Failed = Callable[..., Record]
RULES = "Write one action at a time and wait for its result.\nEnd with a line of your final result."
CUT = "This call was not run: your reply was cut at its length limit while you wrote it."
TWO_ACTIONS = "Observation: The reply has 2 actions; write one and wait for it."
AS_CODE = "Observation: The Action OCR(...) does not name its arguments."
NO_INPUT = "Observation: The Action 'OCR' has no Action Input; write {} if the tool needs none."
NEITHER = "Observation: The reply has no Action and no Final Answer. Write one step."
LAST = replied("Final Answer: 7")


@pytest.fixture
def atomic(trip_task: Task) -> Task:
    return trip_task.model_copy(update={"tier": Tier.ATOMIC, "deliverables": ()})


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([replied("I think it is in the picture."), told(NEITHER), LAST], "no_action"),
        ([replied("Could you please provide the picture?"), told(NEITHER), LAST], "asks_user"),
        ([replied(), called("OCR", raw='{"image": ', error=BAD), LAST], "malformed_json"),
        ([replied("Action: OCR"), told(NO_INPUT), LAST], "malformed_json"),
        ([replied("Action: OCR(a.png)"), told(AS_CODE), LAST], "malformed_json"),
        ([replied("I gave no Final Answer yet."), told(NEITHER), LAST], "no_action"),
        ([replied("My final answer is 7."), told(NEITHER), LAST], "wrong_final_format"),
        (
            [replied(), called("OCR", raw='{"image": "a.png"} I read it.', error=BAD), LAST],
            "redundant_text",
        ),
        ([replied("Action: OCR\nAction: Plot"), told(TWO_ACTIONS), LAST], "several_tools"),
        ([told(RULES), replied(RULES), told(NEITHER), LAST], "repeated_prompt"),
        ([replied("So the answer is 7.\nAnswer: 7"), told(NEITHER), LAST], "wrong_final_format"),
    ],
)
def test_a_reply_that_could_not_be_used_has_the_label_of_its_fault(
    failed: Failed, atomic: Task, events: Sequence[Event], name: str
):
    (label,) = argument_labels(failed(*events, task=atomic, answer="7"))
    assert label.name == name
    assert [one.turn for one in label.evidence] == [1]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("7", None),
        ("Please provide the picture, so that I can read it.", "asks_user"),
        ("Please ensure that the picture can be read.", "asks_user"),
        ("7\nAction: OCR\nAction Input: {}", "wrong_final_format"),
    ],
)
def test_of_the_last_reply_the_answer_counts(
    failed: Failed, atomic: Task, answer: str, name: str | None
):
    events = [replied(), called("OCR", {"image": "a.png"}), replied(f"Final Answer: {answer}")]
    found = named(argument_labels(failed(*events, task=atomic, answer=answer)))
    assert list(found) == ([name] if name else [])


@pytest.mark.parametrize(
    "events",
    [
        [replied(), called("OCR", raw='{"image": ', error=BAD, text=CUT), LAST],
        [replied("A long thought", stop_reason="length"), told("Cut."), LAST],
        [replied(" "), told("Your reply was empty."), LAST],
        [replied(), called("OCR", {"picture": 1}, error=BAD), LAST],
        [replied("Which of the two do you want?"), told("The second."), LAST],
    ],
)
def test_what_is_no_fault_of_form_has_no_label_here(
    failed: Failed, atomic: Task, events: Sequence[Event]
):
    assert argument_labels(failed(*events, task=atomic, answer="7")) == ()


def test_every_faulty_reply_is_evidence(failed: Failed, atomic: Task):
    events = [replied("a"), told(NEITHER), replied("b"), told(NEITHER), replied("c")]
    (label,) = argument_labels(failed(*events, task=atomic, answer="", ending=Ending.STUCK))
    assert (label.name, [one.turn for one in label.evidence]) == ("no_action", [1, 2, 3])


def test_they_are_labels_of_the_atomic_tier(failed: Failed):
    assert argument_labels(failed(replied("Hm."), told(NEITHER), LAST)) == ()
