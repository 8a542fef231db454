"""A file with a canary opens as before, and its metadata holds the canary."""

import io
import struct
import wave
import zipfile

import pytest
import soundfile
from docx import Document
from openpyxl import Workbook, load_workbook
from PIL import Image
from pptx import Presentation
from pypdf import PdfReader, PdfWriter

from taskdata.canary import canary_of
from taskdata.formats.stamping import stamped

CANARY = canary_of("office")


def saved(save) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


def word():
    document = Document()
    document.add_paragraph("kept")
    return saved(document.save)


def sheet():
    book = Workbook()
    book.active["A1"] = "kept"
    return saved(book.save)


def image(kind):
    return saved(lambda out: Image.new("RGB", (3, 2), (200, 10, 10)).save(out, kind))


def recording():
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setparams((1, 1, 8000, 0, "NONE", ""))
        sound.writeframes(b"\x80\x90\xa0")
    return out.getvalue()


def compressed(kind):
    tone = [0.1 * (n % 40) / 40 for n in range(4000)]
    return saved(lambda out: soundfile.write(out, tone, 8000, format=kind))


def played(content):
    return soundfile.read(io.BytesIO(content))[0].tolist()


def pdf():
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    return saved(writer.write)


def test_office_documents_get_a_custom_property():
    for name, content in (
        ("a.docx", word()),
        ("a.xlsx", sheet()),
        ("a.PPTX", saved(Presentation().save)),
    ):
        with zipfile.ZipFile(io.BytesIO(stamped(name, content, CANARY))) as found:
            assert CANARY in found.read("docProps/custom.xml").decode(), name
    document = Document(io.BytesIO(stamped("a.docx", word(), CANARY)))
    assert [p.text for p in document.paragraphs] == ["kept"]
    book = load_workbook(io.BytesIO(stamped("a.xlsx", sheet(), CANARY)))
    assert book.active["A1"].value == "kept"
    assert book.custom_doc_props["canary"].value == CANARY
    assert (
        len(Presentation(io.BytesIO(stamped("a.pptx", saved(Presentation().save), CANARY))).slides)
        == 0
    )


def test_a_pdf_gets_an_entry_of_its_information():
    found = PdfReader(io.BytesIO(stamped("a.pdf", pdf(), CANARY)))
    assert (len(found.pages), found.metadata["/Canary"]) == (1, CANARY)


@pytest.mark.parametrize(
    ("name", "kind", "key"), [("a.png", "PNG", "canary"), ("a.jpg", "JPEG", "comment")]
)
def test_an_image_gets_a_comment_and_keeps_its_pixels(name, kind, key):
    before = Image.open(io.BytesIO(image(kind)))
    after = Image.open(io.BytesIO(stamped(name, image(kind), CANARY)))
    value = after.info[key]
    assert (value.decode() if isinstance(value, bytes) else value) == CANARY
    assert after.tobytes() == before.tobytes()


def test_a_recording_gets_a_comment_and_keeps_its_sound():
    content = stamped("a.wav", recording(), CANARY)
    assert CANARY.encode() in content
    assert struct.unpack("<I", content[4:8])[0] == len(content) - 8
    with wave.open(io.BytesIO(content)) as sound:
        assert sound.readframes(9) == b"\x80\x90\xa0"


@pytest.mark.parametrize("kind", ["FLAC", "MP3"])
def test_a_compressed_recording_gets_a_block_and_keeps_its_sound(kind):
    name, before = f"a.{kind.lower()}", compressed(kind)
    once = stamped(name, before, CANARY)
    assert CANARY.encode() in once
    for content in (once, stamped(name, once, CANARY.upper())):
        assert played(content) == played(before)


def test_a_stamped_mp3_that_had_a_tag_keeps_its_own():
    tagged = stamped("a.mp3", compressed("MP3"), "the tag of its maker")
    content = stamped("a.mp3", tagged, CANARY)
    assert (content.count(b"ID3"), content.count(b"TXXX")) == (1, 2)
    assert b"the tag of its maker" in content


def test_a_film_gets_a_box_at_its_end_that_players_skip():
    boxes = b"\0\0\0\x10ftypisom\0\0\0\0" + b"\0\0\0\x0cmdat\1\2\3\4"
    content = stamped("a.mp4", boxes, CANARY)
    assert content.startswith(boxes)
    size, name = struct.unpack(">I4s", content[len(boxes) :][:8])
    assert (name, content[-size:][8:].decode()) == (b"free", CANARY)


def test_markup_gets_a_comment_after_its_end():
    assert stamped("a.html", b"<html></html>\n", CANARY).endswith(f"<!-- {CANARY} -->\n".encode())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"a,b\n1,2\n"),
        ("a.txt", b"text"),
        ("a.docx", b"PK no archive"),
        ("a.xlsx", b"PK\3\4\x14\0\0\0\x08\0 a workbook cut short"),
        ("a.pdf", b"%PDF-1.4 cut"),
        ("a.png", image("PNG")[:-3]),
        ("a.jpg", b"GIF89a"),
        ("a.wav", b"RIFF\1\0\0\0WAVE"),
        ("a.wav", b""),
        ("a.flac", b"fLaC\1\0\0\0"),
        ("a.flac", b""),
        ("a.mp3", b"no frame"),
        ("a.mp3", b"ID3\4\0\x80\0\0\0\0"),
        ("a.mp4", b"\0\0\0\x10ftyp cut"),
        ("a.mp4", b"\0\0\0\x08ftyp\0\0\0\0mdat"),
        ("a.html", b"a fragment"),
    ],
)
def test_other_and_malformed_files_stay_as_they_are(name, content):
    assert stamped(name, content, CANARY) == content
