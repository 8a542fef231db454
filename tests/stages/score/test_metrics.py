"""End-to-end metrics of our own trials, from their transcripts."""

from datetime import UTC, datetime

import pytest

from quality.encoders.choosing import find_minilm
from stages.score import work
from stages.score.metrics import end_to_end, similarity_for
from taskdata.schema.scores import NodeScore
from taskdata.schema.task import (
    ImageGenerationAnswer,
    ObjectiveAnswer,
    ReferenceSolution,
    ReferenceStep,
    SubjectiveAnswer,
)
from taskdata.schema.tool import ToolErrorKind, ToolSpec
from taskdata.schema.transcript import Ending, ToolCall, ToolEvent, Transcript

STEPS = (
    ReferenceStep(tool="OCR", arguments={"image": "a.png"}),
    ReferenceStep(tool="Calculator", arguments={"expression": "2 + 3"}),
    ReferenceStep(tool="finish", arguments={"answer": "5"}),
)
REFERENCE = ReferenceSolution(steps=STEPS, final_answer="5")
OBJECTIVE = ObjectiveAnswer(whitelist=(("5", "five"),))


def called(tool, error=None, **arguments):
    return ToolEvent(
        call=ToolCall(id="1", tool=tool, arguments=arguments),
        text="x",
        error=error,
        started_at=datetime(2026, 3, 1, tzinfo=UTC),
        seconds=0,
    )


def transcript(*events, answer="It is 5.", **fields):
    return Transcript(events=events, final_answer=answer, ending=Ending.FINISHED, **fields)


@pytest.fixture
def task(new_task):
    def make(answer=OBJECTIVE, **fields):
        given = {"tier": "atomic", "reference": REFERENCE, "answer": answer}
        return new_task("sum", **(given | fields))

    return make


def test_a_trace_is_compared_with_the_reference_and_ending_calls_are_no_tools(task):
    trace = transcript(
        called("Calculator", ToolErrorKind.BAD_ARGUMENTS, expression="2 +"),
        called("Calculator", expression="2 + 3"),
        called("finish", answer="It is 5."),
    )
    found = end_to_end(task(), trace, None)
    assert (found.tool_calls, found.tool_errors, found.score) == (2, 1, 1)
    logic, perception = found.tools["logic"], found.tools["perception"]
    assert (logic.reference, logic.found, logic.predicted, logic.matched) == (1, 1, 2, 1)
    assert (perception.reference, perception.found, perception.predicted) == (1, 0, 0)


def test_no_answer_and_a_wrong_one_are_0(task):
    assert end_to_end(task(), transcript(answer=""), None).score == 0
    assert end_to_end(task(), transcript(answer="15"), None).score == 0


def test_what_nobody_saw_or_nothing_compares_with_has_no_score(task):
    assert end_to_end(task(), None, None) is None
    assert end_to_end(task(), transcript(has_unseen_calls=True), None) is None
    assert end_to_end(task(reference=None), transcript(), None) is None
    assert end_to_end(task(tier="workflow"), transcript(), None) is None


def test_meanings_are_compared_where_an_encoder_is_here(task):
    subjective = task(SubjectiveAnswer(references=("A dog runs.", "A hound.", "It is a dog.")))
    if find_minilm() is None:
        assert end_to_end(subjective, transcript(), None).score is None
        return
    near = end_to_end(subjective, transcript(answer="A dog is running."), None)
    far = end_to_end(subjective, transcript(answer="Buy shares."), None)
    assert near.score > 0.8 > 0.4 > far.score
    assert near.encoder == "all-MiniLM-L6-v2-int8"


def test_tools_beyond_gtas_count_in_the_category_that_they_were_offered_with(task):
    spec = ToolSpec(name="sum_up", description="x", parameters={}, category="logic")
    trace = transcript(called("sum_up"), tools=(spec,))
    assert end_to_end(task(), trace, None).tools["logic"].predicted == 1
    assert end_to_end(task(), transcript(called("sum_up")), None).tools["logic"].predicted == 0


def test_an_encoder_is_loaded_for_tasks_alone_that_need_one(task):
    assert similarity_for(task(), "no such encoder") is None
    if find_minilm() is not None:
        found = similarity_for(task(ImageGenerationAnswer()), None)
        assert found.encoder == "all-MiniLM-L6-v2-int8"


def test_the_score_stage_stores_it_beside_the_score(store, new_run, task, finished):
    atomic = task()
    run = new_run(atomic)
    kept = transcript(called("Calculator", expression="2 + 3")).model_dump_json().encode()
    trial_id = finished(
        run, atomic, transcript_sha256=store.artifacts.put_bytes(kept), final_answer="It is 5."
    )
    assert work.do(store, run.id, 0).errors == 0
    root = store.score(trial_id).root
    assert (root.end_to_end.score, root.end_to_end.tool_calls) == (1, 1)
    assert NodeScore.model_validate_json(root.model_dump_json()) == root


def test_scores_stored_before_it_was_known_are_read_and_written_alike():
    plain = NodeScore(id="root", requirement="x", weight=1, score=5, coverage=1)
    assert "end_to_end" not in plain.model_dump(mode="json")
