"""Reading JSON that a model wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.construct.answers.json_text import read_json
from taskdata.errors import BadTaskData

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_json_can_say_is_read_as_it_is(value):
    assert read_json(json.dumps(value)) == value
    assert read_json(f"```json\n{json.dumps(value, ensure_ascii=False)}\n```") == value


@given(st.text(alphabet='{}[]",:\\0123456789.eE-ntrufalsN`\n \ud800', max_size=60))
def test_any_text_is_read_or_refused_with_a_reason(text):
    try:
        value = read_json(text)
    except BadTaskData:
        return
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("text", ["1e999", "-1e999", "Infinity", "1" * 5_000, "{'a': 1}", "{} {}"])
def test_what_is_no_plain_json_is_refused(text):
    with pytest.raises(BadTaskData):
        read_json(text)


def test_brackets_in_texts_are_no_depth():
    assert read_json(json.dumps("[" * 500 + '\\"' + "{" * 500)) == "[" * 500 + '\\"' + "{" * 500


def test_many_quotes_take_no_time():
    with pytest.raises(BadTaskData):
        read_json('"' + '\\"' * 90_000)
