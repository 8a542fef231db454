"""What a program may ask, what it may not, and what it can cost at most."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.metering.formats.dialects import CHAT, MESSAGES, RESPONSES
from environments.metering.formats.requests import limited, read_request
from taskdata.errors import ModelRejected


def read(dialect=CHAT, **body):
    return read_request(dialect, json.dumps({"messages": [], **body}).encode(), "model-1")


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (RESPONSES, {"tools": [{"type": "web_search"}]}),
        (RESPONSES, {"tools": [{"type": "mcp", "server_url": "https://x"}]}),
        (MESSAGES, {"tools": [{"type": "web_fetch_20260209", "name": "web_fetch"}]}),
        (MESSAGES, {"mcp_servers": [{"url": "https://x"}]}),
        (CHAT, {"web_search_options": {"search_context_size": "low"}}),
        (RESPONSES, {"previous_response_id": "resp_1"}),
        (RESPONSES, {"background": True}),
        (CHAT, {"n": 4}),
        (CHAT, {"service_tier": "priority"}),
        (CHAT, {"max_tokens": "many"}),
        (CHAT, {"plugins": [{"id": "web"}]}),
        (CHAT, {"search_parameters": {"mode": "on"}}),
        # Empty objects ask for the defaults of what they switch on.
        (CHAT, {"web_search_options": {}}),
        (RESPONSES, {"web_search_options": {}}),
        (MESSAGES, {"container": {}}),
        (CHAT, {"tools": [{"google_search": {}}]}),
        (MESSAGES, {"tools": [{"type": "", "name": "x"}]}),
        (CHAT, {"tools": {"type": "web_search"}}),
        (CHAT, {"tools": ["web_search"]}),
        (CHAT, {"enable_search": True}),
        (CHAT, {"models": ["openai/gpt-5-pro"]}),
        (CHAT, {"provider": {"order": ["dear"]}}),
        (CHAT, {"best_of": 4}),
        (CHAT, {"n_predict": 100_000}),
        (CHAT, {"modalities": ["text", "image"]}),
        (RESPONSES, {"max_tokens": 9}),
        (MESSAGES, {"speed": "fast"}),
        (MESSAGES, {"context_management": {"edits": [{"type": "compact_20260112"}]}}),
    ],
)
def test_what_would_act_outside_or_cost_otherwise_is_refused(dialect, body):
    with pytest.raises(ModelRejected):
        read(dialect, **body)


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (CHAT, {"temperature": 0, "stop": ["x"], "seed": 1, "response_format": {"type": "text"}}),
        (CHAT, {"top_k": 5, "repetition_penalty": 1.1, "chat_template_kwargs": {"think": False}}),
        (CHAT, {"modalities": ["text"], "reasoning_effort": "high", "parallel_tool_calls": True}),
        # As Codex asks.
        (
            RESPONSES,
            {
                "instructions": "x",
                "tool_choice": "auto",
                "parallel_tool_calls": False,
                "reasoning": {"effort": "high", "summary": "auto"},
                "store": False,
                "include": ["reasoning.encrypted_content"],
                "prompt_cache_key": "x",
                "text": {"verbosity": "low"},
                "client_metadata": {"x": "y"},
            },
        ),
        # As Claude Code asks.
        (
            MESSAGES,
            {
                "system": [{"type": "text", "text": "x"}],
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": "high"},
                "metadata": {"user_id": "x"},
                "context_management": {"edits": [{"type": "clear_thinking_20251015"}]},
            },
        ),
    ],
)
def test_what_agents_ask_for_otherwise_is_taken(dialect, body):
    assert read(dialect, **body).body.items() >= body.items()


def test_fields_that_a_program_leaves_empty_are_not_passed_on():
    empty = {"previous_response_id": None, "background": False, "web_search": "", "plugins": []}
    asked = read(RESPONSES, **empty, store=False).body
    assert asked.keys() == {"model", "store"}


def test_tools_that_run_in_the_sandbox_are_taken():
    read(tools=[{"type": "function", "function": {"name": "look"}}])
    read(MESSAGES, tools=[{"name": "look"}, {"type": "bash_20250124", "name": "bash"}])


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"[" * 100_000])
def test_what_is_no_request_is_refused(raw):
    with pytest.raises(ModelRejected):
        read_request(CHAT, raw, "model-1")


def test_the_limit_of_the_reply_keeps_the_name_that_the_program_gave_it():
    asked = read(max_completion_tokens=90)
    assert limited(asked, CHAT, 50)["max_completion_tokens"] == 50
    assert "max_tokens" not in limited(asked, CHAT, 50)
    assert limited(read(), CHAT, 50)["max_tokens"] == 50


def thinking(budget_tokens, max_tokens=32_000):
    told = {"type": "enabled", "budget_tokens": budget_tokens}
    return read(MESSAGES, max_tokens=max_tokens, thinking=told)


@pytest.mark.parametrize("budget_tokens", [1_024, 16_000, 31_999])
@pytest.mark.parametrize("reply_tokens", [2_048, 10_000, 31_999])
def test_thinking_stays_shorter_than_a_reply_that_became_shorter(budget_tokens, reply_tokens):
    asked = thinking(budget_tokens)
    body = limited(asked, MESSAGES, reply_tokens)
    assert body["max_tokens"] == reply_tokens
    # Anthropic takes no budget below 1,024, and none that the reply does not hold.
    assert 1_024 <= body["thinking"]["budget_tokens"] < reply_tokens
    assert asked.shortest_reply == 2_048


@pytest.mark.parametrize("reply_tokens", [1, 64, 1_024])
def test_a_reply_too_short_to_hold_any_thoughts_is_asked_for_without(reply_tokens):
    body = limited(thinking(16_000), MESSAGES, reply_tokens)
    assert "thinking" not in body
    assert body["max_tokens"] == reply_tokens


def test_thinking_goes_on_as_it_is_where_the_reply_may_be_as_long_as_asked_for():
    asked = thinking(31_999)
    assert limited(asked, MESSAGES, 32_000)["thinking"] == asked.body["thinking"]
    assert read(MESSAGES, max_tokens=500).shortest_reply < 100


@given(st.text())
def test_the_bound_is_never_below_the_bytes_of_a_text(text):
    asked = read(messages=[{"role": "user", "content": text}])
    assert asked.input_tokens >= len(text.encode("utf-8", "replace"))
