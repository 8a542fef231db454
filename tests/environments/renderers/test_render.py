import io
import json
import struct
from email.message import EmailMessage

import openpyxl
import pytest
from PIL import Image

from environments.ports import Completed
from environments.renderers.render import read_reply
from environments.renderers.worker import READERS
from taskdata.errors import SandboxFailed
from taskdata.schema.views import JsonView, MailView, TextView, UnreadableView, WorkbookView


def png(size: tuple[int, int] = (64, 64)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, "teal").save(buffer, "PNG")
    return buffer.getvalue()


def test_a_workbook_comes_out_of_the_sandbox_with_its_formulas_computed(in_sandbox):
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "=2*21"
    buffer = io.BytesIO()
    workbook.save(buffer)
    view = in_sandbox("deliverable.xlsx", buffer.getvalue()).view
    assert isinstance(view, WorkbookView)
    assert view.sheets[0].cells["A1"].value == 42


def test_a_message_comes_out_of_the_sandbox_with_what_is_attached(in_sandbox):
    message = EmailMessage()
    message["Subject"] = "Crates"
    message.set_content("They are ready.")
    message.add_attachment(png(), maintype="image", subtype="png", filename="crates.png")
    view = in_sandbox("deliverable.eml", bytes(message)).view
    assert isinstance(view, MailView)
    assert view.text == "They are ready."
    assert [attached.name for attached in view.attachments] == ["crates.png"]


def test_an_image_comes_with_a_preview(in_sandbox):
    rendered = in_sandbox("deliverable.png", png())
    assert rendered.view.kind == "image"
    assert Image.open(io.BytesIO(rendered.preview_png)).size == (64, 64)


CYCLIC_PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[2 0 R]/Parent 2 0 R/Count 1>>endobj
trailer<</Root 1 0 R>>"""


def test_text_that_databases_refuse_is_cleaned(in_sandbox):
    view = in_sandbox("deliverable.json", rb'{"a\u0000": "\ud800x\u0000"}').view
    assert view == JsonView(value={"a": "?x"})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deliverable.pdf", CYCLIC_PDF),
        ("deliverable.docx", b"PK\x05\x06" + b"\0" * 18),
        ("deliverable.pptx", b""),
        ("deliverable.xlsx", b"\xd0\xcf\x11\xe0 an encrypted workbook"),
        ("deliverable.json", b"[" * 1_000_000),
        ("deliverable.mp4", b"\0\0\0\x20ftypisom" + b"\xff" * 4096),
        ("deliverable.svg", b"<!DOCTYPE s [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><s>&x;</s>"),
        ("deliverable.zip", b"PK\x01\x02" * 4096),
        ("deliverable.flac", b"fLaC" + b"\0" * 64),
        ("deliverable.wav", b"RIFF\xff\xff\xff\xffWAVEfmt "),
        ("deliverable.png", b"\x89PNG\r\n\x1a\n\0\0\0\0"),
        ("deliverable.html", b"<p>" + b"x" * 17_000_000),
        ("deliverable.eml", b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\n" * 9_999),
        ("deliverable.exe", b"MZ"),
    ],
)  # fmt: skip
def test_a_hostile_file_is_unreadable_and_nothing_worse(in_sandbox, name, content):
    rendered = in_sandbox(name, content)
    assert isinstance(rendered.view, UnreadableView)
    assert rendered.view.reason
    assert rendered.preview_png is None


def test_deep_html_is_no_crash(in_sandbox):
    view = in_sandbox("deliverable.html", b"<div>" * 50_000 + b"deep", cpu_seconds=3).view
    assert view.kind in ("html", "unreadable")


def test_a_file_that_takes_too_long_is_unreadable(in_sandbox):
    page = b"<table>" + b"<tr><td>x</td></tr>" * 400_000
    view = in_sandbox("deliverable.html", page, cpu_seconds=2).view
    assert isinstance(view, UnreadableView)
    assert "could not be opened" in view.reason or "at most" in view.reason


def completed(*lines: bytes, exit_code: int = 0, limit=None, stderr: bytes = b"") -> Completed:
    return Completed(exit_code, b"".join(line + b"\n" for line in lines), stderr, 1.0, limit)


TEXT = TextView(text="x").model_dump_json().encode()


def test_a_worker_that_never_got_ready_is_our_fault():
    reply = completed(exit_code=1, stderr=b"ModuleNotFoundError: No module named 'openpyxl'")
    with pytest.raises(SandboxFailed, match="openpyxl"):
        read_reply(reply)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (completed(b"ready", exit_code=-9, limit="memory"), "within the limits: memory"),
        (completed(b"ready", exit_code=-11), "signal 11"),
        (completed(b"ready", exit_code=1), "exit code 1"),
        (completed(b"ready", b'{"kind": "text"}'), "no valid view"),
        (completed(b"ready", b'{"kind": "text", "text": "x", "score": 10}'), "no valid view"),
        (completed(b"ready", b"[" * 100_000), "no valid view"),
    ],
)
def test_a_worker_lost_while_reading_is_the_files_fault(reply, reason):
    view = read_reply(reply).view
    assert isinstance(view, UnreadableView)
    assert reason in view.reason


def test_a_view_survives_a_crash_while_drawing_its_preview():
    assert read_reply(completed(b"ready", TEXT, exit_code=-11)).view == TextView(text="x")


def huge_header() -> bytes:
    return png()[:16] + struct.pack(">II", 50_000, 50_000) + png()[24:]


@pytest.mark.parametrize(
    "preview", [b"GIF89a", b"", huge_header(), png((481, 10)), png() + b"x" * 400_000]
)
def test_a_preview_that_is_no_small_png_is_dropped(preview):
    import base64

    line = json.dumps(base64.b64encode(preview).decode()).encode()
    assert read_reply(completed(b"ready", TEXT, line)).preview_png is None


def test_a_preview_that_is_no_base64_is_dropped():
    for line in (b"null", b'"%%%"', b"12", b"[" * 10_000):
        assert read_reply(completed(b"ready", TEXT, line)).preview_png is None


def test_every_deliverable_type_has_a_reader():
    from taskdata.schema.task import DeliverableType

    assert {f".{kind.value}" for kind in DeliverableType} <= set(READERS)
