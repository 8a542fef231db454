"""Write the input files of this task, or with --expected the values its checks expect.

The expected plan comes from the clean records below, not from reading the files back.

    python make_files.py             # rewrites files/
    python make_files.py --expected  # prints what task.yaml expects, changes nothing
"""

import json
import sys
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import ceil
from pathlib import Path

from taskdata.banks.making import blocks_of, document_of, save_office

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
WRITTEN = datetime(2026, 7, 13, 8, 0)


@dataclass(frozen=True)
class Session:
    topic: str
    kind: str
    source: str = ""
    ranges: tuple[tuple[int, int], ...] = ()

    @property
    def pages(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    @property
    def reading(self) -> str:
        if not self.ranges:
            return self.source or "none"
        return f"{self.source}, pp. " + " and ".join(f"{a}\u2013{b}" for a, b in self.ranges)


LAST_YEAR = [
    Session("Introduction: the city as data", "Lecture", "Batty 2013", ((13, 46),)),
    Session("Sampling a street", "Lecture", "Jacobs 1961", ((29, 54), (112, 118))),
    Session("Census geography", "Lecture", "Singleton et al. 2018", ((61, 88),)),
    Session("Mapping workshop I", "Workshop", "worksheet M1 (in class)"),
    Session("Land use and zoning", "Lecture", "Hirt 2014", ((1, 27),)),
    Session("Density", "Lecture", "Angel 2012", ((139, 168), (171, 176))),
    Session("Housing markets", "Lecture", "Desmond 2016", ((53, 140),)),
    Session("Segregation indices", "Lecture", "Massey & Denton 1988", ((281, 315),)),
    Session("Field methods refresher", "Lecture", "GEO101 reader", ((3, 19),)),
    Session("Transport networks", "Lecture", "Rodrigue 2020", ((55, 91),)),
    Session("Cycling counts", "Workshop", "Lindsey et al. 2013", ((5, 16),)),
    Session("Guest lecture: a city opens its data", "Guest lecture", "none"),
    Session("Street trees and heat", "Lecture", "Norton et al. 2015", ((127, 138),)),
    Session("Noise and air", "Lecture", "Mueller et al. 2017", ((89, 96), (101, 113))),
    Session("Mobile phone data", "Lecture", "Ratti et al. 2006", ((727, 748),)),
    Session("Ethics and privacy", "Lecture", "Kitchin 2016", ((1, 37),)),
    Session("Mapping workshop II", "Workshop", "worksheet M2 (in class)"),
    Session("Neighbourhood change", "Lecture", "Lees et al. 2008", ((3, 38), (162, 165))),
    Session("Student presentations", "Presentations", "none"),
    Session("Wrap-up and essay clinic", "Lecture", "Batty 2018", ((201, 209),)),
]
ASSESSMENTS = [
    ("Reading journal", "25 %", "one week before session 11"),
    ("Mapping exercise", "20 %", "the day before session 14"),
    ("Group presentation (slides)", "20 %", "the day before session 19"),
    ("Essay", "40 %", "ten days after the last session"),
]
CALENDAR = [
    ("Mon 31 Aug 2026", "Autumn term: teaching starts", ""),
    ("Thu 10 Sep 2026", "Freshers' fair in the courtyard", "teaching as usual"),
    ("Tue 22 Sep 2026", "Faculty day", "no teaching after 13:00"),
    ("12-16 Oct 2026", "Reading week", "no teaching"),
    ("Mon 26 Oct 2026", "National holiday", "university closed"),
    ("Thu 29 Oct 2026", "Open evening, from 18:00", "teaching as usual"),
    ("Tue 3 Nov 2026", "Municipal elections, all buildings are polling stations",
     "university closed"),
    ("Thu 19 Nov 2026", "Library closed for stocktaking", "teaching as usual"),
    ("Fri 20 Nov 2026", "Autumn term: teaching ends", ""),
    ("23 Nov-11 Dec 2026", "Examination period", "no teaching"),
]  # fmt: skip
OLD_CALENDAR = [
    ("Mon 1 Sep 2025", "Autumn term: teaching starts", ""),
    ("Tue 23 Sep 2025", "Faculty day", "no teaching after 13:00"),
    ("13-17 Oct 2025", "Reading week", "no teaching"),
    ("Sun 26 Oct 2025", "National holiday", "university closed"),
    ("Fri 28 Nov 2025", "Autumn term: teaching ends", ""),
]
DEADLINES = (
    "Deadlines (both years): no deadline falls on a Saturday, a Sunday, a day on which the "
    "university is closed, or a day of reading week. One that would do so moves to the next day "
    "that is none of these. The time is always 23:59."
)


# ---- the plan that a careful reader of the files arrives at ------------------------------------


def plan() -> dict:
    by = {s.topic: s for s in LAST_YEAR}
    guest = by["Guest lecture: a city opens its data"]
    by["Housing markets"] = Session("Housing markets", "Lecture", "Glaeser 2011", ((117, 139),))
    new = Session("Counting pedestrians", "Lecture", "Gehl & Svarre 2013", ((21, 48), (81, 90)))
    dropped = ("Field methods refresher", "Ethics and privacy", guest.topic)
    order = [by[s.topic] for s in LAST_YEAR if s.topic not in dropped]
    order.insert(order.index(by["Census geography"]) + 1, by["Ethics and privacy"])
    order.insert(order.index(by["Density"]) + 1, new)

    closed = {date(2026, 10, 26), date(2026, 11, 3)}
    reading_week = {date(2026, 10, 12) + timedelta(days=i) for i in range(5)}
    days = [date(2026, 8, 31) + timedelta(days=i) for i in range(82)]
    off = closed | reading_week | {date(2026, 9, 22)}
    slots = [d for d in days if d.weekday() in (1, 3) and d not in off]
    order.insert(slots.index(date(2026, 11, 12)), guest)
    sessions, weeks = [], {}
    for number, (day, session) in enumerate(zip(slots, order, strict=True), start=1):
        room = "H 1.04" if day <= date(2026, 10, 9) else "B 2.11"
        room = "K 0.01" if day == date(2026, 11, 5) else room
        hours = ceil(session.pages / 12 * 2) / 2 if session.pages else 0.5
        monday = day - timedelta(days=day.weekday())
        weeks[monday] = weeks.get(monday, 0) + hours + 1.5
        sessions.append(
            {"number": number, "date": day.isoformat(), "start": "14:15", "room": room,
             "topic": session.topic, "pages": session.pages, "prep_hours": hours}
        )  # fmt: skip
    held = {s["topic"]: date.fromisoformat(s["date"]) for s in sessions}
    raw = {
        "Reading journal": (25, held["Cycling counts"] - timedelta(days=7)),
        "Mapping exercise": (20, held["Noise and air"] - timedelta(days=1)),
        "Group presentation (slides)": (20, held["Student presentations"] - timedelta(days=1)),
        "Essay": (35, slots[-1] + timedelta(days=10)),
    }
    assessments = []
    for title, (weight, wanted) in raw.items():
        due = wanted
        while due.weekday() > 4 or due in closed or due in reading_week:
            due += timedelta(days=1)
        assessments.append({"title": title, "weight_percent": weight, "due": f"{due}T23:59"})
    busiest = max(weeks, key=lambda w: (weeks[w], -w.toordinal()))
    totals = {
        "sessions": len(sessions),
        "pages": sum(s["pages"] for s in sessions),
        "prep_hours": sum(s["prep_hours"] for s in sessions),
        "busiest_week": busiest.isoformat(),
        "busiest_week_hours": weeks[busiest],
    }
    shown = {w.isoformat(): h for w, h in weeks.items()}
    return {"sessions": sessions, "assessments": assessments, "totals": totals, "weeks": shown}


# ---- the files ---------------------------------------------------------------------------------


def write_syllabus() -> None:
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.lib.units import cm
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

    styles = getSampleStyleSheet()
    body, small = styles["BodyText"], styles["Normal"]
    grid = [
        ("GRID", (0, 0), (-1, -1), 0.5, colors.grey),
        ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ]

    def ruled(rows: list[list[str]], widths: list[float]) -> Table:
        cells = [[Paragraph(text, small) for text in row] for row in rows]
        return Table(cells, [w * cm for w in widths], repeatRows=1, style=grid)

    def decorate(canvas, document) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(2 * cm, 1.2 * cm, "GEO118 Reading the City, syllabus autumn 2025")
        canvas.drawRightString(19 * cm, 1.2 * cm, f"page {document.page}")

    story = []
    for block in (TEXTS / "syllabus.md").read_text(encoding="utf-8").split("\n\n"):
        text = " ".join(block.strip().splitlines())
        if text.startswith("# "):
            story.append(Paragraph(text[2:], styles["Title"]))
        elif text.startswith("## "):
            story.append(Paragraph(text[3:], styles["Heading2"]))
        elif text == "[page]":
            story.append(PageBreak())
        elif text == "[sessions]":
            rows = [["No", "Topic", "Form", "Reading"]]
            rows += [[str(i), s.topic, s.kind, s.reading] for i, s in enumerate(LAST_YEAR, 1)]
            story.append(ruled(rows, [1.2, 6, 2.8, 6.5]))
        elif text == "[assessments]":
            rows = [["Assessment", "Weight", "Due"], *map(list, ASSESSMENTS)]
            story.append(ruled(rows, [6, 2.5, 8]))
        else:
            story.append(Paragraph(text, body))
        story.append(Spacer(1, 0.25 * cm))
    path = FILES / "GEO118_syllabus_2025.pdf"
    document = SimpleDocTemplate(
        str(path), pagesize=A4, invariant=1, title="GEO118 syllabus 2025", author="M. Halloran"
    )
    document.build(story, onFirstPage=decorate, onLaterPages=decorate)


def write_calendar() -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font

    book = Workbook()
    book.remove(book.active)
    for title, rows in (("2025-26", OLD_CALENDAR), ("2026-27", CALENDAR)):
        sheet = book.create_sheet(title)
        sheet.append([f"Faculty of Geography, academic calendar {title}, autumn"])
        sheet.append([])
        sheet.append(["Date", "What", "Teaching"])
        for row in rows:
            sheet.append(row)
        sheet.append([])
        sheet.append([DEADLINES])
        sheet["A1"].font = Font(bold=True, size=13)
        for cell in sheet[3]:
            cell.font = Font(bold=True)
        last = sheet.max_row
        sheet.merge_cells(start_row=last, end_row=last, start_column=1, end_column=3)
        sheet.cell(last, 1).alignment = Alignment(wrap_text=True, vertical="top")
        sheet.row_dimensions[last].height = 62
        for letter, width in zip("ABC", (22, 54, 24), strict=True):
            sheet.column_dimensions[letter].width = width
    save_office(book, FILES / "faculty_calendar.xlsx", WRITTEN)


def write_house_style() -> None:
    document = document_of(blocks_of(TEXTS / "house_style.md"))
    save_office(document, FILES / "house_style.docx", WRITTEN)


def print_expected() -> None:
    for name, value in plan().items():
        print(name)
        for row in value.items() if isinstance(value, dict) else value:
            print("  -", json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    if "--expected" in sys.argv:
        print_expected()
    else:
        FILES.mkdir(exist_ok=True)
        write_syllabus()
        write_calendar()
        write_house_style()
        for name in ("mails.txt", "lms_import_format.md"):
            (FILES / name).write_bytes((TEXTS / name).read_bytes())
