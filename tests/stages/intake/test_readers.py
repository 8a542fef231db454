"""Whatever bytes a file holds: rows, or one error that names it."""

import csv
import io
import json
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.intake.readers.delimited import read_csv
from stages.intake.readers.jsonl import read_jsonl
from stages.intake.readers.raw import MAX_ROW_BYTES
from stages.intake.readers.yaml_list import MAX_YAML_BYTES, read_yaml
from taskdata.errors import BadTaskData
from taskdata.schema.seed import EXCERPT_CHARACTERS

GOOD = '{"text": "sum the figures", "source": "internal"}\n'


def rows_of(reader, content):
    data = content.encode() if isinstance(content, str) else content
    return list(reader(io.BytesIO(data), "seeds"))


def test_a_line_of_json_is_a_row_numbered_as_in_an_editor():
    first, second = rows_of(read_jsonl, f"\ufeff{GOOD}\n \n{GOOD}")
    assert (first.number, second.number) == (1, 4)
    assert second.fields == {"text": "sum the figures", "source": "internal"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "cut o', "not JSON"),
        (b'{"text": "caf\xe9"}', "not UTF-8 at byte 14"),
        (b'{"text": "a"} {"text": "b"}', "not JSON"),
        (b'["text"]', "expected a JSON object, got a list"),
        (b"3", "expected a JSON object, got a number"),
        (b'{"text": "a\x00b"}', "not JSON"),
        (b'{"n": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "nested too deeply"),
        (b'{"n": ' + b"9" * 10_000 + b"}", "too long"),
        (b'{"text": "a", "text": "b"}', "more than once"),
        (b'{"date": NaN}', "NaN"),
        (b'{"date": [{"a": -Infinity}]}', "NaN"),
        (b'{"date": 1e999}', "NaN"),
        (b'{"text": "' + b"x" * (MAX_ROW_BYTES + 1) + b'"}', "longer than 2 MiB"),
    ],
)
def test_a_bad_line_costs_that_line_alone(line, reason):
    good, bad, also_good = rows_of(read_jsonl, GOOD.encode() + line + b"\n" + GOOD.encode())
    assert good.fault is also_good.fault is None
    assert reason in bad.fault.reason
    assert bad.number == 2
    assert len(bad.excerpt) <= 2 * EXCERPT_CHARACTERS


def test_a_line_that_is_nested_too_deeply_names_the_field():
    deep = b'{"text": "a", "date": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b', "url": "b"}'
    (row,) = rows_of(read_jsonl, deep)
    assert row.fault.field == "date"


def test_the_cell_of_csv_that_does_not_end_is_named():
    long = b"word " * (MAX_ROW_BYTES // 5)
    (row,) = rows_of(read_csv, b'text,source,url\n"one, ""two""\nlines",web,"' + long + b'"\n')
    assert row.fault.field == "url"


def test_what_is_wrong_with_one_field_names_it():
    (bad,) = rows_of(read_jsonl, '{"text": "a", "date": NaN}')
    assert bad.fault.field == "date"


@pytest.mark.parametrize("reader", [read_jsonl, read_csv, read_yaml])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_file_that_does_not_begin_as_utf8_is_refused(reader, encoding):
    with pytest.raises(
        BadTaskData, match=r"seeds: .* is not UTF-8 at byte 1; save the file as UTF-8"
    ):
        rows_of(reader, GOOD.encode(encoding))


def test_a_row_of_csv_is_its_cells_by_column():
    rows = rows_of(
        read_csv, '\ufefftext , source\r\n"two\nlines, one ""text""",\r\n\r\n,\r\nb,web\r\n'
    )
    assert [row.fields for row in rows] == [
        {"text": 'two\nlines, one "text"', "source": None},
        {"text": "b", "source": "web"},
    ]
    assert [row.number for row in rows] == [1, 2]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"only one cell", "has 1 cells where the header has 2"),
        (b"a,b,c", "has 3 cells where the header has 2"),
        (b"caf\xe9,web", "not UTF-8"),
        (b'"a" b,web', "not CSV"),
        (b"x" * 131_073 + b",web", "more than 131072 characters"),
        (b'"' + b'a ""b""\n' * 30_000 + b'",web', "more than 131072 characters"),
        (b'"' + b"x" * (MAX_ROW_BYTES + 1) + b'\n",web', "longer than 2 MiB"),
    ],
)
def test_a_bad_row_of_csv_costs_that_row_alone(row, reason):
    csv.field_size_limit(10_000_000)  # as another reader in the process may have left it
    rows = rows_of(read_csv, b"text,source\ngood,web\n" + row + b"\ngood again,web\n")
    assert [r.fault is None for r in rows] == [True, False, True]
    assert reason in rows[1].fault.reason


def test_a_quote_that_is_never_closed_is_told():
    good, bad = rows_of(read_csv, 'text,source\ngood,web\n"never closed,web\nswallowed,web\n')
    assert good.fault is None
    assert "unexpected end" in bad.fault.reason


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("question,source", "no column 'text'"),
        ("text;source", "separated by commas"),
        ("text,sorce", "'sorce' is not known; did you mean 'source'"),
        ("text,Text", "more than once"),
        ('"text', "header"),
    ],
)
def test_a_header_that_makes_no_seeds_refuses_the_file(header, message):
    with pytest.raises(BadTaskData, match=message):
        rows_of(read_csv, f"{header}\na,b\n")


def test_a_yaml_list_is_taken_as_it_is_written():
    (row,) = rows_of(
        read_yaml, "- text: 10 %\n  date: 2026-03-01\n  url: null\n  attachments: [a, b]\n"
    )
    assert row.fields == {
        "text": "10 %",
        "date": "2026-03-01",
        "url": None,
        "attachments": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("- just text", "expected a mapping of fields, got a single value"),
        ("- [a, b]", "expected a mapping of fields, got a list"),
        ("- {text: a, text: b}", "more than once"),
        ("- {text: !!python/name:os.system x}", "tag"),
        ("- {[a]: b}", "tag"),
    ],
)
def test_a_bad_item_of_yaml_costs_that_item_alone(item, reason):
    rows = rows_of(read_yaml, f"- text: good\n{item}\n- text: good again\n")
    assert [row.fault is None for row in rows] == [True, reason == "tag" and "[a]" in item, True]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ('- text: "cut o', "line 1: not YAML: found unexpected end of stream"),
        ("text: a", "expected a list of mappings, got a mapping"),
        ("- &a [x]\n- *a", "line 1: an anchor or alias is not allowed"),
        ("[" * 5_000 + "]" * 5_000, "nesting deeper than 20"),
        ("- text: a\n---\n- text: b\n", "not YAML"),
        ("- text: a\0b", "not YAML"),
        ("- text: " + "x" * MAX_YAML_BYTES, "larger than 5 MiB; write JSONL"),
        (b"- text: caf\xe9", "not UTF-8 at byte 12"),
    ],
)
def test_a_yaml_document_that_cannot_be_read_is_refused(document, message):
    with pytest.raises(BadTaskData, match=message):
        rows_of(read_yaml, document)


@pytest.mark.parametrize("reader", [read_jsonl, read_csv, read_yaml])
@pytest.mark.parametrize("content", ["", "\ufeff", "\n\n"])
def test_an_empty_file_has_no_rows(reader, content):
    assert rows_of(reader, content) == []


@pytest.mark.parametrize(
    ("reader", "head", "tail"),
    [(read_jsonl, b'{"text": "', b'"}\n'), (read_csv, b'text,source\n"', b'",web\n')],
)
def test_a_query_of_100_megabytes_is_not_held(reader, head, tail, tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(head)
        for _megabyte in range(100):
            file.write(b"word " * 209_715)
        file.write(tail)
    tracemalloc.start()
    with path.open("rb") as file:
        (row,) = reader(file, "seeds")
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (row.fault.field, row.fault.reason) == ("text", "longer than 2 MiB")
    assert peak < 12 << 20


def test_a_long_file_is_read_row_by_row(tmp_path):
    path = tmp_path / "long"
    line = json.dumps({"text": "word " * 20_000}) + "\n"
    path.write_text(line * 200)
    tracemalloc.start()
    with path.open("rb") as file:
        assert sum(row.fault is None for row in read_jsonl(file, "seeds")) == 200
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * len(line)


SNIPPETS = st.sampled_from(
    [b'"', b"\n", b"\r", b",", b"{", b"}", b"[", b"]", b":", b"- ", b"\0", b"\xff", b"text", b"&a"]
)


@pytest.mark.parametrize("reader", [read_jsonl, read_csv, read_yaml])
@given(st.lists(st.one_of(SNIPPETS, st.binary(max_size=20))).map(b"".join))
def test_whatever_the_bytes_rows_come_out_in_order_or_the_file_is_refused(reader, data):
    for content in (data, b"text,source\n" + data, b"- text: " + data):
        with suppress(BadTaskData):
            numbers = [row.number for row in rows_of(reader, content)]
            assert numbers == sorted(set(numbers))


@given(st.lists(st.dictionaries(st.text(), st.text()), max_size=5))
def test_what_json_writes_is_read(objects):
    text = "".join(json.dumps(o) + "\n" for o in objects)
    assert [row.fields for row in rows_of(read_jsonl, text)] == objects


CELL = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1).filter(
    lambda cell: cell == cell.strip()
)


@given(st.lists(st.tuples(CELL, CELL), max_size=5))
def test_what_csv_writes_is_read(rows):
    target = io.StringIO()
    csv.writer(target).writerows([("text", "source"), *rows])
    found = [tuple(row.fields.values()) for row in rows_of(read_csv, target.getvalue())]
    assert found == rows
