"""A conversation is sent again at every turn, and each part of it is written once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.wire import writing
from environments.models.wire.writing import ToolSets, opening_json, to_json, with_parts
from environments.ports import Message, Opening
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolSpec


def spec(name: str) -> ToolSpec:
    return ToolSpec(name=name, description="x", category=Capability.LOGIC, parameters={})


def test_messages_are_written_once_however_long_the_conversation_grows(
    wire, new_client, dialect, ask, monkeypatch
):
    written = []

    def counting(value):
        written.append(value)
        return to_json(value)

    client, conversation = new_client(dialect), [Message("user", "Hello?")]
    monkeypatch.setattr(writing, "to_json", counting)
    for number in range(5):
        ask(client, *conversation)
        conversation += [Message("assistant", f"{number}?"), Message("user", "Yes.")]

    # The fields of each request, and each message once.
    assert len(written) == 5 + (1 + 2 * 4)


def test_a_set_of_tools_is_written_once_and_a_changed_one_again():
    sets, tools = ToolSets(lambda tool: {"name": tool.name}), (spec("add"), spec("sub"))

    assert sets.json(tools) is sets.json(tools)
    assert sets.json((spec("add"),)) == (b'{"name":"add"}',)
    growing = [spec("add")]
    sets.json(growing)
    growing.append(spec("sub"))
    assert len(sets.json(growing)) == 2


@pytest.mark.parametrize("count", [300, 1000])
def test_only_so_many_sets_are_kept(count):
    written, tools = [], [spec(f"t{number}") for number in range(count)]

    def write(tool):
        written.append(tool.name)
        return {"name": tool.name}

    sets = ToolSets(write)
    for number, tool in enumerate(tools):
        assert sets.json((tool,)) == (b'{"name":"t%d"}' % number,)
    assert len(written) == count
    for tool in reversed(tools):
        sets.json((tool,))
    assert len(written) - count == count - 256


json_objects = st.dictionaries(
    st.text(max_size=8), st.none() | st.integers() | st.text(max_size=20), min_size=1, max_size=4
)


@given(json_objects, st.text(max_size=50))
def test_fields_and_written_parts_make_one_object(fields, text):
    whole = json.loads(with_parts(fields, {"messages ready": to_json([text])}))

    assert whole == fields | {"messages ready": [text]}


def test_what_no_request_can_hold_is_replaced():
    assert to_json("a\ud800b") == b'"a?b"'


def test_an_opening_is_written_as_other_texts_are_with_or_without_lone_surrogates():
    text = 'a "quoted" \\ line\n\x01\x7f é'
    broken = text + "\ud800"
    opening = Opening((text, broken))
    pieces = to_json({"text": text}), to_json({"text": broken})
    assert opening_json(opening, "any", lambda piece: {"text": piece}) == b",".join(pieces)
