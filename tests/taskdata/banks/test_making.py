"""Files of a task have the same bytes whenever they are made, and say what their texts say."""

import zipfile
from datetime import datetime

import pytest
from docx import Document
from openpyxl import Workbook, load_workbook

from taskdata.banks.making import (
    blocks_of,
    document_of,
    document_of_sections,
    fill_in,
    save_office,
    story_of,
    write_csv,
)

WRITTEN = datetime(2026, 3, 5, 8, 0)
TEXT = """# Rules

## Seats

Each table
has six.

| Table | Seats
| 1 | 6
"""


def workbook(modified: datetime) -> Workbook:
    book = Workbook()
    book.active.append(["Stop", 4])
    book.properties.created = book.properties.modified = modified
    return book


@pytest.mark.parametrize("stated", [None, datetime(2013, 12, 23, 23, 15)])
def test_when_an_office_file_was_made_does_not_show(tmp_path, stated):
    made = []
    for number, time in enumerate((datetime(2026, 1, 1), datetime(2027, 6, 30, 12, 5))):
        path = tmp_path / f"{number}.xlsx"
        save_office(workbook(time), path, WRITTEN, stated)
        made.append(path.read_bytes())

    assert made[0] == made[1]
    book = load_workbook(path)
    assert [cell.value for cell in book.active[1]] == ["Stop", 4]
    assert book.properties.created == (stated or WRITTEN)
    with zipfile.ZipFile(path) as parts:
        assert {part.date_time for part in parts.infolist()} == {WRITTEN.timetuple()[:6]}


def test_a_document_has_the_headings_paragraphs_and_tables_of_its_text(tmp_path):
    (tmp_path / "rules.md").write_text(TEXT)
    save_office(document_of(blocks_of(tmp_path / "rules.md")), tmp_path / "rules.docx", WRITTEN)

    document = Document(tmp_path / "rules.docx")
    assert [(p.style.name, p.text) for p in document.paragraphs] == [
        ("Title", "Rules"),
        ("Heading 1", "Seats"),
        ("Normal", "Each table has six."),
    ]
    (table,) = document.tables
    assert [[c.text for c in row.cells] for row in table.rows] == [["Table", "Seats"], ["1", "6"]]


def test_a_section_is_a_heading_and_one_paragraph(tmp_path):
    (tmp_path / "plan.md").write_text("# Plan\nFirst line\nsecond line\n## Then\nThe end\n")
    document = document_of_sections(tmp_path / "plan.md")
    assert [p.text.strip() for p in document.paragraphs] == [
        "Plan",
        "First line second line",
        "Then",
        "The end",
    ]


def test_a_story_has_a_style_for_each_kind_of_block(tmp_path):
    story = story_of(["# Policy", "## 1. When", "Each claim\nis checked."])
    assert [(part.style.name, part.text) for part in story] == [
        ("Title", "Policy"),
        ("Heading2", "1. When"),
        ("BodyText", "Each claim is checked."),
    ]


def test_tables_and_texts_are_written_the_same_on_every_system(tmp_path):
    write_csv(tmp_path / "a.csv", [["day", "lent"], ["Säm; stag", 3]], delimiter=";")
    assert (tmp_path / "a.csv").read_bytes() == 'day;lent\n"Säm; stag";3\n'.encode()
    (tmp_path / "mail.txt").write_text("It stood at {stood}.\n")
    fill_in(tmp_path / "mail.txt", tmp_path / "b.txt", stood=17)
    assert (tmp_path / "b.txt").read_bytes() == b"It stood at 17.\n"
