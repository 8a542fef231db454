"""The harnesses that need no model: one plays the task's own solution, one does nothing."""

import pytest

from taskdata.errors import BadTaskData
from taskdata.schema.task import ReferenceSolution, ReferenceStep
from taskdata.schema.transcript import Ending, Transcript
from tests.stages.execute.harnesses.voices import errors


def test_nop_does_nothing(play, task, wire):
    assert play("nop", task) == Transcript(events=(), final_answer="", ending=Ending.FINISHED)


def solution(*steps: ReferenceStep) -> ReferenceSolution:
    return ReferenceSolution(steps=steps, final_answer="5")


def test_reference_plays_its_steps_through_the_tools(play, new_task, wire):
    step = ReferenceStep(
        tool="write_file", arguments={"path": "output/out.json", "content": '{"sum": 5}'}
    )

    transcript = play("reference", new_task(reference=solution(step)))

    assert (transcript.ending, transcript.final_answer) == (Ending.FINISHED, "5")
    assert [event.files for event in transcript.tool_events] == [("output/out.json",)]
    assert (transcript.turns, transcript.cost_usd, wire.seen) == (1, 0, [])


def test_a_reference_may_read_on_in_a_long_result(play, new_task):
    steps = (
        ReferenceStep(tool="python_execute", arguments={"code": "print('x' * 150_000, 'end')"}),
        ReferenceStep(
            tool="handle_overlong_tool_outputs", arguments={"result": 1, "search": "end"}
        ),
    )
    transcript = play("reference", new_task(reference=solution(*steps)))
    assert errors(transcript) == [None, None]


def test_a_reference_step_that_fails_is_recorded_and_the_rest_is_played(play, new_task):
    steps = (
        ReferenceStep(tool="read_file", arguments={"path": "input/gone.csv"}),
        ReferenceStep(tool="list_files"),
    )
    transcript = play("reference", new_task(reference=solution(*steps)))
    assert [event.error is None for event in transcript.tool_events] == [False, True]
    assert "gone.csv" in transcript.tool_events[0].text


def test_a_task_without_a_reference_cannot_be_played(play, new_task):
    with pytest.raises(BadTaskData, match="'sum-two': has no reference"):
        play("reference", new_task())
