"""ATIF: the rules of RFC 0001 hold for every kind of agent, and nothing unknown is a number."""

import json
from datetime import datetime

import pytest

from taskdata.traces import atif
from tests.taskdata.traces.conftest import PICTURE, answered, asked, call

STEP_FIELDS = {
    "step_id timestamp source model_name reasoning_effort message reasoning_content tool_calls "
    "observation metrics extra llm_call_count is_copied_context"
}
ROOT_FIELDS = {
    "schema_version session_id trajectory_id agent steps notes final_metrics "
    "continued_trajectory_ref extra subagent_trajectories"
}
AGENT_ONLY = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}


KINDS = ["conversation", "talk", "in_text", "played", "predicted", "program", "imported", "planned"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_trajectory_keeps_the_rules_of_the_format(request, kind):
    found = json.loads(atif.document(request.getfixturevalue(kind)))
    assert found["schema_version"] == "ATIF-v1.7"
    assert found.keys() <= _names(ROOT_FIELDS)
    assert {"name", "version"} <= found["agent"].keys()
    assert [step["step_id"] for step in found["steps"]] == [*range(1, len(found["steps"]) + 1)]
    assert found["final_metrics"]["total_steps"] == len(found["steps"]) > 0
    for step in found["steps"]:
        assert step.keys() <= _names(STEP_FIELDS)
        assert isinstance(step["message"], str)
        assert step["source"] == "agent" or not step.keys() & AGENT_ONLY
        if step.get("llm_call_count") == 0:
            assert not step.keys() & {"metrics", "reasoning_content"}
        if "timestamp" in step:
            assert datetime.fromisoformat(step["timestamp"]).tzinfo is not None
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        results = step.get("observation", {"results": []})["results"]
        assert {result["source_call_id"] for result in results} <= calls
        assert all(isinstance(call["arguments"], dict) for call in step.get("tool_calls", ()))


def _names(fields):
    (text,) = fields
    return set(text.split())


def test_instructions_task_and_tool_schemas_are_in_it(conversation):
    found = atif.trajectory(conversation)
    assert found["steps"][0] == {"step_id": 1, "source": "system", "message": "You are careful."}
    assert found["steps"][1] == {"step_id": 2, "source": "user", "message": "Add 2 and 3."}
    (tool,) = found["agent"]["tool_definitions"]
    assert tool["type"] == "function"
    assert tool["function"]["name"] == "Calculator"
    assert tool["function"]["parameters"]["required"] == ["expression"]


def test_a_model_call_is_a_step_with_its_calls_their_results_and_what_it_took(conversation):
    step = atif.trajectory(conversation)["steps"][2]
    assert step["timestamp"] == "2026-03-01T22:00:00.250000+00:00"
    assert (step["message"], step["model_name"]) == ("Let me see.", "gpt-5.2-2026-02-01")
    assert step["metrics"] == {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cached_tokens": 40,
        "cost_usd": 0.25,
    }
    good, bad = step["tool_calls"]
    assert good["arguments"] == {"expression": "2+3"}
    assert (bad["arguments"], bad["extra"]) == ({}, {"unreadable": "{2+"})
    first, second = step["observation"]["results"]
    assert first["content"] == "5"
    assert first["extra"] == {"seconds": 0.25, "files": ["output/sum.txt"]}
    assert second["extra"]["error"] == "bad_arguments"


def test_what_the_model_thought_is_its_reasoning(recorded, conversation):
    thought = conversation.transcript.events[2].model_copy(update={"thinking": "2 and 3 is 5."})
    (step,) = atif.trajectory(recorded(thought, answer=""))["steps"]
    assert step["reasoning_content"] == "2 and 3 is 5."
    assert "reasoning_content" not in atif.trajectory(conversation)["steps"][2]


def test_what_came_between_two_turns_stays_between_them(conversation):
    sources = [step["source"] for step in atif.trajectory(conversation)["steps"]]
    assert sources == ["system", "user", "agent", "system", "user", "agent"]


def test_the_turns_of_a_simulated_user_say_what_made_them(talk):
    steps = atif.trajectory(talk)["steps"]
    sources = [step["source"] for step in steps]
    assert sources == ["system", "user", "agent", "user", "agent", "user"]
    made = steps[3]["extra"]["simulated_user"]
    assert (steps[3]["message"], made["model"], made["ends"]) == ("2 and 3.", "gpt-5-mini", False)
    assert steps[5]["extra"]["simulated_user"]["ends"]
    assert "simulated_user" not in json.dumps(steps[:3])


def test_a_call_that_the_harness_read_from_text_belongs_to_that_turn(in_text):
    steps = atif.trajectory(in_text)["steps"]
    assert [step["message"] for step in steps[2:]] == ["Action: Calculator", "Final Answer: 5"]
    assert steps[2]["tool_calls"][0]["tool_call_id"] == "call-1"
    assert steps[2]["observation"]["results"][0]["content"] == "5"


def test_calls_that_no_model_asked_for_are_steps_without_one(played):
    first, second, answer = atif.trajectory(played)["steps"]
    assert (first["llm_call_count"], second["llm_call_count"]) == (0, 0)
    assert second["tool_calls"][0]["arguments"] == {"expression": "5*5"}
    assert answer["message"] == "The sum is 5, its square 25."


def test_a_prediction_is_told_with_its_step_and_the_reference_is_copied_context(predicted):
    *_, wrong, first, refused, second, last = atif.trajectory(predicted)["steps"]
    assert wrong["extra"]["prediction"] == {
        "call": call(9, "2*3").model_dump(),
        "error": "there is no tool 'Calculator'",
    }
    assert last["extra"]["prediction"] == {"answer": "25"}
    assert "refused" in refused["message"]
    assert (first["source"], first["message"]) == ("agent", "I add.")
    assert (first["is_copied_context"], first["llm_call_count"]) == (True, 0)
    (made,) = second["tool_calls"]
    assert (made["tool_call_id"], made["arguments"]) == ("call-2", {"expression": "5*5"})
    assert second["observation"] == {"results": [{"source_call_id": "call-2", "content": "25"}]}


def test_what_was_answered_before_and_not_seen_is_said(program, conversation):
    found = atif.trajectory(program)
    assert [step["extra"]["cached"] for step in found["steps"] if "metrics" in step] == [True]
    assert "unknown" in found["notes"]
    assert "tool_calls" not in found["final_metrics"]["extra"]
    asked = atif.trajectory(conversation)
    assert "notes" not in asked
    assert "cached" not in asked["steps"][2]["extra"]


def test_sums_are_those_of_the_trial(conversation):
    found = atif.trajectory(conversation)["final_metrics"]
    assert found["total_prompt_tokens"] == 200
    assert found["total_completion_tokens"] == 40
    assert found["total_cost_usd"] == 0.5
    assert found["extra"]["wall_seconds"] == 10.0


def test_an_imported_result_says_that_nobody_saw_the_work(imported):
    found = atif.trajectory(imported)
    assert "imported" in found["notes"]
    assert [step["message"] for step in found["steps"]] == ["5"]
    assert found["final_metrics"] == {"total_steps": 1, "extra": {}}
    assert "tool_definitions" not in found["agent"]
    assert "model_name" not in found["agent"]


def test_an_unknown_price_is_left_out(recorded, conversation):
    events = conversation.transcript.events
    unpriced = recorded(*(e.model_copy(update={"cost_usd": None}) for e in events[2:3]))
    found = atif.trajectory(unpriced)
    assert "cost_usd" not in found["steps"][0]["metrics"]
    assert "total_cost_usd" not in found["final_metrics"]


def test_pictures_of_a_result_are_references(recorded):
    made = call(1)
    trial = recorded(asked("Look.", 0, made), answered(made, "5", 2, pictures=(PICTURE,)))
    (result,) = atif.trajectory(trial)["steps"][0]["observation"]["results"]
    assert result["extra"]["pictures"] == [PICTURE.model_dump()]


def test_each_call_for_a_plan_is_a_step_before_the_instructions(planned):
    whole = atif.trajectory(planned)
    first, second, third, *_, last = whole["steps"]
    assert [step["source"] for step in whole["steps"]][:4] == ["agent"] * 3 + ["system"]
    assert [step["extra"]["plan"] for step in (first, second, third)] == [
        "draft",
        "draft",
        "refined",
    ]
    assert (first["message"], first["extra"]["fault"]) == ("Hm.", "not JSON")
    assert third["extra"]["cached"]
    assert "plan" not in last["extra"]
    assert whole["agent"]["extra"]["harness"] == "react+plan_refine"
    assert whole["final_metrics"]["total_prompt_tokens"] == 3 * 50 + 100
