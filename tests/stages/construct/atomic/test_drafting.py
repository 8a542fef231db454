"""A form becomes a draft, or says what is wrong with it."""

import pytest

from stages.construct.atomic.drafting import drafted
from stages.construct.atomic.ways import Way
from taskdata.errors import BadTaskData
from taskdata.schema.task import Capability, Category


def test_a_form_becomes_a_task_with_solution_and_tree(exemplar, form):
    draft = drafted(form(), exemplar(), Way.KEEP)
    assert draft.category is Category.DATA_ANALYSIS
    assert draft.capabilities == (Capability.PERCEPTION, Capability.LOGIC)
    assert [s.tool for s in draft.reference.steps] == ["ReadCSV", "Calculator"]
    assert draft.reference.steps[1].arguments == {"expression": "40 + 13"}
    assert draft.answer.whitelist == (("53", "fifty-three"),)
    assert draft.checkpoints.leaves()[0].verifier.args["none"] == ["55"]


def test_the_tools_on_offer_do_not_tell_the_solution(exemplar, form, filled_in):
    steps = [*filled_in()["steps"], {"tool": "Solver", "thought": "", "arguments": "{}"}]
    draft = drafted(
        form(tools=["ReadCSV", "Calculator", "Solver"], steps=steps), exemplar(), Way.ADD_ONE
    )
    expected = {"Calculator", "Solver", "ReadCSV", "python_execute", "read_file", "finish"}
    assert set(draft.tools) == expected
    assert draft.tools[0] != draft.reference.steps[0].tool


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"tools": ["ReadCSV"]}, "steps: .'Calculator'. are not among `tools`"),
        ({"tools": ["ReadCSV", "Calculator", "Solver"]}, "tools: .'Solver'. are in no step"),
        ({"tools": ["ReadCSV", "Telescope"]}, "'Telescope'. cannot be chosen"),
        ({"tools": ["ReadCSV", "XlsxFileGenerator"]}, "'XlsxFileGenerator'. cannot be chosen"),
        ({"files": ["other.csv"]}, "files: .'other.csv'. are not among .'crops.csv'."),
        ({"files": []}, "must be about some of the files"),
        ({"query": "How many  kilograms of LEEK and kale together did we harvest?"}, "itself"),
        ({"query": "Is it true that leek and beet weigh 53 kg?"}, "itself says all"),
        ({"states": [{"ways_to_say_it": ["\u200b"]}]}, "holds no text"),
        ({"states": [{"ways_to_say_it": ["54"]}]}, "final_answer: the answer does not name 54"),
        ({"wrong": ["fit"]}, "final_answer: the answer names fit"),
        ({"answer_kind": "subjective"}, "references: three"),
        ({"references": ["53", "53", "53"]}, "references: three"),
        (
            {"answer_kind": "subjective", "wrong": [], "references": ["53", "five", "53"]},
            "references 2: the answer does not name 53",
        ),
    ],
)
def test_a_form_that_breaks_a_rule_says_which(exemplar, form, changes, fault):
    with pytest.raises(BadTaskData, match=fault):
        drafted(form(**changes), exemplar(), Way.KEEP)


def test_a_form_must_vary_as_it_was_told(exemplar, form):
    with pytest.raises(BadTaskData, match="must do without 1 of"):
        drafted(form(), exemplar(), Way.REPLACE)


def test_arguments_are_read_as_data(exemplar, form, filled_in):
    first, second = filled_in()["steps"]
    broken = {**second, "arguments": "__import__('os')"}
    with pytest.raises(BadTaskData, match=r"step 2, Calculator: arguments: .*not JSON"):
        drafted(form(steps=[first, broken]), exemplar(), Way.KEEP)
