"""What a model may write under the schema of a step."""

import json

import jsonschema
import pytest

from environments.tool_runtime.catalogue import catalogue
from environments.toolkit.definition import reads_a_file
from stages.execute.harness import require_agent
from stages.execute.harnesses.step_schema import narrowed, step_schema
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import DeliverableSpec, DeliverableType, InputFile
from taskdata.schema.transcript import Ending

FILES = ("notes.txt", "sub/a.csv")
LOCAL = "react:local/smollm2-135m"


@pytest.fixture
def fits():
    specs = [catalogue()[name].spec for name in ("read_file", "ReadCSV", "write_file", "finish")]
    schema = step_schema(specs, FILES)

    def check(**step) -> bool:
        return jsonschema.Draft202012Validator(schema).is_valid({"thought": "so", **step})

    return check


@pytest.mark.parametrize(
    "step",
    [
        {"action": "read_file", "action_input": {"path": "input/notes.txt"}},
        {"action": "ReadCSV", "action_input": {"path": "input/sub/a.csv"}},
        {"action": "read_file", "action_input": {"path": "output/made.txt", "limit": 10}},
        {"action": "write_file", "action_input": {"path": "output/any.txt", "content": "5"}},
        {"action": "finish", "action_input": {"answer": "Five."}},
        {"final_answer": "Five."},
    ],
)
def test_steps_that_can_be_carried_out_fit(fits, step):
    assert fits(**step)


@pytest.mark.parametrize(
    "step",
    [
        {"action": "read_file", "action_input": {"path": "input/other.txt"}},
        {"action": "read_file", "action_input": {}},
        {"action": "read_file", "action_input": {"path": "input/notes.txt", "mode": "r"}},
        {"action": "readFile", "action_input": {"path": "input/notes.txt"}},
        {"action": "list_files", "action_input": {}},
        {"action": "finish"},
        {"final_answer": "Five.", "action": "finish", "action_input": {"answer": "Five."}},
        {},
    ],
)
def test_other_steps_do_not(fits, step):
    assert not fits(**step)


def test_tools_say_in_one_way_which_arguments_are_files_that_must_be_there():
    found = {
        (name, argument)
        for name, tool in catalogue().items()
        for argument, schema in tool.spec.parameters["properties"].items()
        if reads_a_file(schema)
    }
    named = {argument for _, argument in found}
    assert named == {"path", "image", "audio", "video"}
    assert {("ReadCSV", "path"), ("OCR", "image"), ("SpeechToText", "audio")} <= found
    assert not {("write_file", "path"), ("Plot", "path"), ("list_files", "path")} & found


def test_paths_are_bound_wherever_they_stand_in_the_arguments():
    blocks = narrowed(catalogue()["DocxFileGenerator"].spec.parameters, FILES)
    assert '"input/notes.txt"' in json.dumps(blocks)


def test_what_no_grammar_holds_is_left_out():
    foreign = {
        "type": "object",
        "properties": {
            "when": {"type": "string", "format": "date", "pattern": "[0-9]+", "default": "x"},
            "where": {"$ref": "#/$defs/place"},
            "any": True,
            "n": {"oneOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
        },
        "$defs": {"place": {"type": "string"}},
    }
    plain = narrowed(foreign, ())
    assert plain["properties"] == {
        "when": {"type": "string"},
        "where": {},
        "any": {},
        "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    }


def test_a_local_model_is_asked_under_the_schema_of_its_task(wire, play, new_task):
    file = InputFile(path="notes.txt", sha256="0" * 64, size_bytes=4)
    read = {"thought": "so", "action": "read_file", "action_input": {"path": "input/notes.txt"}}
    done = {"thought": "so", "final_answer": "Two lines."}
    wire.then(*[wire.says(json.dumps(step)) for step in (read, done, done)])

    transcript = play(LOCAL, new_task(files=(file,)))

    asked = wire.seen[0].body["response_format"]["json_schema"]["schema"]
    assert '"input/notes.txt"' in json.dumps(asked)
    jsonschema.validate(read, asked)
    assert "stop" not in wire.seen[0].body
    assert "milk" in wire.seen[1].body["messages"][-1]["content"]
    assert (transcript.ending, transcript.final_answer) == (Ending.FINISHED, "Two lines.")


def test_a_step_that_was_cut_off_is_called_so(wire, play, task):
    cut = '{"thought": "so", "action": "write_file", "action_input": {"path": "output/a.txt", "con'
    wire.then(wire.says(cut, stop="length"), wire.says('{"thought": "", "final_answer": "ok"}'))

    transcript = play(LOCAL, task)

    assert "was not run" in transcript.tool_events[0].text
    assert transcript.final_answer == "ok"


def test_it_can_be_set_and_is_for_react_alone(wire, play, task):
    wire.then(wire.says("Final Answer: ok"), wire.says('{"thought": "", "final_answer": "ok"}'))
    play(LOCAL, task, settings={"structured_steps": False})
    play("react:compatible/m", task, settings={"structured_steps": True})
    assert ["response_format" in seen.body for seen in wire.seen] == [False, True]
    with pytest.raises(Misuse, match="only harness 'react' takes structured_steps"):
        require_agent(AgentSpec.parse("function_calling:local/m", structured_steps=True))


def test_with_its_last_turn_an_agent_answers_unless_a_file_is_wanted(wire, play, new_answer_task):
    read = {"thought": "so", "action": "list_files", "action_input": {}}
    done = {"thought": "so", "final_answer": "5"}

    def last_schema(task):
        wire.then(*[wire.says(json.dumps(step)) for step in (read, done)])
        play(LOCAL, task, max_turns=2)
        first, last = (
            seen.body["response_format"]["json_schema"]["schema"] for seen in wire.seen[-2:]
        )
        jsonschema.validate(done, last)
        return first, last

    first, last = last_schema(new_answer_task(tools=("list_files",)))
    jsonschema.validate(read, first)
    assert not jsonschema.Draft202012Validator(last).is_valid(read)
    file = DeliverableSpec(name="out.json", type=DeliverableType.JSON)
    first, last = last_schema(new_answer_task(tools=("list_files",), deliverables=(file,)))
    assert last == first
