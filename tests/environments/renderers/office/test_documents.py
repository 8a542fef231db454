import io

import docx
import pytest
from docx.oxml import OxmlElement
from PIL import Image
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches, Pt

from environments.renderers.office.docx import read_docx
from environments.renderers.office.pptx import read_pptx


def picture() -> io.BytesIO:
    buffer = io.BytesIO()
    Image.new("RGB", (20, 20), "red").save(buffer, "PNG")
    buffer.seek(0)
    return buffer


def test_docx_text_headings_tables_and_edges(tmp_path):
    document = docx.Document()
    document.add_heading("Report", 0)
    document.add_heading("Findings", 2)
    document.add_paragraph("All is well.")
    table = document.add_table(rows=2, cols=3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Name"
    table.cell(0, 2).text = "Value"
    table.cell(1, 2).text = "5"
    document.add_picture(picture())
    document.sections[0].footer.paragraphs[0].text = "Confidential"
    document.save(tmp_path / "report.docx")
    view = read_docx(tmp_path / "report.docx")
    assert [(p.text, p.level) for p in view.paragraphs] == [
        ("Report", 0),
        ("Findings", 2),
        ("All is well.", None),
    ]
    assert view.tables[0].rows == (("Name", "Name", "Value"), ("", "", "5"))
    assert (view.images, view.header, view.footer) == (1, "", "Confidential")


def test_hidden_text_is_not_in_the_view(tmp_path):
    document = docx.Document()
    run = document.add_paragraph("seen ").add_run("keywords for the grader")
    run._r.get_or_add_rPr().append(OxmlElement("w:vanish"))
    document.save(tmp_path / "report.docx")
    assert [p.text for p in read_docx(tmp_path / "report.docx").paragraphs] == ["seen"]


@pytest.fixture
def deck():
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Results"
    frame = slide.placeholders[1].text_frame
    frame.text = "Inherited size"
    run = frame.add_paragraph().add_run()
    run.text, run.font.size = "Own size", Pt(14)
    slide.notes_slide.notes_text_frame.text = "Say this aloud"
    return presentation


def read(presentation, tmp_path):
    presentation.save(tmp_path / "deck.pptx")
    return read_pptx(tmp_path / "deck.pptx")


def test_slide_texts_have_the_size_the_viewer_sees(deck, tmp_path):
    slide = read(deck, tmp_path).slides[0]
    assert [(r.text, r.size_pt, r.is_title) for r in slide.runs] == [
        ("Results", 44.0, True),
        ("Inherited size", 32.0, False),
        ("Own size", 14.0, False),
    ]
    assert (slide.title, slide.notes) == ("Results", "Say this aloud")


def test_text_shrunk_to_fit_counts_as_shrunk(deck, tmp_path):
    body = deck.slides[0].placeholders[1].text_frame._txBody.bodyPr
    fit = body.get_or_change_to_normAutofit()
    fit.set("fontScale", "50000")
    sizes = [r.size_pt for r in read(deck, tmp_path).slides[0].runs]
    assert sizes == [44.0, 16.0, 7.0]


def test_charts_tables_images_and_groups_on_slides(deck, tmp_path):
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["a", "b"]
    data.add_series("s", (1, 2))
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, Inches(1), Inches(1), Inches(3), Inches(3), data)
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(5), Inches(3), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "x", "y"
    slide.shapes.add_picture(picture(), Inches(5), Inches(1))
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "grouped"
    view = read(deck, tmp_path).slides[1]
    assert (view.charts, view.images) == (("pie",), 1)
    assert view.tables[0].rows == (("x", "y"),)
    assert [r.text for r in view.runs] == ["grouped"]


def test_hidden_slides_are_not_in_the_view(deck, tmp_path):
    deck.slides.add_slide(deck.slide_layouts[6])._element.set("show", "0")
    assert len(read(deck, tmp_path).slides) == 1
