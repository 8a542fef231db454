"""Write the memo to the board from the return and the markers' sheets."""

import csv
import re
from decimal import ROUND_HALF_UP, Decimal

from docx import Document
from openpyxl import load_workbook

rows = list(load_workbook("output/final_grades.xlsx")["Grades"].iter_rows(values_only=True))
students = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
finals = [s["Final mark"] for s in students if s["Final mark"] is not None]


def one_decimal(value):
    return str(value.quantize(Decimal("0.1"), ROUND_HALF_UP))


average = one_decimal(Decimal(sum(finals)) / len(finals))
passed = sum(s["Grade"] in "ABCD" for s in students if s["Final mark"] is not None)
pass_rate = one_decimal(Decimal(100 * passed) / len(finals))

with open("input/registry.csv", encoding="utf-8") as file:
    enrolled = [r for r in csv.DictReader(file) if r["Status"] == "enrolled"]
number_of = {int(r["Exam candidate"][2:]): r["Student number"] for r in enrolled}
# Confirmed by the student office; Nguyen is the one from the Wednesday lab group.
excused = sorted(
    r["Student number"]
    for r in enrolled
    if r["Surname"] in ("Baptiste", "Abdi", "Dlamini", "Ivanova")
    or (r["Surname"], r["Lab group"]) == ("Nguyen", "Wed")
)
book = load_workbook("input/exam_marks.xlsx", data_only=True)


def totals(sheet):
    found = {}
    for row in book[sheet].iter_rows(values_only=True):
        if row[0] and re.match(r"[Kk][- ]", str(row[0])) and row[1] is not None:
            found[int(re.sub(r"\D", "", row[0]))] = sum(row[1:6])
    return found


first, second, third = totals("Marker 1"), totals("Marker 2"), totals("Third marker")
moderated = sorted(
    (number_of[c], first[c], second[c], third[c])
    for c in third
    if c in number_of and abs(first[c] - second[c]) > 8
)

memo = Document()


def table(header, lines):
    grid = memo.add_table(rows=1, cols=len(header), style="Table Grid")
    for cell, text in zip(grid.rows[0].cells, header, strict=True):
        cell.paragraphs[0].add_run(text).bold = True
    for line in lines:
        for cell, text in zip(grid.add_row().cells, line, strict=True):
            cell.text = str(text)


def flagged(flag):
    return [s for s in students if s["Flag"] == flag]


def numbers(people):
    return ", ".join(s["Student number"] for s in people)


memo.add_heading("BIO204 Human Physiology: memo to the board of examiners", level=0)
memo.add_heading("Result overview", level=1)
memo.add_paragraph(
    f"The module has {len(students)} students; {len(finals)} of them have a final mark. "
    f"The average final mark is {average} and the pass rate is {pass_rate} %. "
    f"{len(flagged('Exam hurdle'))} students failed on the exam hurdle: "
    f"{numbers(flagged('Exam hurdle'))}."
)
memo.add_heading("Double marking", level=1)
memo.add_paragraph(
    f"In {len(moderated)} scripts the two markers lay more than 8 marks apart, "
    "and the third marker's total is the exam mark. Three hand-added totals did not agree with "
    "their question marks; the question marks were used."
)
table(["Student number", "Marker 1", "Marker 2", "Third marker"], moderated)
memo.add_heading("Borderline cases", level=1)
memo.add_paragraph("One or two marks below the next grade, and not under the exam hurdle:")
table(
    ["Student number", "Name", "Final mark", "Grade"],
    [[s["Student number"], s["Name"], s["Final mark"], s["Grade"]] for s in flagged("Borderline")],
)
memo.add_heading("Deferred and excused", level=1)
memo.add_paragraph(
    f"Deferred to the August exam: {numbers(flagged('Deferred'))}. "
    f"Other confirmed excuses: {', '.join(excused)}. "
    "Work marked EXC in the gradebook without a confirmation by the student office was counted as "
    "zero, and so was a midterm absence whose confirmation the office withdrew on 30 March."
)
memo.add_heading("Questions for the board", level=1)
for question in (
    "Does the board wish to raise any of the borderline cases?",
    "Does the board confirm the fails under the exam hurdle, where coursework alone would pass?",
):
    memo.add_paragraph(question, style="List Bullet")
memo.sections[0].footer.paragraphs[0].text = "Confidential: board of examiners"
memo.save("output/board_memo.docx")
failed = sum(s["Grade"] == "F" for s in students)
print(f"average {average}, pass rate {pass_rate}, failed {failed}", moderated)
