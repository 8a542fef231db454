"""Predicted steps on the page of a trial, beside those of the reference."""

import pytest
from bs4 import BeautifulSoup

from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.predictions import compared
from quality.atomic.step_by_step import score_steps
from taskdata.schema.scores import NodeScore, TrialScore
from taskdata.schema.task import ObjectiveAnswer, ReferenceSolution, ReferenceStep, SubjectiveAnswer
from taskdata.schema.transcript import Ending, Prediction, ToolCall, Transcript

STEP = ReferenceStep(tool="Calculator", arguments={"expression": "3 + 4"})
REFERENCE = ReferenceSolution(steps=(STEP, STEP), final_answer="Seven.")
SEVEN = ObjectiveAnswer(whitelist=(("seven",),))
RIGHT = Prediction(call=ToolCall(id="1", tool=STEP.tool, arguments=STEP.arguments))
WRONG = Prediction(
    call=ToolCall(id="2", tool="Teleport", arguments={"to": "Mars"}), error="there is no tool"
)
SAID = Prediction(answer="It is seven.")


def rows(*predictions: Prediction, answer=SEVEN, reference=REFERENCE, cap=CAPS[0]):
    score = score_steps(predictions, reference, answer)
    return compared(reference, predictions, score, cap)


def test_each_step_stands_beside_the_references_with_its_marks():
    first, second, last = rows(RIGHT, WRONG, SAID)
    assert (
        first["expected"] == first["predicted"] == ("Calculator", '{\n  "expression": "3 + 4"\n}')
    )
    assert [holds for _, holds in first["marks"]] == [True, True, True]
    assert (second["predicted"][0], second["error"]) == ("Teleport", "there is no tool")
    assert [holds for _, holds in second["marks"]] == [False, False, False]
    assert (last["place"], last["expected"]) == ("Answer", ("answer", "Seven."))
    assert last["predicted"] == ("answer", "It is seven.")
    assert [holds for _, holds in last["marks"]] == [True, True]


def test_an_answer_where_a_call_was_due_is_shown_in_its_place():
    first, *_ = rows(SAID, RIGHT, SAID)
    assert first["predicted"] == ("answer", "It is seven.")


def test_a_subjective_answer_is_not_scored():
    subjective = SubjectiveAnswer(references=("a", "b", "c"))
    assert rows(RIGHT, RIGHT, SAID, answer=subjective)[-1]["marks"][-1] == [
        "answer (SummAcc)",
        None,
    ]
    assert len(rows(RIGHT, RIGHT, SAID, answer=None)[-1]["marks"]) == 1


def test_what_was_never_predicted_says_so():
    _, second, last = rows(RIGHT)
    assert second["predicted"] == last["predicted"]
    assert "not predicted" in second["predicted"][0]


def test_of_a_long_reference_the_first_steps_are_shown():
    reference = ReferenceSolution(steps=(STEP,) * 50, final_answer="7")
    found = rows(RIGHT, reference=reference, cap=CAPS[-1])
    assert [row.get("place") for row in found[-3:]] == ["40", None, "Answer"]
    assert found[-2] == {"more": "10 steps not shown"}


@pytest.mark.parametrize("is_marked", [True, False])
def test_the_page_of_the_trial_has_them_once_it_is_scored(
    store, new_run, new_task, plan, finish, dashboard, details_of, is_marked
):
    predictions = (RIGHT, WRONG, SAID)
    task = new_task("sum", reference=REFERENCE, answer=SEVEN)
    trial = plan(run := new_run(task), task)
    transcript = Transcript(
        events=(), final_answer="", ending=Ending.FINISHED, predictions=predictions
    )
    finish(
        trial, transcript_sha256=store.artifacts.put_bytes(transcript.model_dump_json().encode())
    )
    marks = score_steps(predictions, REFERENCE, SEVEN) if is_marked else None
    root = NodeScore(id="root", requirement="x", weight=1, score=None, coverage=0, steps=marks)
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())

    found = details_of(dashboard(run), trial.id)["steps"]

    assert [row["place"] for row in found] == (["1", "2", "Answer"] if is_marked else [])


def test_agents_that_predicted_have_a_table_of_their_own_on_the_page(
    store, new_run, new_task, plan, finish, dashboard
):
    task = new_task("sum", reference=REFERENCE, answer=SEVEN)
    trial = plan(run := new_run(task), task)
    assert 'id="steps"' not in dashboard(run)
    finish(trial)
    marks = score_steps((RIGHT, WRONG, SAID), REFERENCE, SEVEN)
    root = NodeScore(id="root", requirement="x", weight=1, score=None, coverage=0, steps=marks)
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())

    (row,) = BeautifulSoup(dashboard(run), "html.parser").select("#steps tbody tr")

    cells = [cell.get_text(strip=True).replace("\N{NO-BREAK SPACE}", " ") for cell in row("td")]
    assert cells == ["67 %", "50 %", "50 %", "100 %", "1 of 1", "1 of 2", "1"]
