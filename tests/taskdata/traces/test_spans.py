"""Spans of the GenAI conventions: names, times, what each carries, and how they hang together."""

import json

import pytest

from taskdata.schema.transcript import Ending, MessageEvent
from taskdata.schema.usage import FailedAttempt
from taskdata.traces.spans import trace
from tests.taskdata.traces.conftest import PICTURE, answered, asked, call

START = 1_772_402_400_250_000_000
SECOND = 10**9


def operations(recorded):
    return [span.attributes["gen_ai.operation.name"] for span in trace(recorded).spans]


def test_a_trial_is_one_trace_of_an_agent_its_model_calls_and_its_tools(conversation):
    assert operations(conversation) == [
        "invoke_agent",
        "chat",
        "execute_tool",
        "execute_tool",
        "chat",
    ]
    names = [span.name for span in trace(conversation).spans]
    assert names[0] == "invoke_agent function_calling:openai/gpt-5.2"
    assert names[1:3] == ["chat gpt-5.2", "execute_tool Calculator"]


def test_times_are_the_recorded_ones(conversation):
    root, chat, tool, *_ = trace(conversation).spans
    assert (root.start, root.end) == (START, START + 10 * SECOND)
    assert (chat.start, chat.end) == (START, START + SECOND * 3 // 2)
    assert (tool.start, tool.end) == (START + 2 * SECOND, START + 2 * SECOND + SECOND // 4)


def test_a_simulated_user_speaks_to_the_agent_and_is_noted_with_its_model(talk):
    root, _first, last = trace(talk).spans
    told = json.loads(last.attributes["gen_ai.input.messages"])
    assert told[-1] == {"role": "user", "parts": [{"type": "text", "content": "2 and 3."}]}
    assert [event.text for event in root.notices] == [
        "Turn of the simulated user, gpt-5-mini: 2 and 3.",
        "Turn of the simulated user, gpt-5-mini, which ends the talk: Thanks.",
    ]
    assert root.notices[0].at == START + 5 * SECOND // 2


def test_instructions_and_schemas_stand_on_the_agent_and_on_the_first_call_only(conversation):
    root, first, *_, last = trace(conversation).spans
    for span in (root, first):
        told = json.loads(span.attributes["gen_ai.system_instructions"])
        assert told == [{"type": "text", "content": "You are careful."}]
        (tool,) = json.loads(span.attributes["gen_ai.tool.definitions"])
        assert (tool["type"], tool["name"]) == ("function", "Calculator")
        assert tool["parameters"]["required"] == ["expression"]
    assert "gen_ai.system_instructions" not in last.attributes


def test_a_model_call_carries_models_usage_cost_and_messages(conversation):
    chat = trace(conversation).spans[1]
    assert chat.kind == "client"
    assert chat.attributes["gen_ai.provider.name"] == "openai"
    assert chat.attributes["gen_ai.request.model"] == "gpt-5.2"
    assert chat.attributes["gen_ai.response.model"] == "gpt-5.2-2026-02-01"
    assert chat.attributes["gen_ai.response.finish_reasons"] == ["tool_call"]
    assert chat.attributes["gen_ai.usage.input_tokens"] == 100
    assert chat.attributes["gen_ai.usage.output_tokens"] == 20
    assert chat.attributes["gen_ai.usage.cache_read.input_tokens"] == 40
    assert chat.attributes["nightshift.cost_usd"] == 0.25
    (given,) = json.loads(chat.attributes["gen_ai.input.messages"])
    assert given == {"role": "user", "parts": [{"type": "text", "content": "Add 2 and 3."}]}
    (reply,) = json.loads(chat.attributes["gen_ai.output.messages"])
    assert [part["type"] for part in reply["parts"]] == ["text", "tool_call", "tool_call"]
    assert reply["parts"][1]["arguments"] == {"expression": "2+3"}
    assert reply["parts"][2]["arguments"] == "{2+"


def test_what_the_model_thought_comes_before_what_it_said(recorded, conversation):
    thought = conversation.transcript.events[2].model_copy(update={"thinking": "2 and 3 is 5."})
    chat = trace(recorded(thought)).spans[1]
    (reply,) = json.loads(chat.attributes["gen_ai.output.messages"])
    assert reply["parts"][0] == {"type": "reasoning", "content": "2 and 3 is 5."}
    assert reply["parts"][1]["type"] == "text"


def test_a_later_call_is_given_what_came_since(conversation):
    given = json.loads(trace(conversation).spans[-1].attributes["gen_ai.input.messages"])
    assert [message["role"] for message in given] == ["tool", "tool", "user"]
    assert given[0]["parts"] == [{"type": "tool_call_response", "id": "call-1", "response": "5"}]


def test_a_prediction_is_told_with_its_call_and_the_reference_is_what_the_next_is_given(predicted):
    _, wrong, last = trace(predicted).spans
    assert json.loads(wrong.attributes["nightshift.prediction"])["error"].startswith("there is no")
    assert json.loads(last.attributes["nightshift.prediction"]) == {"answer": "25"}
    said, result, *second = json.loads(last.attributes["gen_ai.input.messages"])
    assert [part["type"] for part in said["parts"]] == ["text", "tool_call"]
    assert said["parts"][1]["arguments"] == {"expression": "2+3"}
    assert result["parts"] == [{"type": "tool_call_response", "id": "call-1", "response": "5"}]
    assert [message["role"] for message in second] == ["assistant", "tool"]


def test_predictions_of_an_earlier_revision_are_told_with_their_calls(recorded, predicted):
    events = [
        event.model_copy(update={"given": None}) if isinstance(event, MessageEvent) else event
        for event in predicted.transcript.events
    ]
    earlier = recorded(*events, predictions=predicted.transcript.predictions[::2])
    root, wrong, last = trace(earlier).spans
    assert "2*3" in wrong.attributes["nightshift.prediction"]
    assert json.loads(last.attributes["nightshift.prediction"]) == {"answer": "25"}
    assert root.notices[0].text == "Given instead: 5"


def test_notices_before_the_first_answer_are_no_instructions(program):
    root, chat = trace(program).spans
    told = json.loads(chat.attributes["gen_ai.system_instructions"])
    assert told == [{"type": "text", "content": "You are careful."}]
    assert [notice.text.split()[1] for notice in root.notices] == ["program:", "program", "program"]
    assert root.notices[0].at == START
    assert root.attributes["nightshift.has_unseen_calls"] is True


def test_a_reply_from_those_kept_is_told_apart_from_a_paid_one(program, conversation):
    assert trace(program).spans[1].attributes["nightshift.cached"] is True
    assert "nightshift.cached" not in trace(conversation).spans[1].attributes


def test_waiting_and_failed_attempts_are_part_of_the_call(recorded, conversation):
    model = conversation.transcript.events[2]
    failed = FailedAttempt(status=429, cause="rate limit", seconds=0.1)
    chat = trace(
        recorded(model.model_copy(update={"waited_seconds": 2.0, "failed_attempts": (failed,)}))
    ).spans[1]
    assert chat.end - chat.start == SECOND * 7 // 2
    assert chat.attributes["nightshift.waited_seconds"] == 2.0
    (attempt,) = json.loads(chat.attributes["nightshift.failed_attempts"])
    assert attempt == {"status": 429, "cause": "rate limit", "seconds": 0.1}


def test_a_failed_tool_call_is_an_error_of_its_kind(conversation):
    _root, _chat, good, bad, _last = trace(conversation).spans
    assert good.error is None
    assert "error.type" not in good.attributes
    assert json.loads(good.attributes["gen_ai.tool.call.arguments"]) == {"expression": "2+3"}
    assert good.attributes["gen_ai.tool.call.result"] == "5"
    assert good.attributes["gen_ai.tool.description"] == "Evaluates an expression."
    assert good.attributes["nightshift.tool.files"] == ["output/sum.txt"]
    assert bad.error == "no JSON object"
    assert bad.attributes["error.type"] == "bad_arguments"
    assert bad.attributes["gen_ai.tool.call.arguments"] == "{2+"


def test_the_agent_says_which_trial_it_was_and_how_it_ended(conversation):
    root = trace(conversation).spans[0]
    assert root.error is None
    assert root.attributes["gen_ai.conversation.id"] == conversation.trial.id
    assert root.attributes["nightshift.task_id"] == "sum-two"
    assert root.attributes["nightshift.ending"] == "finished"
    assert root.attributes["gen_ai.usage.input_tokens"] == 200
    assert root.attributes["nightshift.cost_usd"] == 0.5
    (notice,) = root.notices
    assert "Left out" in notice.text
    assert root.start < notice.at < root.end


def test_a_trial_that_ran_out_of_turns_is_an_error(recorded):
    root = trace(recorded(answer="", ending=Ending.OUT_OF_TURNS)).spans[0]
    assert root.error == "the trial ended out of turns"
    assert root.attributes["error.type"] == "out_of_turns"
    assert "gen_ai.output.messages" not in root.attributes


@pytest.mark.parametrize(("kind", "count"), [("played", 3), ("in_text", 4), ("imported", 1)])
def test_every_kind_of_agent_has_a_trace(request, kind, count):
    spans = trace(request.getfixturevalue(kind)).spans
    assert len(spans) == count
    assert spans[0].start <= min(span.start for span in spans)
    assert spans[0].end >= max(span.end for span in spans)


def test_what_is_unknown_of_an_imported_result_has_no_attribute(imported):
    (root,) = trace(imported).spans
    assert root.attributes["nightshift.is_outcome_only"] is True
    assert not [name for name in root.attributes if "usage" in name or "cost" in name]


def test_the_same_trial_is_the_same_trace_and_another_attempt_another(recorded):
    first, again, other = (trace(recorded(attempt=n)) for n in (1, 1, 2))
    assert first.trace_id == again.trace_id != other.trace_id
    assert first.span_id(0) == again.span_id(0) != first.span_id(1)


def test_pictures_of_a_result_are_references(recorded):
    made = call(1)
    trial = recorded(asked("Look.", 0, made), answered(made, "5", 2, pictures=(PICTURE,)))
    found = trace(trial).spans[2].attributes["nightshift.tool.pictures"]
    assert json.loads(found) == [PICTURE.model_dump()]


def test_each_call_for_a_plan_is_a_chat_of_its_own(planned):
    root, first, second, third, work = trace(planned).spans
    assert [span.attributes.get("nightshift.plan") for span in (first, second, third, work)] == [
        "draft",
        "draft",
        "refined",
        None,
    ]
    assert (first.error, first.attributes["error.type"]) == ("not JSON", "unreadable_plan")
    assert second.error is None
    assert third.attributes["nightshift.cached"]
    assert root.attributes["nightshift.cost_usd"] == 3 * 0.125 + 0.25
    given = json.loads(work.attributes["gen_ai.input.messages"])
    assert [message["parts"][0]["content"] for message in given] == ["Add 2 and 3."]
