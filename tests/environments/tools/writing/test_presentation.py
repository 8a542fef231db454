from itertools import pairwise

import pytest
from PIL import Image
from pptx import Presentation
from pptx.util import Inches, Pt

from taskdata.schema.tool import ToolErrorKind

CHART = {
    "kind": "pie",
    "categories": ["Nord", "Süd"],
    "series": [{"name": "Umsatz", "values": [3, 1.5]}],
}


@pytest.fixture
def deck(written, workspace):
    """A deck with everything a slide can hold."""
    Image.new("RGB", (300, 100), "blue").save(workspace / "input/i.png")
    slides = [
        {"title": "Start", "bullets": ["**Wachstum** & <mehr>", "two\nlines"], "notes": "Hallo"},
        {"title": "Zahlen", "bullets": ["left"], "table": [["k", "v"], ["a", 1.5]], "chart": CHART},
        {"title": "Bild", "image": "input/i.png"},
    ]
    result = written(
        "PptxFileGenerator", path="output/a.pptx", slides=slides, title_size_pt=40, body_size_pt=24
    )
    assert result.text == (
        "Wrote output/a.pptx: 3 slides, 1 table, 1 chart, 1 image, notes on 1 slide."
    )
    return Presentation(str(workspace / "output/a.pptx"))


def test_titles_bullets_and_notes(deck):
    first = deck.slides[0]
    assert [slide.shapes.title.text_frame.text for slide in deck.slides] == [
        "Start",
        "Zahlen",
        "Bild",
    ]
    assert first.placeholders[1].text_frame.text == "Wachstum & <mehr>\ntwo\vlines"
    assert first.notes_slide.notes_text_frame.text == "Hallo"
    assert not deck.slides[2].has_notes_slide


def test_every_run_states_its_size(deck):
    sizes = {
        (shape == slide.shapes.title, run.font.size)
        for slide in deck.slides
        for shape in slide.shapes
        if shape.has_text_frame
        for paragraph in shape.text_frame.paragraphs
        for run in paragraph.runs
    }
    assert {size for _, size in sizes} == {Pt(40), Pt(24)}
    assert deck.slides[0].placeholders[1].text_frame.paragraphs[0].runs[0].font.bold


def test_tables_charts_and_images_are_native(deck):
    shapes = list(deck.slides[1].shapes)
    table = next(s.table for s in shapes if s.has_table)
    assert [[c.text for c in row.cells] for row in table.rows] == [["k", "v"], ["a", "1.5"]]
    chart = next(s.chart for s in shapes if s.has_chart)
    assert chart.chart_type.name == "PIE"
    assert list(chart.plots[0].categories) == ["Nord", "Süd"]
    assert list(chart.plots[0].series[0].values) == [3.0, 1.5]
    picture = deck.slides[2].shapes[-1]
    assert picture.width == pytest.approx(picture.height * 3, rel=0.01)


def test_everything_lies_on_the_slide_side_by_side(deck):
    assert (deck.slide_width, deck.slide_height) == (Inches(13.333), Inches(7.5))
    for slide in deck.slides:
        for shape in slide.shapes:
            assert shape.left >= 0
            assert shape.left + shape.width <= deck.slide_width
            assert shape.top + shape.height <= deck.slide_height
    content = sorted((s.left, s.left + s.width) for s in list(deck.slides[1].shapes)[1:])
    assert len(content) == 3
    assert all(left[1] <= right[0] for left, right in pairwise(content))


def test_chart_lengths_must_agree(run):
    chart = CHART | {"categories": ["only one"]}
    slides = [{"title": "x", "chart": chart}]
    result = run("PptxFileGenerator", path="output/a.pptx", slides=slides)
    assert result.error is ToolErrorKind.BAD_ARGUMENTS
    assert "slides[0].chart: series 'Umsatz' has 2 values for 1 categories" in result.text
