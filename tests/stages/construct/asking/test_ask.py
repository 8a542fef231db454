"""Asking for one structured answer over the real OpenAI client."""

import asyncio
import json

import pytest

from stages.construct.answers.forms import ClassForm
from stages.construct.asking.ask import Asks, Tally, as_is, ask
from stages.construct.asking.fitting import fitted
from stages.construct.asking.prompting import prompt
from stages.construct.asking.tokens import tokens_of
from taskdata.errors import BadTaskData, ModelRejected, ModelUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.transcript import Usage

GOOD = {"verdict": "pass", "reasons": ["All is there."]}
SPEC = ModelSpec(provider="openai", model="gpt-5-mini")


@pytest.fixture
def asked(connect):
    """Ask for a classification, `times` times at most."""

    def go(times: int = 3, accept=as_is):
        opening = prompt("classify", {"tools": (), "files": (), "tier": "workflow", "draft": "x"})

        async def once():
            client = connect(SPEC, None)
            try:
                return await ask(client, opening, ClassForm, accept, Asks(times, 500))
            finally:
                await client.close()

        return asyncio.run(once())

    return go


def test_an_answer_comes_with_what_it_cost_and_who_gave_it(wire, asked):
    wire.then(wire.says(json.dumps(GOOD), input_tokens=100, output_tokens=20))
    result = asked()
    assert (result.answer.verdict, result.faults) == ("pass", ())
    assert (result.prompt_version, result.tally.model_id) == ("classify@2", "wire-model-1")
    assert result.tally.usage == Usage(input_tokens=100, output_tokens=20)
    assert result.tally.cost_usd == pytest.approx((100 * 0.25 + 20 * 2) / 1e6)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"verdict": "pass", "reasons": [', "the answer is not JSON"),
        ("[" * 10_000 + "]" * 10_000, "nested more than 40 levels"),
        ('{"verdict": "pass", "reasons": [NaN]}', "NaN is not a JSON number"),
        ('{"verdict": "pass", "verdict": "pass", "reasons": ["x"]}', "'verdict' occurs twice"),
        ('{"verdict": "fine", "reasons": ["x"]}', "verdict: Input should be"),
        ('{"verdict": "pass", "reasons": []}', "reasons: "),
        ('{"verdict": "pass", "reasons": ["x"], "score": 10}', "score: Extra inputs"),
        ('"pass"', "answer: "),
        ("", "the answer is empty"),
        ('"' + "x" * 200_001 + '"', "longer than 200000 bytes"),
        (r'{"verdict": "pass", "reasons": ["\ud800"]}', "surrogate"),
        (r'{"verdict": "pass", "reasons": ["\u0000"]}', "NUL"),
    ],
)
def test_an_answer_that_will_not_do_goes_back_with_its_fault(wire, asked, text, fault):
    wire.then(wire.says(text), wire.says(json.dumps(GOOD)))
    result = asked()
    assert result.answer.verdict == "pass"
    assert fault in result.faults[0]
    assert result.tally.calls == 2
    *_, answer, complaint = wire.seen[1].body["messages"]
    assert (answer["role"], complaint["role"]) == ("assistant", "user")
    assert fault in complaint["content"]
    assert "BEGIN DATA" in complaint["content"]


def test_a_markdown_fence_around_the_answer_is_tolerated(wire, asked):
    wire.then(wire.says(f"```json\n{json.dumps(GOOD)}\n```\n"))
    assert asked().answer.verdict == "pass"


def test_after_so_many_asks_there_is_no_answer_and_all_faults_are_told(wire, asked):
    wire.respond = lambda seen: wire.says("no")
    result = asked(times=2)
    assert result.answer is None
    assert len(result.faults) == result.tally.calls == len(wire.seen) == 2


def test_only_the_latest_answer_is_shown_again(wire, asked):
    wire.then(wire.says("first"), wire.says("second"), wire.says(json.dumps(GOOD)))
    asked()
    contents = [message["content"] for message in wire.seen[2].body["messages"]]
    assert "second" in contents
    assert "first" not in contents


def test_an_answer_cut_off_is_asked_for_again_shorter(wire, asked):
    wire.then(wire.says(json.dumps(GOOD), stop="length"), wire.says(json.dumps(GOOD)))
    assert "cut off" in asked().faults[0]


def test_what_the_caller_does_not_accept_is_a_fault_like_any_other(wire, asked):
    wire.respond = lambda seen: wire.says(json.dumps(GOOD))

    def accept(form: ClassForm) -> ClassForm:
        raise BadTaskData("checkpoint 'a': field weight: is odd")

    result = asked(times=2, accept=accept)
    assert result.answer is None
    assert result.faults == ("checkpoint 'a': field weight: is odd",) * 2


@pytest.mark.parametrize(("status", "error"), [(503, ModelUnavailable), (401, ModelRejected)])
def test_an_endpoint_that_fails_us_is_no_answer_but_an_error(wire, asked, status, error):
    wire.respond = lambda seen: wire.fails(status)
    with pytest.raises(error):
        asked()


def test_an_unknown_price_makes_the_whole_sum_unknown():
    known, unknown = Tally(1, Usage(input_tokens=5), 0.5), Tally(1, Usage(input_tokens=7), None)
    both = known + unknown
    assert (both.calls, both.usage.input_tokens, both.cost_usd) == (2, 12, None)


def test_where_an_invalid_answer_has_no_room_only_its_fault_is_told(wire, connect):
    context = {"tools": (), "files": (), "tier": "workflow", "draft": "x " * 3_000}
    opening = fitted("classify", context, 1_500)
    least = tokens_of(opening.messages)
    wire.then(wire.says("word " * 2_000))
    wire.then(wire.says(json.dumps(GOOD)))

    async def once():
        client = connect(SPEC, None)
        try:
            return await ask(client, opening, ClassForm, as_is, Asks(2, 500, least + 60))
        finally:
            await client.close()

    assert asyncio.run(once()).answer.verdict == "pass"
    first, second = (seen.body["messages"] for seen in wire.seen)
    assert [m["role"] for m in second] == ["system", "user", "assistant", "user"]
    assert "the answer is not JSON" in second[-1]["content"]
    assert len(second[1]["content"]) < len(first[1]["content"])
