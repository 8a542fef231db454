"""Foreign JSON is cut into rows; a bad row costs itself, a bad document everything."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskdata.errors import BadTaskData
from taskdata.formats import documents

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner),
    max_leaves=8,
).filter(lambda value: "inf" not in repr(value) and "Inf" not in repr(value))


@pytest.fixture
def rows(tmp_path):
    """The rows of a document: key and value, or key and reason."""

    def read(document: bytes | str) -> list:
        path = tmp_path / "document.json"
        path.write_bytes(document.encode() if isinstance(document, str) else document)
        return [
            (row.item, str(row.refused) if row.refused else row.value)
            for row in documents.members(path)
        ]

    return read


@given(
    document=st.dictionaries(texts, values, max_size=4) | st.lists(values, max_size=4),
    chunk=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
    ascii=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_members_are_those_of_the_document(tmp_path_factory, document, chunk, indent, ascii):
    path = tmp_path_factory.mktemp("d") / "d.json"
    text = json.dumps(document, indent=indent, ensure_ascii=ascii)
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    before, documents._CHUNK = documents._CHUNK, chunk
    try:
        read = list(documents.members(path))
    finally:
        documents._CHUNK = before
    expected = document.items() if isinstance(document, dict) else enumerate(document)
    assert [(row.item, row.value) for row in read] == [(str(k), v) for k, v in expected]
    assert [row.number for row in read] == list(range(1, len(document) + 1))


@pytest.mark.parametrize(
    "document",
    [
        "",
        "null",
        '"text"',
        '{"a": 1',
        '{"a": 1,}',
        "[1 2]",
        "[1, {]}",
        '{"a": 1} {"b": 2}',
        '{"a": tru}',
        '{"a": "open}',
        b'{"a": "\xff"}',
        b'{"a": 1}\x00',
    ],
)
def test_what_is_no_json_document_is_refused_as_a_whole(rows, document):
    with pytest.raises(BadTaskData, match=r"document\.json"):
        rows(document)


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ('{"w": NaN}', "NaN"),
        ('{"w": [-Infinity]}', "finite"),
        ('{"w": 1e999}', "finite"),
        ('{"w": 1, "w": 2}', "twice"),
        ('"\\ud800"', "surrogate"),
        ("9" * 5_000, "digits"),
        ("[" * 70 + "]" * 70, "deeper than 64"),
        ("[" * 100_000 + "]" * 100_000, "deeper than 64"),
        ('"' + "x" * (documents.MAX_ROW_BYTES + 1) + '"', "larger than 4 MB"),
    ],
)
def test_a_hostile_member_is_refused_and_the_next_one_read(rows, member, reason):
    first, second = rows(f'{{"bad one": {member}, "good": [1]}}')
    assert first[0] == "bad one"
    assert reason in first[1]
    assert second == ("good", [1])


DEEP = '{"sub_tasks": [' * 5_000 + "]}" * 5_000
LONG = "x" * (documents.MAX_ROW_BYTES + 1)


@pytest.mark.parametrize(
    ("task", "field"),
    [
        ('"query": "do", "tree": [{"weight": NaN}]', "tree.0.weight"),
        ('"query": "do", "tree": [{"weight": 1e999}]', "tree.0.weight"),
        (f'"query": "do", "tree": [{{"weight": {"9" * 5_000}}}]', "tree.0.weight"),
        ('"query": "do", "tree": [{"id": "a\\u0000b"}]', "tree.0.id"),
        ('"tags": {"\\ud800": 1}', "tags.\ud800"),
        (f'"id": "a", "tree": {DEEP}, "query": "do"', "tree"),
        (f'"id": "a", "query": "{LONG}", "tree": []', "query"),
    ],
)
@pytest.mark.parametrize("is_document", [True, False])
def test_what_cannot_be_borne_is_named_by_its_field(tmp_path, task, field, is_document):
    path = tmp_path / "t.json"
    path.write_text(f'{{"7": {{{task}}}}}' if is_document else f"{{{task}}}\n")
    read = documents.members if is_document else documents.lines
    (row,) = read(path)
    assert row.item == ("7" if is_document else None)
    assert row.refused.field == field


def test_a_line_that_is_no_json_is_refused_and_the_next_one_read(tmp_path):
    path = tmp_path / "t.jsonl"
    deep = "[" * 5_000 + "]" * 5_000
    path.write_text(f'{{"a": 1}}\n\nnot json\n{deep}\n{{"a": NaN}}\n{{"a": 2}}')
    read = list(documents.lines(path))
    assert [row.number for row in read] == [1, 3, 4, 5, 6]
    assert [row.value for row in read] == [{"a": 1}, None, None, None, {"a": 2}]
    reasons = [str(row.refused) for row in read if row.refused]
    assert "not JSON" in reasons[0]
    assert "deeper" in reasons[1]
    assert "NaN" in reasons[2]


@pytest.mark.parametrize("document", [b'{"a": 1}\n{"a": ', b'{"a": "\xe9"}\n'])
def test_lines_that_end_too_early_or_are_not_utf8_are_refused_as_a_whole(tmp_path, document):
    path = tmp_path / "t.jsonl"
    path.write_bytes(document)
    with pytest.raises(BadTaskData, match=r"t\.jsonl"):
        list(documents.lines(path))


def test_an_endless_line_costs_only_itself(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'"' + b"x" * (3 * documents.MAX_ROW_BYTES) + b'"\n[1]\n')
    first, second = documents.lines(path)
    assert "larger than" in str(first.refused)
    assert second.value == [1]
