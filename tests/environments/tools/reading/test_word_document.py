from docx import Document

from environments.toolkit.definition import MAX_TEXT_CHARS


def test_text_tables_and_margins_in_their_order(run, workspace):
    document = Document()
    document.add_heading("Plan", 0)
    document.add_heading("Über", 2)
    document.add_paragraph("Before — 5 €")
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "k", "v"
    table.cell(1, 0).text, table.cell(1, 1).text = "a", "1\n2"
    document.add_paragraph("item", style="List Bullet")
    document.add_paragraph("step", style="List Number")
    document.sections[0].footer.paragraphs[0].text = "page foot"
    document.save(str(workspace / "input/a.docx"))
    assert run("ReadDOCX", path="input/a.docx").text.splitlines() == [
        "input/a.docx: 5 paragraphs, 1 table, 0 images",
        "page footer of section 1: page foot",
        "",
        "# Plan",
        "## Über",
        "Before — 5 €",
        "| k | v |",
        r"| a | 1\n2 |",
        "",
        "- item",
        "1. step",
    ]


def test_a_long_document_is_cut_and_says_so(run, workspace):
    document = Document()
    for _ in range(300):
        document.add_paragraph("word " * 700)
    document.save(str(workspace / "input/a.docx"))
    text = run("ReadDOCX", path="input/a.docx").text
    assert len(text) == MAX_TEXT_CHARS
    assert text.endswith("Read the rest with python_execute, if the task has it.]")


def test_broken_files_are_refused(refused, workspace):
    path = workspace / "input/a.docx"
    Document().save(str(path))
    path.write_bytes(path.read_bytes()[:3000])
    assert "damaged, or another format" in refused("ReadDOCX", path="input/a.docx")
    path.write_text("plain text")
    assert "damaged, or another format" in refused("ReadDOCX", path="input/a.docx")
