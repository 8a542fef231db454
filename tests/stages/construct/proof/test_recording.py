"""What a reference chain really does, step by step."""

import asyncio

import pytest

from environments.sandbox.providers import sandbox_provider
from stages.construct.proof.recording import MAX_RESULT_CHARS, record_chain
from taskdata.errors import BadTaskData
from taskdata.schema.task import ReferenceSolution, ReferenceStep


@pytest.fixture
def record(sums, tmp_path):
    def run(*steps: tuple[str, dict], tools=("Calculator", "python_execute", "ReadCSV")):
        chain = tuple(ReferenceStep(tool=tool, arguments=given) for tool, given in steps)
        reference = ReferenceSolution(steps=chain, final_answer="42")
        task = sums(tools=tools, reference=reference)
        files = {"crops.csv": b"crop,kg\nleek,40\nkale,2\n"}
        provider = sandbox_provider("bubblewrap")
        return asyncio.run(record_chain(task, files, provider, tmp_path / "work"))

    return run


def test_every_step_carries_what_its_tool_answered(record):
    recording = record(
        ("ReadCSV", {"path": "input/crops.csv"}), ("Calculator", {"expression": "40 + 2"})
    )
    assert recording.faults == ()
    table, total = (step.result for step in recording.solution.steps)
    assert "leek" in table
    assert total == "42"


def test_steps_share_one_workspace(record):
    recording = record(
        ("python_execute", {"code": "open('output/x.csv', 'w').write('a\\n7\\n')"}),
        ("ReadCSV", {"path": "output/x.csv"}),
    )
    assert recording.faults == ()
    assert "7" in recording.solution.steps[1].result


def test_a_fault_names_step_and_tool(record):
    recording = record(
        ("Calculator", {"expression": "40 + 2"}),
        ("ReadCSV", {"path": "input/missing.csv"}),
        ("Solver", {"equations": ["x = 1"]}),
        ("python_execute", {"code": "x = 1"}),
    )
    second, third, fourth = recording.faults
    assert second.startswith("step 2, ReadCSV: refused:")
    assert "missing.csv" in second
    assert third.startswith("step 3, Solver: unknown_tool:")
    assert fourth == "step 4, python_execute: an empty result"


def test_a_long_result_is_cut(record):
    recording = record(("python_execute", {"code": "print('x' * 50_000)"}))
    result = recording.solution.steps[0].result
    assert len(result) == MAX_RESULT_CHARS
    assert result.endswith("of 50000 characters]")


def test_there_must_be_a_chain(sums, tmp_path):
    provider = sandbox_provider("bubblewrap")
    with pytest.raises(BadTaskData, match="no reference solution"):
        asyncio.run(record_chain(sums(expression=None), {}, provider, tmp_path))
