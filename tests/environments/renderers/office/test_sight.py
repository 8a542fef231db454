"""Text of an office file that nobody who opens it sees is no part of the view."""

import docx
import openpyxl
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Pt as DocxPt
from docx.shared import RGBColor as DocxColour
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.table import Table, TableStyleInfo
from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.util import Inches, Pt

from environments.renderers.office.docx import read_docx
from environments.renderers.office.pptx import read_pptx
from environments.renderers.office.xlsx import read_xlsx

SECRET = "secret keywords"
WHITE = DocxColour(255, 255, 255)


@pytest.fixture
def document(tmp_path):
    """A document and a function that reads it."""
    document = docx.Document()
    document.add_paragraph("Seen.")

    def read():
        document.save(tmp_path / "report.docx")
        return read_docx(tmp_path / "report.docx")

    return document, read


def shaded(fill):
    return parse_xml(f'<w:shd {nsdecls("w")} w:val="clear" w:fill="{fill}"/>')


def styled(document, **changes):
    style = document.styles.add_style("Sly", WD_STYLE_TYPE.PARAGRAPH)
    for name, value in changes.items():
        setattr(style.font, name, value)
    document.add_paragraph(SECRET, style="Sly")


def coloured(run, colour):
    run.font.color.rgb = colour


def themed(run):
    element = OxmlElement("w:color")
    element.set(qn("w:themeColor"), "background1")
    run._r.get_or_add_rPr().append(element)


def low_lines(paragraph):
    paragraph.paragraph_format.line_spacing = DocxPt(1)


DOCX_TRICKS = {
    "white": lambda d: coloured(d.add_paragraph().add_run(SECRET), WHITE),
    "nearly white": lambda d: coloured(
        d.add_paragraph().add_run(SECRET), DocxColour(252, 252, 252)
    ),
    "theme's white": lambda d: themed(d.add_paragraph().add_run(SECRET)),
    "tiny": lambda d: setattr(d.add_paragraph().add_run(SECRET).font, "size", DocxPt(1)),
    "hidden": lambda d: setattr(d.add_paragraph().add_run(SECRET).font, "hidden", True),
    "hidden by its style": lambda d: styled(d, hidden=True),
    "tiny by its style": lambda d: styled(d, size=DocxPt(1)),
    "low lines": lambda d: low_lines(d.add_paragraph(SECRET)),
}


@pytest.mark.parametrize("trick", DOCX_TRICKS)
def test_text_that_a_document_hides_does_not_count(document, trick):
    written, read = document
    DOCX_TRICKS[trick](written)
    view = read()
    assert [p.text for p in view.paragraphs] == ["Seen."]
    assert (view.hidden.words, view.hidden.quote) == (2, SECRET)


def test_white_text_on_a_dark_ground_is_seen(document):
    written, read = document
    table = written.add_table(1, 2)
    for cell, fill in zip(table.rows[0].cells, ("1F4E79", "FFFFFF"), strict=True):
        coloured(cell.paragraphs[0].add_run(fill), WHITE)
        cell._tc.get_or_add_tcPr().append(shaded(fill))
    paragraph = written.add_paragraph()
    coloured(paragraph.add_run("On navy"), WHITE)
    paragraph._p.get_or_add_pPr().append(shaded("000080"))
    styled_table = written.add_table(1, 1, style="Medium Shading 1 Accent 1")
    coloured(styled_table.cell(0, 0).paragraphs[0].add_run("Header"), WHITE)
    view = read()
    assert view.tables[0].rows == (("1F4E79", ""),)
    assert view.tables[1].rows == (("Header",),)
    assert [p.text for p in view.paragraphs] == ["Seen.", "On navy"]
    assert view.hidden.quote == "FFFFFF"


def test_a_hidden_row_of_a_document_does_not_count(document):
    written, read = document
    table = written.add_table(2, 1)
    table.cell(0, 0).text, table.cell(1, 0).text = "Shown", SECRET
    table.rows[1]._tr.get_or_add_trPr().append(OxmlElement("w:hidden"))
    view = read()
    assert view.tables[0].rows == (("Shown",), ("",))
    assert view.hidden.reasons == ("in a hidden row",)


@pytest.fixture
def book(tmp_path):
    """A workbook with one number, and a function that reads it."""
    book = openpyxl.Workbook()
    book.active["A1"] = "Total"
    book.active["B2"] = 42

    def read():
        book.save(tmp_path / "book.xlsx")
        return read_xlsx(tmp_path / "book.xlsx")

    return book, read


def hide_sheet(book):
    book.create_sheet("Other")
    book.active.sheet_state = "hidden"
    book.active = 1


def all_rows_but_one(sheet):
    sheet.sheet_format.zeroHeight = True
    sheet.row_dimensions[1].height = 15


XLSX_TRICKS = {
    "row": lambda book: setattr(book.active.row_dimensions[2], "hidden", True),
    "low row": lambda book: setattr(book.active.row_dimensions[2], "height", 0.5),
    "all rows but one": lambda book: all_rows_but_one(book.active),
    "column": lambda book: setattr(book.active.column_dimensions["B"], "hidden", True),
    "columns": lambda book: book.active.column_dimensions.group("B", "D", hidden=True),
    "narrow column": lambda book: setattr(book.active.column_dimensions["B"], "width", 0.1),
    "white": lambda book: setattr(book.active["B2"], "font", Font(color="FFFFFFFF")),
    "its fill's colour": lambda book: (
        setattr(book.active["B2"], "font", Font(color="00123456")),
        setattr(book.active["B2"], "fill", PatternFill("solid", fgColor="00123456")),
    ),
    "tiny": lambda book: setattr(book.active["B2"], "font", Font(sz=1)),
    "format": lambda book: setattr(book.active["B2"], "number_format", ";;;"),
}


@pytest.mark.parametrize("trick", XLSX_TRICKS)
def test_a_cell_that_a_workbook_hides_does_not_count(book, trick):
    written, read = book
    XLSX_TRICKS[trick](written)
    view = read()
    assert list(view.sheets[0].cells) == ["A1"]
    assert (view.hidden.words, view.hidden.quote) == (1, "42")


def test_a_hidden_sheet_has_no_cells(book):
    written, read = book
    hide_sheet(written)
    view = read()
    assert [(sheet.hidden, len(sheet.cells)) for sheet in view.sheets] == [(True, 0), (False, 0)]
    assert view.hidden.reasons == ("on a hidden sheet",)


def test_white_headers_on_dark_fills_and_in_tables_are_seen(book):
    written, read = book
    sheet = written.active
    sheet["A1"].font = Font(color="FFFFFFFF")
    sheet["A1"].fill = PatternFill("solid", fgColor="FF1F4E79")
    sheet["D1"], sheet["D2"] = "Region", "North"
    sheet["D1"].font = Font(color="FFFFFFFF")
    sheet.add_table(
        Table(ref="D1:D2", displayName="T", tableStyleInfo=TableStyleInfo("TableStyleMedium2"))
    )
    view = read()
    assert set(view.sheets[0].cells) == {"A1", "B2", "D1", "D2"}
    assert view.hidden is None


def test_a_formula_may_use_hidden_cells(book):
    written, read = book
    written.active["A2"] = "=B2*2"
    written.active.column_dimensions["B"].hidden = True
    assert read().sheets[0].cells["A2"].value == 84


@pytest.fixture
def slide(tmp_path):
    """An empty slide with a title, and a function that reads the deck."""
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Seen"

    def read():
        deck.save(tmp_path / "deck.pptx")
        return read_pptx(tmp_path / "deck.pptx")

    return slide, read


def box(shapes, text=SECRET, left=1, top=3, colour=None):
    shape = shapes.add_textbox(Inches(left), Inches(top), Inches(4), Inches(1))
    run = shape.text_frame.paragraphs[0].add_run()
    run.text = text
    if colour:
        run.font.color.rgb = RGBColor.from_string(colour)
    return shape, run


def block(shapes, colour, left=0.5, top=2.5):
    shape = shapes.add_shape(1, Inches(left), Inches(top), Inches(6), Inches(2))
    shape.fill.solid()
    shape.fill.fore_color.rgb = RGBColor.from_string(colour)
    return shape


def covered(slide):
    box(slide.shapes)
    block(slide.shapes, "1F4E79")


def on_its_colour(slide):
    block(slide.shapes, "1F4E79")
    box(slide.shapes, colour="1F4E79")


def ground(slide):
    slide.background.fill.solid()
    slide.background.fill.fore_color.rgb = RGBColor(0, 0, 0)
    box(slide.shapes, colour="050505")


def in_a_group(slide):
    group = slide.shapes.add_group_shape()
    box(group.shapes)
    group.left = Inches(-30)


def theme(slide):
    box(slide.shapes)[1].font.color.theme_color = MSO_THEME_COLOR.BACKGROUND_1


PPTX_TRICKS = {
    "white": lambda slide: box(slide.shapes, colour="FFFFFF"),
    "theme's white": theme,
    "left of the slide": lambda slide: box(slide.shapes, left=-9),
    "below the slide": lambda slide: box(slide.shapes, top=30),
    "in a group off the slide": in_a_group,
    "tiny": lambda slide: setattr(box(slide.shapes)[1].font, "size", Pt(1)),
    "covered": covered,
    "on a block of its colour": on_its_colour,
    "on a ground of its colour": ground,
    "hidden shape": lambda slide: box(slide.shapes)[0]._element.nvSpPr.cNvPr.set("hidden", "1"),
}


@pytest.mark.parametrize("trick", PPTX_TRICKS)
def test_text_that_a_slide_hides_does_not_count(slide, trick):
    written, read = slide
    PPTX_TRICKS[trick](written)
    view = read()
    assert [run.text for run in view.slides[0].runs] == ["Seen"]
    assert (view.hidden.words, view.hidden.quote) == (2, SECRET)


def test_a_title_off_the_slide_is_no_title(slide):
    written, read = slide
    written.shapes.title.top = Inches(30)
    written.shapes.title.left = written.shapes.title.width = written.shapes.title.height = 914400
    assert read().slides[0].title == ""


def test_text_on_a_dark_block_is_seen(slide):
    written, read = slide
    block(written.shapes, "1F4E79")
    box(written.shapes, "White on blue", colour="FFFFFF")
    shape = block(written.shapes, "000000", top=5)
    run = shape.text_frame.paragraphs[0].add_run()
    run.text = "In the block"
    run.font.color.rgb = RGBColor(255, 255, 255)
    view = read()
    assert [run.text for run in view.slides[0].runs] == ["Seen", "White on blue", "In the block"]
    assert view.hidden is None
