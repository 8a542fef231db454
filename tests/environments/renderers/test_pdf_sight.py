"""Text of a PDF that nobody who opens it sees is no part of the view."""

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import RectangleObject
from reportlab.lib import colors
from reportlab.pdfgen.canvas import Canvas

from environments.renderers.pdf import read_pdf

TRICKS = {
    "white": lambda page: page.setFillColor(colors.white),
    "nearly white": lambda page: page.setFillColorRGB(0.98, 0.98, 0.98),
    "transparent": lambda page: page.setFillAlpha(0),
    "tiny": lambda page: page.setFont("Helvetica", 1),
    "mode": lambda page: page._code.append("3 Tr"),
    "left of the page": lambda page: page.translate(-5_000, 0),
    "below the page": lambda page: page.translate(0, -5_000),
    "cut off": lambda page: page.clipPath(clip(page), stroke=0, fill=0),
    "scaled": lambda page: page.scale(0.05, 0.05),
}


def clip(page):
    path = page.beginPath()
    path.rect(0, 0, 5, 5)
    return path


@pytest.fixture
def read(tmp_path):
    """Return a function that lets a page be drawn upon and reads what is seen of it."""

    def draw(*drawers, change=None):
        path = tmp_path / "report.pdf"
        page = Canvas(str(path), pagesize=(400, 400))
        page.drawString(50, 350, "Seen by everybody.")
        for drawer in drawers:
            page.saveState()
            drawer(page)
            page.restoreState()
        page.save()
        if change:
            change(path)
        return read_pdf(path)

    return draw


@pytest.mark.parametrize("trick", TRICKS)
def test_text_that_leaves_no_mark_does_not_count(read, trick):
    def keywords(page):
        TRICKS[trick](page)
        page.drawString(50, 200, "secret keywords")

    view = read(keywords)
    assert view.pages[0].text == "Seen by everybody."
    assert (view.hidden.words, view.hidden.quote) == (2, "secret keywords")


def test_text_under_a_shape_does_not_count_and_white_text_on_it_does(read):
    def covered(page):
        page.drawString(50, 220, "secret keywords")
        page.setFillColor(colors.navy)
        page.rect(40, 180, 300, 60, stroke=0, fill=1)
        page.setFillColor(colors.white)
        page.drawString(50, 190, "White on blue")

    view = read(covered)
    assert view.pages[0].text == "Seen by everybody.\nWhite on blue"
    assert view.hidden.quote == "secret keywords"


def test_text_within_a_form_is_looked_at_too(read):
    def form(page):
        page.beginForm("stamp")
        page.setFillColor(colors.white)
        page.drawString(50, 200, "secret keywords")
        page.setFillColor(colors.black)
        page.drawString(50, 100, "Stamped.")
        page.endForm()
        page.doForm("stamp")

    view = read(form)
    assert view.pages[0].text == "Seen by everybody.\nStamped."
    assert view.hidden.quote == "secret keywords"


@pytest.mark.parametrize("size", [5, 6, 8])
def test_small_print_in_grey_is_seen(read, size):
    def small_print(page):
        page.setFont("Helvetica", size)
        page.setFillColor(colors.grey)
        page.drawString(50, 200, "Terms: 3 % a month, i.e. 12.5; 'net', - not more.")

    view = read(small_print)
    assert "Terms: 3 % a month, i.e. 12.5; 'net', - not more." in view.pages[0].text
    assert view.hidden is None


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_turned_and_cropped_pages_are_seen_as_they_are_shown(read, angle):
    def turn_and_crop(path):
        writer = PdfWriter(clone_from=PdfReader(path))
        writer.pages[0].cropbox = RectangleObject((40, 150, 400, 400))
        writer.pages[0].rotate(angle)
        writer.write(path)

    def outside(page):
        page.drawString(50, 100, "secret")
        page.setFillColor(colors.white)
        page.drawString(50, 200, "keywords")

    view = read(outside, change=turn_and_crop)
    # Turned text comes in another order, a character a line.
    assert sorted("Seenbyeverybody.") == sorted("".join(view.pages[0].text.split()))
    assert view.hidden is not None


def test_a_page_whose_box_does_not_begin_at_zero_is_seen(read):
    def move(path):
        writer = PdfWriter(clone_from=PdfReader(path))
        writer.pages[0].mediabox = RectangleObject((-50, -70, 380, 390))
        writer.write(path)

    view = read(change=move)
    assert (view.pages[0].text, view.hidden) == ("Seen by everybody.", None)
