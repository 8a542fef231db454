"""What an agent is shown of a file, by the part that runs in the sandbox."""

import base64
import io
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from environments.renderers.pages.formats import browser
from environments.tools.looking.forms import Look, LookRequest, Viewed
from environments.tools.looking.look import pictures_of
from environments.tools.looking.worker import view
from taskdata.errors import ToolRefused


@pytest.fixture
def look(workspace: Path):
    def at(path: str, **asked: object) -> Viewed:
        return view(path, LookRequest(paths=(path,), **asked), workspace)

    return at


def image_of(seen: Look) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(seen.data)))


@pytest.fixture
def paper(workspace: Path) -> str:
    canvas = Canvas(str(workspace / "input/paper.pdf"), pagesize=(400, 200))
    for number in range(1, 6):
        canvas.drawString(20, 100, f"page number {number}")
        canvas.showPage()
    canvas.save()
    return "input/paper.pdf"


def test_pages_are_drawn_with_their_words(look, paper):
    viewed = look(paper, page=2, count=3)
    assert (viewed.noun, viewed.total) == ("page", 5)
    assert [(seen.label, seen.words) for seen in viewed.looks] == [
        (f"page {number}", f"page number {number}") for number in (2, 3, 4)
    ]
    drawn = image_of(viewed.looks[0])
    assert drawn.size == (viewed.looks[0].width, viewed.looks[0].height)
    assert drawn.convert("L").getextrema()[0] < 100, "the words are on it"


def test_the_last_pages_are_fewer_and_there_are_none_beyond(look, paper):
    assert [seen.label for seen in look(paper, page=5, count=4).looks] == ["page 5"]
    with pytest.raises(ToolRefused, match=r"has 5 pages: there is no page 6"):
        look(paper, page=6)


def test_a_picture_is_scaled_to_what_models_read(look, workspace):
    Image.new("RGB", (4000, 2000), "green").save(workspace / "input/wide.jpg")
    viewed = look("input/wide.jpg")
    assert viewed.size == "4000 x 2000 pixels"
    (seen,) = viewed.looks
    assert max(image_of(seen).size) <= 1568
    assert seen.label == seen.words == ""


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n but no more", "not an image|damaged"),
        ("a.txt", b"words", "not an image that can be read"),
        ("a.mp4", b"no video", "."),
    ],
)
def test_what_cannot_be_seen_is_refused(look, workspace, name, data, why):
    (workspace / "input" / name).write_bytes(data)
    with pytest.raises(ToolRefused, match=why):
        look(f"input/{name}")
    with pytest.raises(ToolRefused, match="There is no file"):
        look("input/none.pdf")
    with pytest.raises(ToolRefused, match="outside the workspace"):
        look("../../etc/passwd")


def test_frames_of_a_video_are_spread_or_follow_a_second(look, workspace, made):
    source = ("-f", "lavfi", "-i", "color=red:size=64x48:rate=5:duration=4")
    clip = made("red.mp4", *source)
    viewed = look(clip, count=2)
    assert [seen.label for seen in viewed.looks] == ["at 1.0 s", "at 3.0 s"]
    assert image_of(viewed.looks[0]).convert("RGB").getpixel((5, 5))[0] > 200
    later = look(clip, count=4, second=2.5)
    assert [seen.label for seen in later.looks] == ["at 2.5 s", "at 3.5 s"]
    with pytest.raises(ToolRefused, match="there is no second 9"):
        look(clip, second=9)


@pytest.mark.skipif(browser() is None, reason="no Chromium")
def test_a_page_of_html_is_seen_in_a_sandbox(in_sandbox):
    page = b"<body style='background:#00f'><h1>Hi</h1>"
    (result,) = in_sandbox(("view_file", {"path": "input/a.html"}), files={"a.html": page})
    assert result.error is None, result.text
    assert result.text == "input/a.html has 1 screen; drawn: screen 1."
    (shown,) = result.pictures
    assert (shown.name, shown.words) == ("input/a.html, screen 1", "Hi")
    assert Image.open(io.BytesIO(shown.data)).convert("RGB").getpixel((5, 5)) == (0, 0, 255)


def test_without_libreoffice_it_is_said(look, workspace, monkeypatch):
    monkeypatch.setattr("environments.tools.looking.worker.has_converter", lambda: False)
    (workspace / "input/a.docx").write_bytes(b"PK")
    with pytest.raises(ToolRefused, match="soffice is not installed here"):
        look("input/a.docx")


def test_forged_data_is_no_picture():
    forged = Look(label="", media_type="image/png", data="PGh0bWw+", width=4, height=3)
    assert pictures_of("a.png", Viewed(looks=(forged,))) == ()
    broken = forged.model_copy(update={"data": "no base64!"})
    assert pictures_of("a.png", Viewed(looks=(broken,))) == ()
