import difflib
import re

import pytest
from PIL import Image, ImageDraw, ImageFont, ImageOps

from environments.tools.images.boxes import Box
from environments.tools.images.recognition.text_lines import PageReading, read_lines, read_page

LINE = re.compile(r"\((\d+), (\d+), (\d+), (\d+)\) (.+?)( \[unsure\])?")


def texts(result) -> list[tuple[Box, str]]:
    found = [LINE.fullmatch(line) for line in result.text.splitlines()[1:]]
    return [(Box(*map(int, match.groups()[:4])), match[5]) for match in found]


def share_right(read: list[str], expected: list[str]) -> float:
    blocks = difflib.SequenceMatcher(None, read, expected, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(expected)


def test_an_invoice_is_read_in_the_sandbox(in_sandbox, invoice, invoice_words, png):
    (result,) = in_sandbox(("OCR", {"image": "input/a.png"}), files={"a.png": png(invoice)})
    assert result.error is None, result.text
    found = texts(result)
    assert result.text.startswith(
        f"input/a.png, 860 x 540 pixels: {len(found)} texts as (x1, y1, x2, y2) text\n"
    )
    words = " ".join(text for _, text in found).split()
    assert share_right(words, invoice_words) >= 0.95
    box = next(box for box, text in found if text == "525.00 EUR")
    assert 670 < box.left < 690
    assert 400 < box.top < 415
    assert box.height < 40


def test_light_text_without_ground_is_read(run, given):
    image = Image.new("RGBA", (420, 80), (0, 0, 0, 0))
    face = ImageFont.load_default(36)
    ImageDraw.Draw(image).text((20, 15), "Closed on Monday", fill="white", font=face)
    found = texts(run("OCR", image=given(image)))
    assert " ".join(text for _, text in found) == "Closed on Monday"


def test_a_tall_screenshot_is_read_in_bands(font_of):
    image = Image.new("RGB", (700, 2300), "white")
    draw = ImageDraw.Draw(image)
    tops = list(range(40, 2250, 360))
    for number, top in enumerate(tops):
        draw.text((30, top), f"Message number {number}", fill="black", font=font_of(24))
    lines = read_lines(image)
    assert [line.text for line in lines] == [f"Message number {n}" for n in range(len(tops))]
    assert all(abs(line.box.top - top) < 15 for line, top in zip(lines, tops, strict=True))


def test_a_single_wide_line_is_read(font_of):
    image = Image.new("RGB", (900, 40), "black")
    ImageDraw.Draw(image).text((10, 6), "Gate B12 now boarding", fill="yellow", font=font_of(24))
    (line,) = read_lines(image)
    assert line.text == "Gate B12 now boarding"
    assert 0 <= line.box.top < line.box.bottom <= 40


def test_long_lines_and_lines_upside_down_are_read(font_of):
    image = Image.new("RGB", (1100, 160), "white")
    words = "ick brown fox jumps over the lazy dog while the auditors count every si"
    ImageDraw.Draw(image).text((20, 60), words, fill="black", font=font_of(26))
    (line,) = read_lines(image)
    assert line.text == words
    (turned,) = read_lines(image.rotate(180))
    assert turned.text == words


def test_what_there_was_no_time_for_is_counted(font_of):
    image = Image.new("RGB", (300, 300), "white")
    draw = ImageDraw.Draw(image)
    for top in (40, 140, 240):
        draw.text((20, top), "words", fill="black", font=font_of(30))
    assert read_page(image, seconds=-1) == PageReading([], unread=3)


def test_an_empty_page_has_no_text(run, given):
    result = run("OCR", image=given(ImageOps.invert(Image.new("RGB", (300, 200)))))
    assert result.error is None
    assert result.text == "input/a.png, 300 x 200 pixels: no text was found."


@pytest.mark.parametrize("size", [(1, 1), (1, 900)])
def test_the_smallest_pictures_have_no_text(run, given, size):
    assert "no text was found" in run("OCR", image=given(Image.new("RGB", size, "white"))).text


def test_a_broken_file_is_refused(refused, given, invoice, png):
    assert "damaged image" in refused("OCR", image=given(png(invoice)[:900]))
    assert "not an image" in refused("OCR", image=given(b"%PDF-1.7", "b.png"))
