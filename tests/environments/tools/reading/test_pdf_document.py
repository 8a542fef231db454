import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter


@pytest.fixture
def pdf(run, workspace):
    """Two pages: text and a table, then a picture alone."""
    Image.new("RGB", (40, 20), "red").save(workspace / "input/i.png")
    blocks = [
        {"type": "paragraph", "text": "Größe — 5 €"},
        {"type": "table", "rows": [["Item", "Price"], ["Tea", "3.50"]]},
        {"type": "page_break"},
        {"type": "image", "path": "input/i.png"},
    ]
    run("PdfFileGenerator", path="output/a.pdf", title="Offer", blocks=blocks)
    return workspace / "output/a.pdf"


def test_text_and_tables_page_by_page(run, pdf):
    text = run("ReadPDF", path="output/a.pdf").text
    first, second = text.split("\n== page 2 ")
    assert first.startswith(
        "output/a.pdf: 2 pages, titled 'Offer'\n\n== page 1 (595 x 842 pt)\nOffer\nGröße — 5 €"
    )
    assert "-- table 1 of page 1\n| Item | Price |\n| Tea | 3.50 |" in first
    assert "(no text; 1 image: the page may be a scan)" in second


def test_pages_are_picked(run, refused, pdf):
    text = run("ReadPDF", path="output/a.pdf", first_page=2, last_page=9).text
    assert "== page 1" not in text
    assert "There are no pages 3 to 2: output/a.pdf has 2 pages." in refused(
        "ReadPDF", path="output/a.pdf", first_page=3
    )


def test_an_encrypted_pdf_is_refused(refused, workspace, pdf):
    writer = PdfWriter(clone_from=PdfReader(pdf))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(workspace / "input/locked.pdf")
    assert "is encrypted" in refused("ReadPDF", path="input/locked.pdf")


@pytest.mark.parametrize("data", [b"just text", b"", b"%PDF-1.7\nnothing else"])
def test_what_is_no_pdf_is_refused(refused, workspace, data):
    (workspace / "input/a.pdf").write_bytes(data)
    assert "PDF" in refused("ReadPDF", path="input/a.pdf")


def test_a_truncated_pdf_is_refused_or_read_as_far_as_it_goes(run, workspace, pdf):
    (workspace / "input/a.pdf").write_bytes(pdf.read_bytes()[:2000])
    result = run("ReadPDF", path="input/a.pdf")
    assert result.error == "refused"
    assert "damaged PDF" in result.text
