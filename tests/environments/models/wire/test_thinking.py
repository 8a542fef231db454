"""What a model thought, wherever a server puts it, and nothing where it puts something odd."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.wire.thinking import (
    MAX_THINKING_CHARS,
    chat_thinking,
    messages_thinking,
    responses_thinking,
)


@pytest.mark.parametrize(
    ("message", "thinking"),
    [
        ({"reasoning_content": "Hm."}, "Hm."),
        ({"reasoning": "Hm.", "reasoning_details": [{"text": "again"}]}, "Hm."),
        (
            {"reasoning_details": [{"text": "Hm."}, {"summary": "So."}, {"data": "c2VjcmV0"}]},
            "Hm.\n\nSo.",
        ),
        (
            {"content": [{"type": "thinking", "thinking": [{"text": "Hm."}]}, {"text": "No."}]},
            "Hm.",
        ),
        ({"content": "No thoughts.", "reasoning_content": None}, ""),
        ({"reasoning": {"effort": "high"}, "reasoning_details": "odd"}, ""),
    ],
)
def test_four_places_in_a_chat_completion(message, thinking):
    assert chat_thinking(message) == thinking


def test_blocks_that_hide_what_was_thought_say_nothing():
    blocks = [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "said, not thought"},
    ]
    assert messages_thinking(blocks) == ""


def test_a_response_shows_its_reasoning_in_full_rather_than_summed_up():
    item = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "short"}],
        "content": [{"type": "reasoning_text", "text": "at length"}],
    }
    assert responses_thinking([item]) == "at length"
    assert responses_thinking([item | {"content": []}]) == "short"


def test_a_flood_of_thoughts_is_cut_and_what_stores_refuse_is_replaced():
    assert len(chat_thinking({"reasoning": "x" * 1_000_000})) == MAX_THINKING_CHARS
    assert chat_thinking({"reasoning": "a\0b\ud800"}) == "a\N{REPLACEMENT CHARACTER}b?"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "thinking", "summary", "content", "reasoning_details"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_nothing_that_a_server_writes_breaks_the_reading(value):
    for read in (messages_thinking, responses_thinking):
        assert isinstance(read(value), str)
    if isinstance(value, dict):
        assert isinstance(chat_thinking(value), str)
