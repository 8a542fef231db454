"""What a judge is told of each kind of file."""

import pytest

from stages.score.judging.frames import Part
from stages.score.judging.showing import parts_of
from taskdata.schema.views import (
    Attachment,
    AudioView,
    Cell,
    CsvView,
    DocumentView,
    HtmlView,
    JsonView,
    MailView,
    Page,
    Paragraph,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    Table,
    TextRun,
    UnreadableView,
    WorkbookView,
)

TABLE = Table(rows=(("a", "b"), ("1", "2")))
SHEET = Sheet(
    name="Sales",
    rows=2,
    columns=1,
    charts=("bar",),
    cells={"A1": Cell(value="sum"), "A2": Cell(value=5.0, formula="=2+3"), "A3": Cell(value=None)},
)
SLIDE = Slide(
    title="Plan",
    runs=(TextRun(text="Plan", is_title=True),),
    notes="Smile",
    tables=(TABLE,),
    charts=("pie",),
    images=1,
)
DOCUMENT = DocumentView(
    paragraphs=(
        Paragraph(text="Report", level=0),
        Paragraph(text="Costs", level=1),
        Paragraph(text="All is"),
        Paragraph(text="well."),
    ),
    tables=(TABLE,),
    images=2,
    header="Draft",
    footer="Page 1",
)
PAGE = Page(text="One", width=1, height=1)
MAIL = MailView(
    headers=(("From", "ann@example.org"), ("Subject", "Plan")),
    text="See the plan.",
    attachments=(Attachment(name="plan.pdf", media_type="application/pdf", size_bytes=1234),),
)


@pytest.mark.parametrize(
    ("view", "parts"),
    [
        (UnreadableView(reason="not a ZIP"), [("this file cannot be read", "not a ZIP")]),
        (HtmlView(title="t", headings=(), text="Hello"), [("", "Hello")]),
        (JsonView(value={"ä": [1]}), [("", '{\n "ä": [\n  1\n ]\n}')]),
        (CsvView(table=TABLE), [("table of 2 rows", "a | b\n1 | 2")]),
        (
            WorkbookView(sheets=(SHEET,)),
            [('sheet "Sales": 2 rows, 1 columns, charts: "bar"', 'A1: "sum"\nA2: 5.0 =2+3\nA3: ')],
        ),
        (
            DOCUMENT,
            [
                ("header of the pages", "Draft"),
                ("title", "Report"),
                ("heading of level 1", "Costs"),
                ("paragraphs", "All is\nwell."),
                ("table of 2 rows", "a | b\n1 | 2"),
                ("images: 2", ""),
                ("footer of the pages", "Page 1"),
            ],
        ),
        (PdfView(pages=(PAGE,), page_count=3), [("page 1 of 3", "One")]),
        (
            SlidesView(slides=(SLIDE,), width_pt=720, height_pt=540),
            [
                ('slide 1, title "Plan"', "Plan"),
                ("table of 2 rows", "a | b\n1 | 2"),
                ('charts on it: "pie"', ""),
                ("images on it: 1", ""),
                ("notes to it", "Smile"),
            ],
        ),
        (
            MAIL,
            [
                ("headers of the message", "From: ann@example.org\nSubject: Plan"),
                ("text of the message", "See the plan."),
                ('attachment "plan.pdf": "application/pdf", 1,234 bytes', ""),
            ],
        ),
    ],
)
def test_a_file_is_told_in_parts_with_what_they_are(view, parts):
    assert parts_of(view) == [Part(*part) for part in parts]


def test_a_sound_is_told_by_what_was_measured():
    sound = AudioView(seconds=3, sample_rate=8000, channels=1, peak=0.5, rms=0.1, envelope=())
    (part,) = parts_of(sound)
    assert "3.00 s, 8000 Hz" in part.text
