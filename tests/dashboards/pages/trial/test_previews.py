"""What is shown of each kind of deliverable; every text passes through the caps."""

from typing import get_args

import pytest

from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.previews import preview
from taskdata.schema.views import (
    ArchiveEntry,
    ArchiveView,
    Attachment,
    AudioView,
    Cell,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    MailView,
    Page,
    Paragraph,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    SvgView,
    Table,
    TextRun,
    TextView,
    UnreadableView,
    VideoView,
    View,
    WorkbookView,
)

TABLE = Table(rows=(("Region", "Revenue"), ("North", "1234.5")))
IMAGE = ImageView(
    format="PNG",
    width=1200,
    height=800,
    mode="RGB",
    grid=(("ffffff",),),
    colours={"ffffff": 1.0},
    mean_luminance=255,
    contrast=0,
)


SOUND = AudioView(seconds=2, sample_rate=44100, channels=1, peak=0.5, rms=0.1, envelope=(0.1,))
ONE_OF_EACH = (
    UnreadableView(reason="not a ZIP file"),
    TextView(text="plain"),
    CsvView(table=TABLE),
    JsonView(value={"total": 5}),
    WorkbookView(sheets=(Sheet(name="Sums", cells={"A1": Cell(value=5)}, rows=1, columns=1),)),
    DocumentView(paragraphs=(Paragraph(text="Go."),)),
    PdfView(pages=(Page(text="page", width=595, height=842),), page_count=1),
    SlidesView(slides=(Slide(title="Launch", runs=()),), width_pt=960, height_pt=540),
    HtmlView(title="Site", headings=(), text="Hi", links=(), scripts=0),
    MailView(headers=(("Subject", "Plan"),), text="See the plan."),
    IMAGE,
    SOUND,
    VideoView(seconds=2, width=64, height=48, frames_per_second=25, has_sound=True),
    SvgView(width=9, height=9, texts=("Jan",), elements={"rect": 3}),
    ArchiveView(entries=(ArchiveEntry(name="a/b.txt", size_bytes=1200),)),
)


def test_every_kind_of_view_has_a_preview():
    assert {type(view) for view in ONE_OF_EACH} == set(get_args(get_args(View)[0]))
    assert all(preview(view, CAPS[0]) for view in ONE_OF_EACH)


def test_a_sheet_shows_its_top_left_corner():
    cells = {"A1": Cell(value="Region"), "B1": Cell(value="Revenue")}
    cells |= {"A2": Cell(value="North"), "B2": Cell(value=0.1 + 0.2)}
    cells |= {"A3": Cell(value=None, formula="=SUM(B2:B2)"), "AB3": Cell(value=True)}
    sheet = Sheet(name="Sums", cells=cells, rows=900, columns=28, charts=("bar",), hidden=True)
    (block,) = preview(WorkbookView(sheets=(sheet,)), CAPS[0])
    assert block["title"] == "Sums (900 rows × 28 columns, bar chart, hidden)"
    assert [row[:2] for row in block["rows"][:3]] == [
        ["Region", "Revenue"],
        ["North", "0.3"],
        ["=SUM(B2:B2)", ""],
    ]
    assert len(block["rows"]) == CAPS[0].rows + 1
    assert {len(row) for row in block["rows"]} == {CAPS[0].columns}
    assert block["more"] == "884 more rows, 16 more columns"


def test_a_document_shows_headings_text_tables_and_footer():
    view = DocumentView(
        paragraphs=(Paragraph(text="Plan", level=1), Paragraph(text="  "), Paragraph(text="Go.")),
        tables=(TABLE,),
        images=2,
        footer="Page 1",
    )
    text, table, note = preview(view, CAPS[0])
    assert text["text"] == "# Plan\n\nGo."
    assert table["rows"] == [["Region", "Revenue"], ["North", "1234.5"]]
    assert note["text"] == "2 images; footer: Page 1"


def test_slides_show_titles_texts_charts_and_notes():
    slide = Slide(
        title="Launch",
        runs=(TextRun(text="Launch", is_title=True), TextRun(text="In May")),
        notes="Smile",
        charts=("pie",),
    )
    (block,) = preview(SlidesView(slides=(slide,), width_pt=960, height_pt=540), CAPS[0])
    assert block["title"] == "1. Launch"
    assert block["text"] == "In May\n[pie chart]\nNotes: Smile"


def test_a_message_shows_its_headers_its_text_and_what_is_attached():
    plan = Attachment(name="plan.pdf", media_type="application/pdf", size_bytes=1234)
    headers = (("From", "ann@example.org"), ("Subject", "Plan"))
    view = MailView(headers=headers, text="See the plan.", attachments=(plan,))
    first, text, attached = preview(view, CAPS[0])
    assert first["text"] == "From: ann@example.org\nSubject: Plan"
    assert text["text"] == "See the plan."
    assert attached["rows"][1] == ["plan.pdf", "application/pdf", "1,234 bytes"]


def test_pages_beyond_the_cap_are_counted():
    pages = tuple(Page(text=f"page {i}", width=595, height=842) for i in range(30))
    blocks = preview(PdfView(pages=pages, page_count=30), CAPS[0])
    assert blocks[0]["title"] == "Page 1 of 30"
    assert blocks[-1] == {"kind": "note", "text": "15 more pages"}


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (UnreadableView(reason="not a ZIP file"), "not a ZIP file"),
        (TextView(text="plain"), "plain"),
        (CsvView(table=TABLE), "1234.5"),
        (JsonView(value={"total": 5}), '"total": 5'),
        (
            HtmlView(
                title="Site",
                headings=(Paragraph(text="Welcome", level=2),),
                text="Hi",
                links=("javascript:alert(1)",),
                scripts=3,
            ),
            "## Welcome",
        ),
        (
            HtmlView(title="Site", headings=(), text="Hi", links=("a", "b"), scripts=3),
            "2 links, 0 images, 3 scripts",
        ),
        (IMAGE, "PNG, 1,200 × 800 pixels, RGB"),
        (SOUND, "2.00 s, 44,100 Hz, 1 channel, peak 0.500, RMS 0.100"),
    ],
)
def test_other_kinds_show_what_they_hold(view, said):
    shown = [str(block) for block in preview(view, CAPS[0])]
    assert any(said in text for text in shown)


def test_the_tightest_cap_leaves_a_note_alone():
    assert preview(TextView(text="plain"), CAPS[-1]) == [
        {"kind": "note", "text": "text: not shown, to keep this page small"}
    ]


def test_a_huge_table_is_cut_in_both_directions_and_in_every_cell():
    rows = tuple(tuple("x" * 5_000 for _ in range(60)) for _ in range(500))
    (block,) = preview(CsvView(table=Table(rows=rows)), CAPS[0])
    assert len(block["rows"]) == CAPS[0].rows + 1
    assert block["more"] == "484 more rows, 48 more columns"
    assert block["rows"][0][0] == ["x" * 300, 4_700]
