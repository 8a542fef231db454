"""A worthless deliverable for every family of checks: it stays at or below 2.

Keyword soup, all candidates listed, the input copied, a template with every number, everything in
one cell.
"""

import pytest

from stages.score.library import check_library
from taskdata.schema.views import (
    AudioView,
    Cell,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    Page,
    Paragraph,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    Table,
    TextView,
    VideoView,
    WorkbookView,
)

MOST = 2.0
FAMILIES = {
    "answer", "text", "headings", "table", "csv", "xlsx", "json", "pptx", "pdf", "docx", "html",
    "image", "audio", "video",
}  # fmt: skip

WORDS = ["supplier", "delay", "Findings", "Next steps", "refund", "North", "South", "10.5", "99"]
FILL = [f"{word}{ending}" for word in ("stock", "order", "cost", "site") for ending in range(90)]
SOUP = " ".join(FILL[:180] + WORDS + FILL[180:])
LISTED = "\n".join(f"- {word}" for word in FILL[:180] + WORDS + FILL[180:])
CSV = ", ".join(FILL[:180] + WORDS + FILL[180:])

INPUT = (
    ("region", "revenue", "status"),
    *((f"Area {n}", str(n * 7), "open" if n % 9 else "late") for n in range(90)),
)
LATE = {
    "columns": ["region", "revenue"],
    "key": "region",
    "rows": [[f"Area {n}", n * 7] for n in (9, 18, 27)],
    "max_rows": 10,
}
ONE_CELL = (("region", "revenue"), (" ".join(row[0] for row in INPUT), "7 14 21 63 126 189"))
TEMPLATE = (("region", "revenue"), *(("Area 9", str(n)) for n in range(200)))
WIDE = ((*(f"column {n}" for n in range(200)), "region", "revenue"), ("x",) * 202)
LATE_ITEMS = [{"region": f"Area {n}", "revenue": n * 7} for n in (9, 18, 27)]
CHEAP_ROWS = [[f"Area {n}"] for n in (9, 18, 27)]


def csv(rows):
    return CsvView(table=Table(rows=rows))


def book(rows, name="Late"):
    cells = {
        f"{chr(65 + column)}{number}": Cell(value=value)
        for number, row in enumerate(rows, start=1)
        for column, value in enumerate(row[:26])
    }
    return WorkbookView(sheets=(Sheet(name=name, cells=cells, rows=len(rows), columns=26),))


def deck(*titles, text=""):
    slides = tuple(Slide(title=t, runs=(), tables=(Table(rows=((text,),)),)) for t in titles)
    return SlidesView(slides=slides, width_pt=720, height_pt=540)


def pdf(text):
    return PdfView(pages=(Page(text=text, tables=(), width=595, height=842),), page_count=1)


def html(text="x", **fields):
    return HtmlView(title="", headings=(), text=text, **fields)


NOISE = ImageView(
    format="PNG",
    width=100,
    height=100,
    mode="RGB",
    grid=(("808080",) * 32,) * 32,
    colours={
        f"{red:02X}{green:02X}{blue:02X}": 1 / 64
        for red in range(0, 256, 64)
        for green in range(0, 256, 64)
        for blue in range(0, 256, 64)
    },
    mean_luminance=128,
    contrast=74,
)
GROUPS = {"all": [["supplier"], ["delay"], ["refund"]]}
EVERY_ITEM = [{"region": f"Area {n}", "revenue": n * 7} for n in range(90)]

CHEATS = {
    "answer: keyword soup": ("answer_contains", None, SOUP, GROUPS),
    "answer: a list of everything": ("answer_contains", None, LISTED, GROUPS),
    "answer: a row of everything": ("answer_contains", None, CSV, GROUPS),
    "answer: every number": ("answer_number", None, " ".join(map(str, range(80, 120))),
                             {"expected": 99}),
    "answer: three digits in a row": ("answer_number", None, " ".join(map(str, range(180, 195))),
                                      {"expected": 187}),
    "text: keyword soup as the answer": ("text_contains", None, SOUP, GROUPS),
    "text: a list as the answer": ("text_contains", None, LISTED, GROUPS),
    "text: keyword soup": ("text_contains", "a.md", TextView(text=SOUP), GROUPS),
    "text: a list of everything": ("text_contains", "a.md", TextView(text=LISTED), GROUPS),
    "text: a row of everything": ("text_contains", "a.md", TextView(text=CSV), GROUPS),
    "text: soup for a pattern": ("text_matches", "a.md", TextView(text=SOUP),
                                 {"pattern": r"order\d+", "min_count": 5}),
    "text: soup of the right length": ("text_length", "a.md", TextView(text=SOUP),
                                       {"min_words": 300}),
    "headings: everything in one": ("headings", "a.md",
                                    TextView(text="# Findings, next steps, refund\n"),
                                    {"expected": ["Findings", "Next steps"]}),
    "headings: every word is one": ("headings", "a.docx",
                                    DocumentView(paragraphs=tuple(
                                        Paragraph(text=w, level=1) for w in FILL + WORDS)),
                                    {"expected": ["Findings", "Next steps"]}),
    "table: the input copied": ("table_contains", "a.csv", csv(INPUT), LATE),
    "table: the input copied, no key": ("table_contains", "a.csv", csv(INPUT),
                                        {k: LATE[k] for k in ("columns", "rows")}),
    "table: everything in one cell": ("table_contains", "a.csv", csv(ONE_CELL), LATE),
    "table: a template with every number": ("table_contains", "a.csv", csv(TEMPLATE), LATE),
    "table: every key": ("table_contains", "a.csv", csv(INPUT),
                         {"columns": ["region"], "key": "region", "rows": CHEAP_ROWS}),
    "table: every column": ("table_shape", "a.csv", csv(WIDE), {"columns": ["region", "revenue"]}),
    "csv: the input copied": ("csv_table", "a.csv", csv(INPUT), LATE),
    "csv: everything in one cell": ("csv_table", "a.csv", csv(ONE_CELL), LATE),
    "csv: a template with every number": ("csv_table", "a.csv", csv(TEMPLATE), LATE),
    "csv: every column": ("csv_columns", "a.csv", csv(WIDE), {"columns": ["region", "revenue"]}),
    "csv: a template for the sum": ("csv_column_sum", "a.csv", csv(TEMPLATE),
                                    {"column": "revenue", "expected": 378}),
    "xlsx: the input copied": ("xlsx_table", "a.xlsx", book(INPUT), {"sheet": "Late", **LATE}),
    "xlsx: everything in one cell": ("xlsx_table", "a.xlsx", book(ONE_CELL),
                                     {"sheet": "Late", **LATE}),
    "xlsx: a template with every number": ("xlsx_table", "a.xlsx", book(TEMPLATE),
                                           {"sheet": "Late", **LATE}),
    "xlsx: everything in a cell": ("xlsx_cells", "a.xlsx", book(ONE_CELL),
                                   {"sheet": "Late", "cells": {"B2": 63}}),
    "xlsx: values where formulas are asked": ("xlsx_formulas", "a.xlsx", book((("=SUM(A1:A9)",),)),
                                              {"sheet": "Late", "range": "A:A", "pattern": "SUM"}),
    "xlsx: every sheet": ("xlsx_sheets", "a.xlsx",
                          WorkbookView(sheets=tuple(
                              Sheet(name=w, cells={}, rows=0, columns=0) for w in FILL + WORDS)),
                          {"names": ["Findings", "North"]}),
    "json: every item": ("json_items", "a.json", JsonView(value=EVERY_ITEM),
                         {"key": "region", "rows": LATE_ITEMS, "max_rows": 10}),
    "json: every key": ("json_items", "a.json", JsonView(value=EVERY_ITEM),
                        {"key": "region", "rows": [{"region": f"Area {n}"} for n in (9, 18)]}),
    "json: every number": ("json_values", "a.json", JsonView(value={"total": list(range(99))}),
                           {"values": {"total": 42}}),
    "json: everything in one field": ("json_values", "a.json", JsonView(value={"total": SOUP}),
                                      {"values": {"total": "supplier"}}),
    "json: a list too long": ("json_length", "a.json", JsonView(value=EVERY_ITEM),
                              {"min": 3, "max": 3}),
    "pptx: every title": ("pptx_titles", "a.pptx", deck(*FILL, *WORDS),
                          {"expected": ["Findings", "Next steps"]}),
    "pptx: soup on a slide": ("pptx_slide_contains", "a.pptx", deck("T", text=SOUP),
                              {"slide": 1, **GROUPS}),
    "pdf: soup on a page": ("pdf_page_contains", "a.pdf", pdf(SOUP), {"page": 1, **GROUPS}),
    "docx: soup in the footer": ("docx_footer", "a.docx",
                                 DocumentView(paragraphs=(), footer=SOUP), GROUPS),
    "docx: a list of everything": ("text_contains", "a.docx",
                                   DocumentView(paragraphs=tuple(
                                       Paragraph(text=w) for w in FILL + WORDS)), GROUPS),
    "html: every id": ("html_ids", "a.html", html(ids=tuple(FILL + WORDS)),
                       {"ids": ["North", "South"]}),
    "html: every link": ("html_links", "a.html", html(links=tuple(FILL + WORDS)),
                         {"all": ["North", "South"]}),
    "html: soup on a page": ("text_contains", "a.html", html(SOUP), GROUPS),
    "image: every colour": ("image_colour", "a.png", NOISE,
                            {"colour": "101010", "min_share": 0.2, "max_share": 0.3}),
    "audio: nothing to be heard": ("audio_sound", "a.wav",
                                   AudioView(seconds=2, sample_rate=8000, channels=1, peak=0,
                                             rms=0, envelope=(0.0,) * 20),
                                   {"start": 0, "end": 1, "min_rms": 0.1}),
    "video: the film as it came": ("video_duration", "a.mp4",
                                   VideoView(seconds=90, width=640, height=360,
                                             frames_per_second=25, has_sound=True),
                                   {"seconds": 30, "tolerance": 1}),
}  # fmt: skip


@pytest.mark.parametrize("case", CHEATS)
def test_a_worthless_deliverable_earns_at_most_2(run, case):
    name, deliverable, delivered, args = CHEATS[case]
    if deliverable is None:
        leaf = run(name, None, args, answer=delivered)
    else:
        leaf = run(name, deliverable, args, {deliverable: delivered})
    assert leaf.score is not None
    assert leaf.score <= MOST, leaf.reason


def test_every_family_has_a_cheat():
    covered = {case.partition(":")[0] for case in CHEATS}
    assert covered == FAMILIES
    families = {name.partition("_")[0] for name in check_library()} - {"file"}
    assert families <= FAMILIES


@pytest.mark.parametrize(
    ("name", "deliverable", "view"),
    [
        ("table_contains", "a.csv", csv((*INPUT[:1], INPUT[10], INPUT[19], INPUT[28]))),
        ("csv_table", "a.csv", csv((*INPUT[:1], INPUT[10], INPUT[19], INPUT[28]))),
    ],
)
def test_all_or_nothing_is_all_or_nothing(run, name, deliverable, view):
    args = LATE | {"all_or_nothing": True}
    assert run(name, deliverable, args, {deliverable: view}).score == 10
    wrong = LATE | {"rows": [*LATE["rows"][:2], ["Area 27", 1]]}
    assert run(name, deliverable, wrong, {deliverable: view}).score == pytest.approx(20 / 3)
    leaf = run(name, deliverable, wrong | {"all_or_nothing": True}, {deliverable: view})
    assert leaf.score == 0
    assert leaf.reason.endswith("; it is all or nothing")
    few = args | {"max_rows": 2}
    assert run(name, deliverable, few, {deliverable: view}).score == 0
