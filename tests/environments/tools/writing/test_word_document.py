from docx import Document
from docx.shared import Cm


def test_every_block_arrives(written, workspace, blocks):
    result = written(
        "DocxFileGenerator",
        path="output/a.docx",
        title="Bericht",
        blocks=blocks,
        header="Firma",
        footer="Seite",
    )
    assert result.text.startswith("Wrote output/a.docx: 2 headings, 2 paragraphs, 1 bulleted list")
    document = Document(str(workspace / "output/a.docx"))
    styles = [(p.style.name, p.text) for p in document.paragraphs if p.text.strip()]
    assert styles == [
        ("Title", "Bericht"),
        ("Heading 1", "Größe"),
        ("Normal", "A <b>tag</b> & bold — € end\nnext line"),
        ("List Bullet", "first"),
        ("List Bullet", "second"),
        ("List Number", "one"),
        ("List Number", "two"),
        ("List Number", "again one"),
        ("Heading 3", "Zahlen"),
        ("Normal", "last"),
    ]
    assert [[c.text for c in row.cells] for row in document.tables[0].rows] == [
        ["Item", "Price"],
        ["Tea & <milk>", "3.5"],
        ["Cake", ""],
    ]
    assert document.inline_shapes[0].width == Cm(5)
    assert document.sections[0].header.paragraphs[0].text == "Firma"
    assert document.sections[0].footer.paragraphs[0].text == "Seite"
    assert document.core_properties.title == "Bericht"


def test_bold_is_the_only_markup(written, workspace, blocks):
    written("DocxFileGenerator", path="output/a.docx", blocks=blocks)
    document = Document(str(workspace / "output/a.docx"))
    bold = [run.text for p in document.paragraphs for run in p.runs if run.bold]
    assert bold == ["bold — €", "second"]
    assert document.tables[0].cell(0, 0).paragraphs[0].runs[0].bold


def test_each_numbered_list_starts_at_one(written, workspace, blocks):
    written("DocxFileGenerator", path="output/a.docx", blocks=blocks)
    document = Document(str(workspace / "output/a.docx"))
    numbered = [p for p in document.paragraphs if p.style.name == "List Number"]
    ids = [p._p.pPr.numPr.numId.val for p in numbered]
    assert ids[0] == ids[1] != ids[2]
    numbering = document.part.numbering_part.element
    starts = [numbering.num_having_numId(i).lvlOverride_lst[0].startOverride.val for i in ids]
    assert starts == [1, 1, 1]


def test_images_must_be_there_and_be_images(refused, workspace):
    (workspace / "input/x.png").write_text("no image")

    def with_image(path):
        blocks = [{"type": "image", "path": path}]
        return refused("DocxFileGenerator", path="output/a.docx", blocks=blocks)

    assert with_image("input/x.png") == "input/x.png is not an image."
    assert "There is no file" in with_image("input/none.png")


def test_a_wide_image_is_made_to_fit_the_page(written, workspace):
    from PIL import Image

    Image.new("RGB", (4000, 100)).save(workspace / "input/wide.png")
    blocks = [{"type": "image", "path": "input/wide.png"}]
    written("DocxFileGenerator", path="output/a.docx", blocks=blocks)
    assert Document(str(workspace / "output/a.docx")).inline_shapes[0].width == Cm(15)
