"""The renderer reports text that runs out of its shape or off the slide, and no other text."""

from pathlib import Path

import pytest
from pptx import Presentation
from pptx.util import Inches, Pt

from environments.renderers.office.pptx import read_pptx

LINE = "A line about the trams of the town and its stops"


@pytest.fixture
def overflowing(tmp_path: Path):
    """Return the overflowing texts of a slide that the given function fills."""

    def look(fill) -> tuple[str, ...]:
        presentation = Presentation()
        fill(presentation)
        presentation.save(tmp_path / "deck.pptx")
        return read_pptx(tmp_path / "deck.pptx").slides[0].overflowing

    return look


def body(lines: int):
    def fill(presentation) -> None:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = "Trams"
        slide.placeholders[1].text = "\n".join([LINE] * lines)

    return fill


def box(text: str, size: int = 20, wraps: bool = True, left: float = 1.0):
    def fill(presentation) -> None:
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        shape = slide.shapes.add_textbox(Inches(left), Inches(1), Inches(4), Inches(1))
        shape.text_frame.word_wrap = wraps
        shape.text_frame.text = text
        shape.text_frame.paragraphs[0].runs[0].font.size = Pt(size)

    return fill


def test_a_body_of_four_lines_fits_and_one_of_eight_does_not(overflowing):
    assert overflowing(body(4)) == ()
    (told,) = overflowing(body(8))
    assert told.startswith("A line about the trams")


@pytest.mark.parametrize(
    ("fill", "fits"),
    [
        (box("short"), True),
        (box(LINE), True),  # two lines in a box that grows with its text
        (box(" ".join([LINE] * 20)), False),  # which does not end on the slide
        (box(LINE, wraps=False), True),
        (box(LINE, wraps=False, left=6), False),
        (box("Donaudampfschifffahrtsgesellschaft", size=40), False),
    ],
)
def test_text_fits_or_not(overflowing, fill, fits):
    assert (overflowing(fill) == ()) is fits
