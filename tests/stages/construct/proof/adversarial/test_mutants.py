"""Mutants have one fault each, in facts that requirements name and in every kind of file."""

import pytest

from stages.construct.proof.adversarial.mutants import Fault, mutants_of, other_value
from taskdata.schema.checkpoint import Check, Checkpoint
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
    TextRun,
    TextView,
    WorkbookView,
)

PRICES = (("Name", "Cost", "Note"), ("Pear", "12.50", "ripe"), ("Fig", "7", "dry"))
PEAR = {"name": "Pear", "cost": 12.5}
ROWS = {"columns": ["Name", "Cost"], "key": "Name", "rows": [["Pear", 12.5], ["Fig", 7]]}


def leaf(name, deliverable, args, requirement="It is right."):
    verifier = Check(name=name, deliverable=deliverable, args=args)
    return Checkpoint(id="leaf", requirement=requirement, verifier=verifier)


def faults(view, *leaves, name="a", is_file=False):
    found = mutants_of(name, view, leaves, "seed", is_file=is_file)
    return {(mutant.fault, mutant.what) for mutant in found.asked_for}


def kinds(view, *leaves, **named):
    return {fault for fault, _ in faults(view, *leaves, **named)}


def csv(rows=PRICES):
    return CsvView(table=Table(rows=rows))


def book(rows=PRICES):
    cells = {
        f"{chr(65 + column)}{number}": Cell(value=value)
        for number, row in enumerate(rows, start=1)
        for column, value in enumerate(row)
    }
    return WorkbookView(sheets=(Sheet(name="Prices", cells=cells, rows=3, columns=3),))


def test_equal_seeds_give_equal_mutants_and_others_do_not():
    rows = (("Name", "Cost"), *((f"Item {n}", f"{n}.50") for n in range(60)))
    asked = leaf(
        "csv_table", "a.csv", {**ROWS, "rows": [[f"Item {n}", n + 0.5] for n in range(60)]}
    )
    first, same, other = (
        [m.what for m in mutants_of("a.csv", csv(rows), [asked], seed, is_file=True).asked_for]
        for seed in ("one", "one", "two")
    )
    assert first == same
    assert first != other


def test_a_table_is_mutated_where_the_check_names_rows_and_columns():
    asked = leaf("csv_table", "a.csv", ROWS)
    found = mutants_of("a.csv", csv(), [asked], "seed", is_file=True)
    whole = {Fault.DELETED, Fault.RENAMED, Fault.EMPTIED, Fault.SKELETON}
    assert {mutant.fault for mutant in found.asked_for} == whole | {
        Fault.VALUE,
        Fault.ROW_DROPPED,
        Fault.COLUMN,
    }
    assert not any("Note" in mutant.what for mutant in found.asked_for)
    assert found.not_asked_for > 0


def test_words_of_a_requirement_are_asked_for_though_no_check_looks_at_them():
    careless = leaf("csv_columns", "a.csv", {"columns": ["Name"]}, "It lists two kinds of fruit.")
    assert Fault.ROW_DROPPED in kinds(csv(), careless)
    assert Fault.ROW_ADDED in kinds(csv(), careless)
    silent = leaf("csv_columns", "a.csv", {"columns": ["Name"]}, "It lists fruit.")
    assert not kinds(csv(), silent) & {Fault.ROW_DROPPED, Fault.ROW_ADDED}


@pytest.mark.parametrize(
    ("view", "check", "expected"),
    [
        (book(), ("xlsx_table", {"sheet": "Prices", **ROWS}), {Fault.VALUE, Fault.SHEET}),
        (book(), ("xlsx_cells", {"sheet": "Prices", "cells": {"B2": 12.5}}), {Fault.VALUE}),
        (
            JsonView(value={"items": [PEAR], "total": 12.5}),
            (
                "json_items",
                {"path": "items", "key": "name", "rows": [{"name": "Pear", "cost": 12.5}]},
            ),
            {Fault.VALUE, Fault.ROW_DROPPED, Fault.COLUMN, Fault.SECTION},
        ),
        (
            JsonView(value={"totals": {"net": 12.5}}),
            ("json_values", {"values": {"totals.net": 12.5}}),
            {Fault.VALUE, Fault.SECTION},
        ),
        (
            DocumentView(paragraphs=(), tables=(Table(rows=PRICES),)),
            ("table_contains", ROWS),
            {Fault.VALUE, Fault.ROW_DROPPED, Fault.COLUMN},
        ),
        (
            TextView(text="# Costs\n\nA pear is 12.50.\n\n# Thanks\n\nBye."),
            ("text_contains", {"all": [["12.50"]]}),
            {Fault.FIGURE, Fault.SECTION},
        ),
        (
            DocumentView(
                paragraphs=(
                    Paragraph(text="Costs", level=1),
                    Paragraph(text="A pear is 12.50."),
                    Paragraph(text="Thanks", level=1),
                )
            ),
            ("text_contains", {"all": [["12.50"]]}),
            {Fault.FIGURE, Fault.SECTION},
        ),
        (
            SlidesView(
                slides=(
                    Slide(title="Costs", runs=(TextRun(text="12.50"),), charts=("bar",)),
                    Slide(title="Thanks", runs=()),
                ),
                width_pt=720,
                height_pt=540,
            ),
            ("pptx_charts", {"min": 1}),
            {Fault.CHART, Fault.SECTION},
        ),
        (
            HtmlView(title="", headings=(), text="Costs", links=("#costs",)),
            ("html_links", {"all": ["#costs"]}),
            {Fault.LINK},
        ),
        (
            AudioView(
                seconds=4, sample_rate=8000, channels=1, peak=0.5, rms=0.3, envelope=(0.3,) * 40
            ),
            ("audio_duration", {"seconds": 4, "tolerance": 0.5}),
            {Fault.CUT},
        ),
    ],
)
def test_every_kind_of_file_gets_its_faults(view, check, expected):
    name, args = check
    assert kinds(view, leaf(name, "a", args)) >= expected


def test_a_page_tells_the_changed_cell_in_its_text_too():
    page = Page(
        text="Prices\nName Cost Note\nPear 12.50 ripe\nFig 7 dry",
        tables=(Table(rows=PRICES),),
        width=595,
        height=842,
    )
    asked = leaf("table_contains", "a.pdf", ROWS)
    found = mutants_of("a.pdf", PdfView(pages=(page,), page_count=1), [asked], "s", is_file=True)
    dropped = [m.left for m in found.asked_for if m.fault is Fault.ROW_DROPPED]
    assert dropped
    for view in dropped:
        assert len(view.pages[0].tables[0].rows) == 2
        assert view.pages[0].text.count("\n") == 3
        assert ("12.50" in view.pages[0].text) == ("12.50" in str(view.pages[0].tables))


def test_pictures_are_blanked_whatever_their_check_looks_at():
    picture = ImageView(
        format="PNG", width=8, height=8, mode="RGB", grid=(("FF0000",) * 32,) * 32,
        colours={"FF0000": 1.0}, mean_luminance=76, contrast=0,
    )  # fmt: skip
    red = leaf("image_colour", "a.png", {"colour": "#FF0000", "min_share": 0.5})
    found = mutants_of("a.png", picture, [red], "s", is_file=True).asked_for
    (blanked,) = (mutant.left for mutant in found if mutant.fault is Fault.BLANKED)
    assert (blanked.width, blanked.colours) == (8, {"FFFFFF": 1.0})


def test_the_final_answer_is_mutated_in_the_figures_that_are_named():
    asked = leaf("answer_contains", None, {"all": [["466.05"]]}, "It is 466.05 for 11 articles.")
    found = mutants_of(None, "in 2025 it is 466.05, 11 are open.", [asked], "s", is_file=False)
    assert {m.left for m in found.asked_for} == {
        "in 2025 it is 566.05, 11 are open.",
        "in 2025 it is 466.05, 21 are open.",
    }
    assert found.not_asked_for == 1


@pytest.mark.parametrize(
    ("value", "others", "wrong"),
    [
        ("12,291.30", (), "22,291.30"),
        ("09:04", (), "19:04"),
        ("9", (), "1"),
        (0.06, (), 1.06),
        (-31.5, (), -41.5),
        (True, (), False),
        ("post", ("approve", "post"), "approve"),
        ("post", ("post",), "something else"),
    ],
)
def test_another_value_is_wrong_by_enough_to_matter(value, others, wrong):
    assert other_value(value, others) == wrong
