"""The files that a query asks for, in the words of people."""

import pytest

from taskdata.formats.gta.deliverables import read_deliverables
from taskdata.formats.rows import RowNotes

INPUTS = {"video.mp4", "data.csv"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Create a report in PPTX format.", ["*.pptx"]),
        ("Final file must be in PPTX format and named summary.", ["*.pptx"]),
        ("Output format: PPTX", ["*.pptx"]),
        ("Create a PowerPoint deck from the attached paper.", ["*.pptx"]),
        ("Final deliverable: a 10-slide presentation (.pptx).", ["*.pptx"]),
        ("Write it up in .docx format.", ["*.docx"]),
        ("Write a report (Word).", ["*.docx"]),
        ("Produce a PDF (A4) with the itinerary.", ["*.pdf"]),
        ("Provide the report in both PDF and DOCX formats.", ["*.pdf", "*.docx"]),
        ("Deliverables: report (DOCX), data (CSV), chart (PNG)", ["*.docx", "*.csv", "*.png"]),
        ("Export as PDF/DOCX.", ["*.pdf", "*.docx"]),
        ("All files should be packaged in a zip.", ["*.zip"]),
        ("Build an HTML page that shows the menu.", ["*.html"]),
        ("Generate a 30-second video introducing the product.", ["*.mp4"]),
        ("Give me an audio file (mp3) of the narration.", ["*.mp3"]),
        ("Extract the text of the PDF in Markdown.", ["*.md"]),
        ("Create a GIF animation.", ["*.gif"]),
    ],
)
def test_a_format_is_asked_for_in_several_wordings(query, names):
    assert asked(query) == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("请将结果保存为PPTX格式。", ["*.pptx"]),
        ("请根据附件中的数据制作一个Excel表格,并写一份Word文档。", ["*.xlsx", "*.docx"]),
        ("输出为 report.docx 文件", ["report.docx"]),
        ("レポートをPDFで作成してください。", ["*.pdf"]),
        ("Bitte erstelle daraus eine Excel-Tabelle und ein PDF.", ["*.xlsx", "*.pdf"]),
        ("Crée une présentation PowerPoint à partir du PDF joint.", ["*.pptx"]),
        ("Crea una presentación y una hoja de cálculo en Excel.", ["*.pptx", "*.xlsx"]),
        ("Salva il risultato in formato PDF.", ["*.pdf"]),
    ],
)
def test_a_format_is_asked_for_in_several_languages(query, names):
    assert asked(query) == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Convert the PPTX to PDF.", ["*.pdf"]),
        ("Convert the attached data.csv into an Excel workbook.", ["*.xlsx"]),
        ("I'm giving you a CSV of sales. Please make a PowerPoint.", ["*.pptx"]),
        ("I have a PDF and an Excel file. Compare them in a Word document.", ["*.docx"]),
        ("Put the PDF's tables into Excel.", ["*.xlsx"]),
        ("Save the deck as a PDF.", ["*.pdf"]),
        ("I don't want a PDF, I want a Word document.", ["*.docx"]),
        ("Analyse the attached sales.xlsx and write a summary.", []),
        ("Using budget.xlsx and costs.csv, write report.docx.", ["report.docx"]),
        ("The data is in sales.csv (attached). Create dashboard.html.", ["dashboard.html"]),
        ("Summarise video.mp4 in summary.md", ["summary.md"]),
        ("Write a script for a 30-second video.", []),
        ("Write a speech for my presentation.", []),
        ("Write notes for the slides I attached.", []),
        ("Write an article about the history of PowerPoint.", []),
        ("Write a 500 word document.", []),
        ("Create a word cloud.", []),
    ],
)
def test_what_is_given_or_only_spoken_of_is_not_asked_for(query, names):
    assert asked(query) == names


@pytest.mark.parametrize("query", ["Deliver it as PDF or Word.", "Design a poster (PNG or JPG)."])
def test_of_formats_that_will_do_none_is_required(query):
    assert asked(query) == []


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Save as report.xlsx.", ["report.xlsx"]),
        ('Save the result as "Q3 sales report.xlsx".', ["Q3 sales report.xlsx"]),
        ("Read `raw data.csv` and save `clean data.csv`.", ["clean data.csv"]),
        ("Please name the file 'Plan (final).docx'.", ["Plan (final).docx"]),
        ("Save it as Umsatz_März.xlsx", ["Umsatz_März.xlsx"]),
        ("Create the deck. Output: report.PPTX", ["report.PPTX"]),
        ("1. analysis.xlsx\n2. deck.pptx", ["analysis.xlsx", "deck.pptx"]),
        ("Create index.html, style.css and script.js.", ["index.html", "style.css", "script.js"]),
        ("Save it in output/summary.csv.", ["*.csv"]),
        ("Save as pic.jpeg", ["*.jpg"]),
        ("Use Node.js and write a summary in DOCX format.", ["*.docx"]),
        ("Visit example.com/report.html and write a PDF.", ["*.pdf"]),
        ("Look at https://example.org/a.pdf and write memo.md.", ["memo.md"]),
    ],
)
def test_files_are_read_by_their_names(query, names):
    assert asked(query) == names


def asked(query: str) -> list[str]:
    return [spec.name for spec in read_deliverables(None, query, INPUTS, RowNotes())]
