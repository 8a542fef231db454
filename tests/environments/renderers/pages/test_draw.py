"""Pages drawn in a real sandbox, as scoring does, and replies that no honest worker gives."""

import asyncio
import base64
import io
import json
from pathlib import Path
from struct import pack

import docx
import openpyxl
import pptx
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from environments.ports import Completed
from environments.renderers.pages.draw import DRAW_RESOURCES, DrawnPages, draw, read_reply
from environments.renderers.pages.formats import (
    MAX_DRAWN_PAGES,
    PAGE_PIXELS,
    browser,
    has_converter,
)
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.errors import SandboxFailed


@pytest.fixture
def drawn(tmp_path: Path):
    """Return a function that draws bytes under a file name, optionally under other limits."""
    provider = sandbox_provider("bubblewrap")
    reason = provider.unavailable()
    if reason:
        pytest.skip(reason)

    def run(name: str, content: bytes, **limits: object) -> DrawnPages:
        async def inside() -> DrawnPages:
            with new_workspace(tmp_path / "workspaces", {name: content}) as workspace:
                resources = DRAW_RESOURCES.model_copy(update=limits)
                async with provider.open(workspace, resources) as sandbox:
                    return await draw(sandbox, name)

        return asyncio.run(inside())

    return run


def pdf(*pages: str, size: tuple[float, float] = (595, 842)) -> bytes:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=size)
    for text in pages:
        canvas.drawString(20, size[1] - 40, text)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


def saved(document) -> bytes:
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Report")
    return saved(document)


def slides() -> bytes:
    show = pptx.Presentation()
    for _ in range(2):
        show.slides.add_slide(show.slide_layouts[1]).shapes.title.text = "A slide"
    return saved(show)


def workbook() -> bytes:
    book = openpyxl.Workbook()
    for row in range(2_000):
        book.active.append([row, "a name", row * row])
    return saved(book)


def is_blank(png: bytes) -> bool:
    return len(Image.open(io.BytesIO(png)).convert("L").getcolors()) == 1


def test_pages_of_a_pdf_are_drawn_with_what_stands_on_them(drawn):
    found = drawn("report.pdf", pdf("one", "", "three"))
    assert (found.page_count, found.reason) == (3, "")
    assert [is_blank(picture) for picture in found.pictures] == [False, True, False]
    assert Image.open(io.BytesIO(found.pictures[0])).size[1] == PAGE_PIXELS


def test_of_many_pages_the_first_are_drawn(drawn):
    found = drawn("report.pdf", pdf(*map(str, range(40))))
    assert (len(found.pictures), found.page_count) == (MAX_DRAWN_PAGES, 40)


@pytest.mark.parametrize("size", [(14_000, 14_000), (14_000, 1), (1, 14_000)])
def test_a_page_of_any_size_makes_a_picture_of_few_pixels(drawn, size):
    (picture,) = drawn("report.pdf", pdf("x", size=size)).pictures
    assert max(Image.open(io.BytesIO(picture)).size) <= PAGE_PIXELS + 1


@pytest.mark.office
@pytest.mark.parametrize(
    ("name", "make", "pages"), [("a.docx", word, 1), ("a.pptx", slides, 2), ("a.xlsx", workbook, 1)]
)
def test_office_files_are_drawn_by_libreoffice(drawn, name, make, pages):
    if not has_converter():
        pytest.skip("no LibreOffice: install Debian's libreoffice-writer, -calc and -impress")
    found = drawn(name, make())
    assert (len(found.pictures), found.page_count, found.reason) == (pages, pages, "")
    assert not any(is_blank(picture) for picture in found.pictures)


def test_a_picture_is_drawn_smaller(drawn):
    data = io.BytesIO()
    Image.new("RGB", (3000, 1500), "teal").save(data, "JPEG")
    (picture,) = drawn("photo.jpg", data.getvalue()).pictures
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    assert image.size == (PAGE_PIXELS, PAGE_PIXELS // 2)
    assert image.getpixel((9, 9)) == pytest.approx((0, 128, 128), abs=4)


@pytest.mark.browser
def test_what_a_page_and_its_scripts_show_is_drawn_by_chromium(drawn):
    if browser() is None:
        pytest.skip("no Chromium: install Debian's chromium")
    page = b"<body style='background: red'><script>document.body.append('Hi')</script>"
    (picture,) = drawn("site.html", page).pictures
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    assert image.getpixel((1100, 30)) == (255, 0, 0)
    assert not is_blank(picture)


def test_a_broken_file_has_no_pictures_but_a_reason(drawn):
    found = drawn("report.pdf", b"%PDF-1.7 and nothing else")
    assert found.pictures == ()
    assert "cannot be drawn" in found.reason


def reply(value: object, exit_code: int = 0) -> Completed:
    line = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Completed(exit_code, b"ready\n" + line + b"\n", b"", 1.0)


def png_of(width: int, height: int, content: bytes = b"") -> str:
    header = b"\x89PNG\r\n\x1a\n" + pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(header + content).decode()


def test_drawing_beyond_the_limits_ends_without_pictures():
    found = read_reply(Completed(-9, b"ready\n", b"", 300.0, limit="memory"))
    assert found.pictures == ()
    assert found.reason == "its pages could not be drawn within the limits: memory"


@pytest.mark.parametrize(
    "picture",
    [
        png_of(PAGE_PIXELS + 2, 10),
        png_of(10, 2**31),
        png_of(0, 10),
        png_of(10, 10, b"x" * 800_000),
        base64.b64encode(b"<svg onload=alert(1)>").decode(),
        "no base64!",
        7,
        None,
    ],
)
def test_what_is_no_small_png_is_no_picture(picture):
    found = read_reply(reply({"page_count": 1, "pictures": [picture], "reason": ""}))
    assert found.pictures == ()
    assert found.reason


@pytest.mark.parametrize(
    "line",
    [b"", b"[" * 100_000, b"{}", b"[]", b'{"page_count": {}, "pictures": [], "reason": ""}'],
)
def test_a_reply_that_is_none_gives_no_pictures(line):
    assert read_reply(reply(line)).pictures == ()


def test_no_reply_makes_more_pictures_or_pages_than_there_may_be():
    pictures = [png_of(10, 10)] * 50
    found = read_reply(reply({"page_count": 10**30, "pictures": pictures, "reason": "x" * 9_999}))
    assert len(found.pictures) == MAX_DRAWN_PAGES
    assert found.page_count <= 100_000
    assert len(found.reason) <= 300


def test_a_worker_that_did_not_start_is_a_fault_of_the_sandbox():
    with pytest.raises(SandboxFailed, match="did not start"):
        read_reply(Completed(1, b"", b"No module named environments", 0.1))
