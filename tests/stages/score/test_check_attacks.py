"""What an agent might deliver to gain something, or to break a check."""

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskdata.schema.views import (
    AudioView,
    Cell,
    CsvView,
    DocumentView,
    HtmlView,
    JsonView,
    Page,
    Paragraph,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    Table,
    TextRun,
    TextView,
    WorkbookView,
)

EXAMPLES = yaml.safe_load(Path(__file__).with_name("check_examples.yaml").read_text("utf-8"))

EMPTY = {
    "memo.docx": DocumentView(paragraphs=()),
    "notes.md": TextView(text=" \n"),
    "page.html": HtmlView(title="", headings=(), text=""),
    "data.csv": CsvView(table=Table(rows=(("id", "day", "amount", "note"),))),
    "deck.pptx": SlidesView(slides=(), width_pt=720, height_pt=540),
    "chime.wav": AudioView(
        seconds=0, sample_rate=8000, channels=1, peak=0, rms=0, envelope=()
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "deliverable", "args"),
    [
        ("text_length", "notes.md", {"max_words": 100}),
        ("text_matches", "notes.md", {"pattern": "x", "min_count": 0, "max_count": 3}),
        ("html_scripts", "page.html", {}),
        ("html_external", "page.html", {}),
        ("csv_unique", "data.csv", {"columns": ["id"]}),
        ("csv_no_missing", "data.csv", {"columns": ["id"]}),
        ("csv_column_matches", "data.csv", {"column": "id", "pattern": ".*"}),
        ("pptx_slides", "deck.pptx", {"max": 9}),
        ("pptx_text_size", "deck.pptx", {"min_pt": 1}),
        ("pptx_words_per_slide", "deck.pptx", {"max": 9}),
        ("pptx_notes", "deck.pptx", {"min_words": 1}),
        ("audio_silence", "chime.wav", {"start": 0, "end": 0.2}),
        ("audio_level", "chime.wav", {"max_peak": 1}),
        ("audio_duration", "chime.wav", {"seconds": 0, "tolerance": 1}),
    ],
)
def test_an_empty_deliverable_earns_nothing_by_having_no_faults(run, name, deliverable, args):
    assert run(name, deliverable, args, EMPTY).score == 0


def test_listing_many_guesses_is_no_help(run):
    many = " ".join(str(n) for n in range(500))
    assert run("answer_number", None, {"expected": 42}, answer=many).score == 0
    rows = (("Region", "Revenue"), *(("North", str(n)) for n in range(2000)))
    guesses = {"data.csv": CsvView(table=Table(rows=rows))}
    args = {"columns": ["Region", "Revenue"], "key": "Region", "rows": [["North", 1234]]}
    assert run("csv_table", "data.csv", args, guesses).score == 0
    tables = tuple(Table(rows=(("Region", "Revenue"), ("North", str(n)))) for n in range(2000))
    document = {"memo.docx": DocumentView(paragraphs=(), tables=tables)}
    assert run("table_contains", "memo.docx", args, document).score == 0


def test_a_text_that_makes_a_pattern_explode_finds_nothing(run, monkeypatch):
    monkeypatch.setattr("stages.score.check.REGEX_SECONDS", 0.2)
    text = {"notes.md": TextView(text="a" * 5000 + "!")}
    leaf = run("text_matches", "notes.md", {"pattern": r"(a|aa)+$"}, text)
    assert leaf.score == 0
    assert "too long" in leaf.reason


CELL = st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=12)
JSON = st.recursive(
    CELL | st.integers(-(10**299), 10**299),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
WORDS = ["id", "Region", "Revenue", "7", "1e999", "-", "%", "", "٣", "NaN"]
ROWS_OF_TEXT = st.lists(
    st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=5), max_size=8
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS_OF_TEXT, value=JSON, text=st.text(max_size=200), cells=st.lists(CELL, max_size=8))
def test_nothing_an_agent_writes_breaks_a_check(run, rows, value, text, cells):
    table = Table(rows=tuple(map(tuple, rows)))
    addresses = [f"{column}{row}" for row in range(3, 7) for column in "AB"]
    sheet = Sheet(
        name="Regions",
        cells={a: Cell(value=v) for a, v in zip(addresses, cells, strict=False)},
        rows=6,
        columns=2,
    )
    views = {
        "memo.docx": DocumentView(paragraphs=(Paragraph(text=text, level=1),), tables=(table,)),
        "report.pdf": PdfView(
            pages=(Page(text=text, tables=(table, table), width=1, height=1),), page_count=1
        ),
        "notes.md": TextView(text=text),
        "page.html": HtmlView(title=text, headings=(), text=text, tables=(table,), links=(text,)),
        "book.xlsx": WorkbookView(sheets=(sheet,)),
        "data.csv": CsvView(table=table),
        "out.json": JsonView(value=value),
        "deck.pptx": SlidesView(
            slides=(Slide(title=text, runs=(TextRun(text=text),), tables=(table,)),),
            width_pt=1,
            height_pt=1,
        ),
    }
    for name, deliverable, args, _ in EXAMPLES:
        leaf = run(name, deliverable, args, views, answer=text)
        assert leaf.score is not None, f"{name}: {leaf.reason}"
