"""Step-wise and holistic cases: what is cut from a trajectory, and what a plan may know."""

import pytest

from stages.construct.planning.cases.making import make
from stages.construct.planning.cases.rules import faults_of
from stages.construct.planning.variations import Variation
from taskdata.errors import BadTaskData
from taskdata.schema.planning import Form, Setting

WHOLE = Variation(task_id="harvest-letter", setting=Setting.HOLISTIC)


def cut(position: int, horizon: int) -> Variation:
    return Variation(
        task_id="harvest-letter",
        setting=Setting.STEP_WISE,
        form=Form.STEP_WISE,
        position=position,
        horizon=horizon,
    )


def test_a_holistic_case_has_the_trajectorys_tools_in_order_and_a_sentence_for_each(source):
    made = make(WHOLE, source)

    reference = made.planning.reference
    tools = [action.tool for action in reference.chain]
    assert tools == ["read_file", "ReadCSV", "Calculator", "DocxFileGenerator"]
    assert reference.plan == source.sentences
    assert (made.id, faults_of(made)) == (WHOLE.case_id, ())
    assert made.planning.origin.reviewer == "Ada"
    assert made.planning.origin.task_hash == source.task.content_hash
    assert made.provenance.source == "harvest-letter"


def test_a_plan_does_not_know_what_steps_find(source):
    chain = make(WHOLE, source).planning.reference.chain

    assert chain[2].arguments == {"expression": "(Add up the weights.)"}
    assert chain[3].arguments["blocks"] == "(Write the total into the letter.)"
    assert "42" not in str(chain)


def test_a_step_wise_case_has_the_steps_before_with_results_and_asks_for_those_after(source):
    made = make(cut(2, 2), source)

    case = made.planning
    assert [step.result for step in case.prefix] == ["The total, please.", "leek 40, kale 2"]
    assert case.reference.chain[0].arguments == {"expression": "40 + 2"}
    assert (case.horizon, case.steps, case.reference.ends) == (2, 2, True)
    assert (case.origin.position, case.origin.length) == (2, 4)
    assert faults_of(made) == ()


def test_actions_beyond_the_end_cannot_be_asked_for(source):
    with pytest.raises(BadTaskData, match="2 actions after step 3 do not fit"):
        make(cut(3, 2), source)


def test_rules_name_every_tool_that_can_do_what_is_required(source):
    rules = make(WHOLE, source).planning.reference.rules

    by_words = {rule.requirement: rule.tools for rule in rules}
    table = "It reads input/crops.csv before it relies on what the file says."
    assert by_words[table] == ("read_file", "ReadCSV", "python_execute")
    assert by_words["It makes letter.docx: The letter."] == ("DocxFileGenerator", "python_execute")
    assert by_words["In the end: The letter states the total."] == ()


def test_a_plan_needs_a_sentence_for_each_step(source):
    short = source.__class__(source.task, source.trajectory, ("Only one.",))

    with pytest.raises(BadTaskData, match="1 sentences for 4 steps"):
        make(WHOLE, short)


def test_without_words_the_calls_speak_for_themselves(source):
    plain = source.__class__(source.task, source.trajectory)

    plan = make(WHOLE, plain).planning.reference.plan
    assert plan[0] == "Call read_file on input/note.txt."
