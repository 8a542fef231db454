"""Write the input file of this task: `python make_files.py`, `--expected` prints the truth."""

import sys
from datetime import datetime
from pathlib import Path

import numpy as np
from docx import Document
from docx.shared import Pt

from taskdata.banks.making import save_office

FILES = Path(__file__).parent / "files"
WRITTEN = datetime(2026, 2, 2, 8, 0)

PRICES = {"adult": 11.60, "child": 6.85, "audio guide": 3.40}
# (day, adults, children, audio guides, children who paid)
DAYS = [
    ("Monday", 18, 31, 12, 31),
    ("Tuesday", 24, 27, 19, 22),
    ("Wednesday", 15, 42, 7, 42),
    ("Thursday", 33, 16, 21, 16),
]
SMUDGED = "Wednesday"


def takings(adults: int, paying: int, guides: int) -> float:
    return round(float(np.dot([adults, paying, guides], list(PRICES.values()))), 2)


def write_worksheet() -> None:
    document = Document()
    document.styles["Normal"].font.size = Pt(11)
    document.add_heading("Worksheet 9: several unknowns", level=1)
    document.add_paragraph("Year 9 · Ms Okonedo · Name: ______________________   Date: __________")
    document.add_heading("1  Warm-up", level=2)
    document.add_paragraph("Solve: 3x + 2y = 16 and x - y = 2.")
    document.add_heading("2  The stable", level=2)
    document.add_paragraph(
        "In a stable there are horses and hens, 14 heads and 40 legs. How many of each are there?"
    )
    document.add_heading("3  Concrete", level=2)
    document.add_paragraph(
        "Two parts cement, three parts sand, four parts gravel make 1,350 kg. How much of each?"
    )
    document.add_heading("4  The till at the museum", level=2)
    document.add_paragraph(
        "Noor sold the tickets at the town museum for four days. She wrote down what she sold and "
        "what was in the till every evening. Then somebody spilt tea over her list, and nobody "
        "remembers the prices."
    )
    table = document.add_table(rows=1, cols=5)
    table.style = "Table Grid"
    for cell, text in zip(
        table.rows[0].cells,
        ("Day", "Adults", "Children", "Audio guides", "In the till"),
        strict=True,
    ):
        cell.text = text
    for day, adults, children, guides, paying in DAYS:
        till = "(tea)" if day == SMUDGED else f"€ {takings(adults, paying, guides):.2f}"
        mark = "" if paying == children else " *"
        for cell, text in zip(
            table.add_row().cells, (day, adults, f"{children}{mark}", guides, till), strict=True
        ):
            cell.text = str(text)
    note = document.add_paragraph()
    note.add_run(
        "* Five of them were under four and came in free of charge. On the other days "
        "every child paid."
    ).italic = True
    document.add_paragraph("a) What do an adult, a child and an audio guide cost?")
    document.add_paragraph("b) How much was in the till on Wednesday evening?")
    document.add_heading("5  For the quick", level=2)
    document.add_paragraph(
        "Make up a list for question 4 that has no solution, and say why it has none."
    )
    save_office(document, FILES / "worksheet_9.docx", WRITTEN)


def main() -> None:
    if "--expected" in sys.argv:
        print(PRICES, {day: takings(a, p, g) for day, a, _, g, p in DAYS})
        known = [row for row in DAYS if row[0] != SMUDGED]
        wrong = np.linalg.solve(
            [[a, c, g] for _, a, c, g, _ in known], [takings(a, p, g) for _, a, _, g, p in known]
        )
        print("if all children paid:", wrong, np.dot([15, 42, 7], wrong))
        return
    FILES.mkdir(exist_ok=True)
    write_worksheet()


if __name__ == "__main__":
    main()
