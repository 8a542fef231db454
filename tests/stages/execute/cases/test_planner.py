"""The planner on cases of every setting, against a scripted provider, through the execute stage."""

import json

import pytest

from taskdata.schema.agent import AgentSpec
from taskdata.schema.input_file import InputFile
from taskdata.schema.planning import Infeasibility, PlannedAction
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.transcript import Ending, ModelEvent
from tests.price_cases import (
    CHAIN,
    SECRET,
    action,
    broken,
    case,
    efficiency,
    extraneous,
    finished,
    next_steps,
    unsolvable,
)


@pytest.fixture
def planner(wire):
    """Make a planner of the scripted provider."""

    def make(**settings: object) -> AgentSpec:
        there = {"base_url": wire.openai_url} | settings
        return AgentSpec.parse("planner:compatible/m", **there)

    return make


def _written(*chain: PlannedAction, key: str = "tool_chain", **more: object) -> str:
    return json.dumps({key: [one.model_dump() for one in chain], **more})


EVERY_SETTING = [
    case(),
    next_steps(horizon=1),
    next_steps(horizon=2),
    finished(),
    extraneous(),
    broken(),
    efficiency(),
    *(unsolvable(kind) for kind in Infeasibility),
]


@pytest.mark.parametrize("task", EVERY_SETTING, ids=lambda task: task.id)
def test_one_call_answers_a_case_of_any_setting(wire, evaluate, planner, task) -> None:
    reference = task.planning.reference
    key = "tool_chain" if task.planning.horizon is None else "actions"
    more = {
        "refusal": reference.refusal or None,
        "final_answer": "Done." if reference.ends else None,
    }
    wire.then(wire.says(_written(*reference.chain, key=key, **more), input_tokens=90))

    outcome, transcript = evaluate(planner(), task)

    assert (outcome.status, outcome.sandbox) == (OutcomeStatus.FINISHED, "none")
    assert (outcome.turns, outcome.prompt_version, len(wire.seen)) == (1, "case_v1", 1)
    assert outcome.usage.input_tokens == 90
    assert transcript.predicted_plan.chain == reference.chain
    assert transcript.predicted_plan.refusal == reference.refusal
    assert {spec.name for spec in transcript.tools} == {tool.name for tool in task.planning.tools}


@pytest.mark.parametrize("task", EVERY_SETTING, ids=lambda task: task.id)
def test_a_planner_sees_no_reference_role_proof_or_origin(wire, evaluate, planner, task) -> None:
    wire.respond = lambda seen: wire.says(_written(refusal="no idea"))

    evaluate(planner(structured_steps=True), task)

    asked = json.dumps(wire.seen[0].body)
    hidden = (SECRET, "distractor", "substitute", "composite", "trap", "unsolvable", "origin")
    assert not [word for word in hidden if word in asked.lower()]
    assert task.id not in asked
    for tool in task.planning.tools:
        assert tool.name in asked
    names = [tool.name for tool in task.brief().case.tools]
    assert names == sorted(names)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(wire, evaluate, planner) -> None:
    wire.then(wire.says("I would look for the lamp first."), wire.says(_written(*CHAIN)))

    outcome, transcript = evaluate(planner(), case())

    assert (outcome.turns, transcript.predicted_plan.chain) == (2, CHAIN)
    said = [event.text for event in transcript.events if isinstance(event, ModelEvent)]
    assert said[0] == "I would look for the lamp first."
    assert "could not be read" in json.dumps(wire.seen[1].body)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("First the lamp, then the desk.", "empty"),
        (_written(*CHAIN) + "\n" + _written(*CHAIN), "not JSON"),
        (_written(action("find_price", item="x" * 1_000_000)), "longer than"),
        (_written(action("find_price", item="x" * 30_000)), "longer than"),
        (json.dumps({"answer": 150}), "no tool calls"),
        (json.dumps({"tool_chain": [{"arguments": {}}]}), "call.1.tool"),
        (json.dumps({"tool_chain": "find_price"}), "chain"),
    ],
    ids=["prose", "two objects", "1 MB", "30 kB", "other keys", "no tool", "no list"],
)
def test_what_stays_unreadable_is_a_fault_and_no_plan(wire, evaluate, planner, reply, says) -> None:
    wire.respond = lambda seen: wire.says(reply)

    outcome, transcript = evaluate(planner(), case())

    predicted = transcript.predicted_plan
    assert (outcome.status, len(wire.seen)) == (OutcomeStatus.FINISHED, 2)
    assert says in predicted.fault
    assert predicted.chain == ()


def test_json_in_prose_or_a_fence_is_read(wire, evaluate, planner) -> None:
    wire.then(wire.says(f"Here is my plan:\n```json\n{_written(*CHAIN)}\n```\nGood luck!"))

    _, transcript = evaluate(planner(), case())

    assert transcript.predicted_plan.chain == CHAIN


def test_a_thousand_steps_are_read_up_to_a_limit_and_counted(wire, evaluate, planner) -> None:
    wire.then(wire.says(_written(*[action("find_price", item="lamp")] * 1_000)))

    _, transcript = evaluate(planner(), case())

    predicted = transcript.predicted_plan
    assert (len(predicted.chain), predicted.left_out) == (100, 900)


def test_a_refusal_beside_a_chain_is_kept_as_it_was_written(wire, evaluate, planner) -> None:
    wire.then(wire.says(_written(*CHAIN, refusal="But it cannot be done.", plan="1. a\n2. b")))

    _, transcript = evaluate(planner(), case())

    predicted = transcript.predicted_plan
    assert (predicted.refusal, len(predicted.chain)) == ("But it cannot be done.", 4)
    assert predicted.plan == ("1. a", "2. b")


def test_a_provider_that_refuses_leaves_a_fault(wire, evaluate, planner) -> None:
    refusal = {"choices": [{"message": {"refusal": "I will not."}, "finish_reason": "stop"}]}
    wire.respond = lambda seen: wire.answers(refusal)

    outcome, transcript = evaluate(planner(), unsolvable())

    assert outcome.ending is Ending.REFUSED
    assert transcript.predicted_plan.fault == "the model refused to answer"


def test_a_spent_budget_allows_no_second_reply(wire, evaluate, planner) -> None:
    wire.respond = lambda seen: wire.says("Let me see.", input_tokens=90)

    outcome, transcript = evaluate(planner(budget={"max_tokens": 10}), case())

    assert (outcome.ending, len(wire.seen)) == (Ending.OUT_OF_TOKENS, 1)
    assert "empty" in transcript.predicted_plan.fault


def test_only_servers_known_for_it_are_held_to_a_schema(wire, evaluate, planner) -> None:
    wire.respond = lambda seen: wire.says(_written(*CHAIN))

    evaluate(planner(), case())
    evaluate(planner(structured_steps=True), case())
    evaluate(planner(structured_steps=True), next_steps(horizon=2))

    formats = [seen.body.get("response_format") for seen in wire.seen]
    assert formats[0] is None
    assert "tool_chain" in json.dumps(formats[1])
    assert '"tool": {"const": "find_price"}' in json.dumps(formats[1])
    assert '"maxItems": 2}' in json.dumps(formats[2])


def test_pictures_of_a_case_are_shown(wire, evaluate, planner, store) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
    sha256 = store.artifacts.put_bytes(picture)
    files = tuple(
        InputFile(path=name, sha256=sha256, size_bytes=len(picture))
        for name in ("lamp.png", "hidden.png")
    )
    wire.respond = lambda seen: wire.says(_written(*CHAIN))

    evaluate(planner(native_inputs=("image",)), case(files=files, media=("lamp.png",)))

    user = wire.seen[0].body["messages"][-1]["content"]
    assert [part["type"] for part in user].count("image_url") == 1
    assert "hidden.png" not in json.dumps(user)


def test_a_refined_answer_is_asked_for_with_what_was_said(wire, evaluate, planner) -> None:
    wire.then(wire.says(_written(*CHAIN)))

    evaluate(planner(), case(), feedback="The buyer is never told.")

    assert "The buyer is never told." in wire.seen[0].body["messages"][-1]["content"]


@pytest.mark.parametrize("task", EVERY_SETTING[::2], ids=lambda task: task.id)
def test_the_reference_is_played(evaluate, task) -> None:
    _, played = evaluate(AgentSpec.parse("reference"), task)

    assert played.predicted_plan.chain == task.planning.reference.chain
    assert played.predicted_plan.refusal == task.planning.reference.refusal


def test_nop_answers_nothing(evaluate) -> None:
    outcome, transcript = evaluate(AgentSpec.parse("nop"), case())

    assert (transcript.predicted_plan, outcome.sandbox) == (None, "none")
