"""How long a program may take, and how long its model's replies may be."""

import pytest

from stages.execute import metered
from taskdata.schema.agent import AgentSpec
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.transcript import Ending, ModelEvent

ASKING = """
import json, os, urllib.request
def ask(path="/chat/completions", **more):
    base = os.environ.get("OPENAI_BASE_URL") or os.environ["ANTHROPIC_BASE_URL"] + "/v1"
    key = os.environ.get("OPENAI_API_KEY") or os.environ["ANTHROPIC_API_KEY"]
    body = {"model": "m", "messages": [{"role": "user", "content": "2+3?"}], **more}
    headers = {"authorization": "Bearer " + key, "content-type": "application/json"}
    with urllib.request.urlopen(
        urllib.request.Request(base + path, json.dumps(body).encode(), headers)
    ) as answered:
        return json.load(answered)
"""


@pytest.fixture
def program(wire, monkeypatch):
    """Make an agent whose program asks its model; the wire's provider is another one for each."""
    for name in ("OPENAI", "ANTHROPIC", "COMPATIBLE"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-canary-limits")

    def make(body: str, model: str = "compatible/m", **settings) -> AgentSpec:
        return AgentSpec.parse(
            f"command:{model}",
            label="my-agent",
            base_url=wire.url if model.startswith("anthropic") else wire.openai_url,
            command=("python3", "-c", ASKING + body),
            **settings,
        )

    return make


def test_time_in_line_for_the_provider_is_not_the_programs(wire, evaluate, program, task):
    wire.respond = lambda seen: wire.says("Five.")
    agent = program("for _ in range(7): ask()\nprint('done')", budget={"max_seconds": 4})
    # Four calls at once and one in 1.5 s: the last three stand in line for longer than there is.
    limits = {"compatible": Ceilings(requests_per_minute=40)}
    outcome, transcript = evaluate(agent, task, limits=limits)
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "done")
    replies = [event for event in transcript.events if isinstance(event, ModelEvent)]
    assert sum(reply.waited_seconds for reply in replies) > 4
    assert outcome.wall_seconds > 4


def test_a_program_need_not_know_of_rate_limits(wire, evaluate, program, task):
    wire.then(wire.fails(429, "Rate limit reached"), wire.says("Five."))
    outcome, _ = evaluate(program("ask()"), task)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.FINISHED, Ending.FINISHED)
    assert outcome.turns == 1


def test_a_reply_is_as_long_as_the_program_asks(wire, evaluate, program, task):
    evaluate(program("ask(max_tokens=60_000)"), task)
    assert wire.seen[0].body["max_tokens"] == 60_000


@pytest.mark.parametrize(
    ("model", "settings", "tokens"),
    [
        ("openai/gpt-5.2", {}, metered.UNASKED_REPLY_TOKENS),
        ("compatible/m", {}, 4_096),
        ("compatible/m", {"window_tokens": 40_000}, 10_000),
        ("compatible/m", {"budget": {"max_reply_tokens": 9_000}}, 9_000),
        ("openai/gpt-5.2", {"budget": {"max_reply_tokens": 4_096}}, 4_096),
        ("openai/gpt-5.2", {"budget": {"max_turns": 9}}, metered.UNASKED_REPLY_TOKENS),
    ],
)
def test_a_request_without_a_limit_gets_what_the_window_holds(
    wire, evaluate, program, task, model, settings, tokens
):
    wire.then(wire.says("Fi", stop="length"))
    _, transcript = evaluate(program("ask()", model, **settings), task)
    body = wire.seen[0].body
    assert (body.get("max_tokens") or body.get("max_completion_tokens")) == tokens
    assert any(
        f"cut at {tokens} tokens" in event.text
        for event in transcript.events
        if not isinstance(event, ModelEvent)
    )


def test_a_lower_limit_of_the_budget_holds_and_is_told(wire, evaluate, program, task):
    asked = (
        'ask("/messages", max_tokens=32_000, thinking={"type": "enabled", "budget_tokens": 31_999})'
    )
    agent = program(asked, "anthropic/claude-opus-4-6", budget={"max_reply_tokens": 8_000})
    outcome, transcript = evaluate(agent, task)
    assert outcome.ending is Ending.FINISHED
    assert wire.seen[0].body["max_tokens"] == 8_000
    # Anthropic refuses more than the reply may have.
    assert 1_024 <= wire.seen[0].body["thinking"]["budget_tokens"] < 8_000
    said = [event.text for event in transcript.events]
    assert "The program asked for a reply of up to 32000 tokens; its budget allows 8000." in said


def test_too_little_money_to_think_is_the_end_of_it(wire, evaluate, program, task):
    asked = (
        'ask("/messages", max_tokens=32_000, thinking={"type": "enabled", "budget_tokens": 9_999})'
    )
    agent = program(asked, "anthropic/claude-opus-4-6", budget={"max_usd": 0.05})
    outcome, _ = evaluate(agent, task)
    assert (outcome.ending, wire.seen) == (Ending.OUT_OF_MONEY, [])
