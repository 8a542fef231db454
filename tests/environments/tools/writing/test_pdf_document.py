import pdfplumber
import pytest


def test_every_block_arrives_with_its_letters(written, workspace, blocks):
    result = written("PdfFileGenerator", path="output/a.pdf", title="Bericht <1>", blocks=blocks)
    assert result.text.startswith("Wrote output/a.pdf: 2 pages, 2 headings, 2 paragraphs")
    assert "Note" not in result.text
    with pdfplumber.open(workspace / "output/a.pdf") as pdf:
        first, second = pdf.pages
        assert pdf.metadata["Title"] == "Bericht <1>"
        assert first.extract_text().splitlines() == [
            "Bericht <1>",
            "Größe",
            "A <b>tag</b> & bold — € end",
            "next line",
            "• first",
            "• second",
            "1. one",
            "2. two",
            "1. again one",
            "Zahlen",
            "Item Price",
            "Tea & <milk> 3.5",
            "Cake",
        ]
        bold = {c["text"] for c in first.chars if "Bold" in c["fontname"]}
        assert {"€", "—"} <= bold
        assert first.extract_tables() == [
            [["Item", "Price"], ["Tea & <milk>", "3.5"], ["Cake", ""]],
        ]
        assert first.images[0]["width"] == pytest.approx(5 / 2.54 * 72, abs=0.1)
        assert second.extract_text() == "last"


@pytest.mark.parametrize(
    ("page_size", "landscape", "size"),
    [("A4", False, (595, 842)), ("A4", True, (842, 595)), ("Letter", False, (612, 792))],
)
def test_page_sizes(written, workspace, page_size, landscape, size):
    blocks = [{"type": "paragraph", "text": "x"}]
    arguments = {"blocks": blocks, "page_size": page_size, "landscape": landscape}
    written("PdfFileGenerator", path="output/a.pdf", **arguments)
    with pdfplumber.open(workspace / "output/a.pdf") as pdf:
        assert (round(pdf.pages[0].width), round(pdf.pages[0].height)) == size


def test_a_long_table_runs_over_pages_with_its_header(written, workspace):
    rows = [["Nr", "Text"], *([n, "some words " * 5] for n in range(120))]
    written("PdfFileGenerator", path="output/a.pdf", blocks=[{"type": "table", "rows": rows}])
    with pdfplumber.open(workspace / "output/a.pdf") as pdf:
        assert len(pdf.pages) > 2
        assert all(page.extract_text().startswith("Nr Text") for page in pdf.pages)


def test_equal_arguments_give_equal_bytes(written, workspace, blocks):
    data = []
    for name in ("output/a.pdf", "output/b.pdf"):
        written("PdfFileGenerator", path=name, title="T", blocks=blocks)
        data.append((workspace / name).read_bytes())
    assert data[0] == data[1]


def test_letters_that_the_font_lacks_are_named(run):
    blocks = [{"type": "paragraph", "text": "漢字 and €"}]
    text = run("PdfFileGenerator", path="output/a.pdf", blocks=blocks).text
    assert text.endswith("Note: the font has no sign for 字 漢.")


def test_what_fits_no_page_is_refused(refused):
    cell = [{"type": "table", "rows": [["a", "b"], ["word " * 9000, 1]]}]
    assert "too large for a page" in refused("PdfFileGenerator", path="output/a.pdf", blocks=cell)
    assert "at least one block" in refused("PdfFileGenerator", path="output/a.pdf", blocks=[])


def test_a_large_image_is_made_to_fit_the_page(written, workspace):
    from PIL import Image

    Image.new("RGB", (3000, 6000)).save(workspace / "input/tall.png")
    blocks = [{"type": "image", "path": "input/tall.png", "width_cm": 90}]
    written("PdfFileGenerator", path="output/a.pdf", blocks=blocks)
    with pdfplumber.open(workspace / "output/a.pdf") as pdf:
        (image,) = pdf.pages[0].images
        assert image["height"] <= pdf.pages[0].height
        assert image["width"] * 2 == pytest.approx(image["height"], rel=0.01)
