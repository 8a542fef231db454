"""Write the input files of this task, or with --expected the values its checks expect.

The network below is clean: final durations, final predecessors. The writers spread it over files
that disagree. Expected values come from the clean network, not from reading the files back.

    python make_files.py             # rewrites files/
    python make_files.py --expected  # prints what task.yaml expects, changes nothing
"""

import sys
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from itertools import combinations
from pathlib import Path

from taskdata.banks.making import blocks_of, document_of, save_office

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
WRITTEN = datetime(2026, 8, 26, 8, 0)
START, TARGET, MEETING = date(2026, 9, 7), date(2026, 12, 4), date(2026, 8, 25)
NOT_BEFORE = {"C3": date(2026, 10, 26)}


@dataclass(frozen=True)
class Task:
    id: str
    name: str
    days: int
    """Duration that counts."""
    listed: str | int
    """Duration in the planning list."""
    after: tuple[tuple[str, int], ...] = ()
    """Predecessors with the working days that must pass, as they finally are."""
    listed_after: str | None = None
    """Predecessors in the planning list, where it is out of date."""
    owner: str = ""


TASKS = [
    Task("A1", "Confirm room allocation", 5, "1 wk", (), "-", "I. Falk"),
    Task("A2", "Inventory of equipment", 10, "2 wk", (("A1", 0),), None, "I. Falk"),
    Task("A3", "Dispose of old chemicals", 8, "8 d", (("A2", 0),), None, "Chemsafe"),
    Task("A4", "Order benches and fume hoods", 3, 3, (("A1", 0),), None, "L. Berg"),
    Task("A5", "Delivery of benches and fume hoods", 33, "6 wk", (("A4", 0),), None, "Tanner Lab"),
    Task("B1", "Level the floor of the wet lab", 6, "6 d", (("A1", 0),), None, "Oakes Build"),
    Task("B2", "Coat the floor", 3, "3 days", (("B1", 0),), None, "Oakes Build"),
    Task("B3", "Plumbing and gas lines", 16, "12d", (("B2", 5),), None, "Pipeworks"),
    Task("B4", "Electrical installation", 10, "2 wk", (("B1", 0),), None, "Voltan"),
    Task("B5", "Ventilation ducts", 9, "8 d", (("B4", 0),), None, "Airline"),
    Task("B6", "Fit benches and fume hoods", 8, "8 d", (("A5", 0), ("B3", 0), ("B5", 0)), None,
         "Tanner Lab"),
    Task("B7", "Certify the ventilation", 3, 3, (("B6", 0),), None, "Airline"),
    Task("C1", "Pack the laboratory", 6, "6 d", (("A3", 0),), None, "Moves & Co"),
    Task("C2", "Decommission the cold room", 4, "4 d", (("A3", 0),), None, "Frigo"),
    Task("C3", "Crane lift of the flume", 2, "2 d", (("B2", 5), ("C1", 0)), "B2, C1",
         "City Cranes"),
    Task("C4", "Move the crates", 3, "3 d", (("C1", 0), ("B7", 0)), None, "Moves & Co"),
    Task("C5", "Move the freezers", 1, "1 d", (("C2", 0), ("B7", 0)), None, "Frigo"),
    Task("D1", "Unpack and set up", 7, "7 d", (("C4", 0), ("C5", 0)), None, "I. Falk"),
    Task("D2", "Calibrate the instruments", 6, "4 d", (("D1", 0), ("C3", 0)), None, "Metrik"),
    Task("D3", "Safety inspection", 2, "2 d", (("D1", 0), ("B7", 0)), "D1", "Fire office"),
    Task("D4", "Handover to the users", 1, "1 d", (("D2", 0), ("D3", 0), ("D5", 0)), "D2, D3",
         "R. Quint"),
    Task("D5", "Evacuation training", 1, "", (("D3", 0),), "", "Fire office"),
]  # fmt: skip
CONFIRMATIONS = [
    ("B3", "Pipeworks", 16, "confirmed", "mail of 11 Aug, gas takes longer than we thought"),
    ("B5", "Airline", 9, "confirmed", ""),
    ("A5", "Tanner Lab", 33, "confirmed", "replaces the offer of July (28 days)"),
    ("A5", "Tanner Lab", 28, "withdrawn", "July"),
    ("B6", "Tanner Lab", 6, "requested", "no answer yet"),
    ("D2", "Metrik", 6, "confirmed", "one technician only"),
    ("C4", "Moves & Co", 3, "confirmed", ""),
    ("A3", "Chemsafe", 5, "requested", "would be nice"),
]


@dataclass(frozen=True)
class Offer:
    id: str
    task: str
    saves: int
    cost: int
    until: date
    text: str


OFFERS = [
    Offer("O1", "A5", 8, 5600, date(2026, 9, 4), "Air freight for the consignment of benches"),
    Offer("O2", "B6", 3, 2900, date(2026, 9, 11), "Second fitting crew"),
    Offer("O3", "D1", 3, 1800, date(2026, 8, 21), "Student helpers for setting up"),
    Offer("O4", "D2", 2, 2200, date(2026, 9, 30), "Second calibration technician"),
    Offer("O5", "B3", 5, 3100, date(2026, 9, 18), "Two-shift work on the gas lines"),
    Offer("O6", "C4", 1, 450, date(2026, 10, 15), "Second lorry"),
    Offer("O7", "A5", 5, 3300, date(2026, 9, 4), "Benches in two consignments"),
    Offer("O8", "D1", 2, 2350, date(2026, 10, 15), "Unpacking service of the movers"),
    Offer("O9", "C1", 2, 700, date(2026, 10, 1), "Packing on Saturday"),
]

# The closing days that matter; weekends are free anyway.
CLOSED = {
    date(2026, 9, 21): "Site audit, all gates closed",
    date(2026, 10, 12): "Harvest Monday, public holiday",
    date(2026, 10, 30): "Reformation Day (31 October), observed on the Friday",
    date(2026, 11, 18): "Day of Repentance, public holiday",
    date(2026, 12, 8): "Feast of the founder",
}


# ---- the plan that a careful reader of the files arrives at ------------------------------------


@cache
def working_days() -> tuple[date, ...]:
    days = (START + timedelta(days=i) for i in range(200))
    return tuple(d for d in days if d.weekday() < 5 and d not in CLOSED)


@dataclass(frozen=True)
class Row:
    task: Task
    days: int
    first: int
    last: int
    """Indexes into `working_days`."""
    slack: int


def schedule(saved: dict[str, int]) -> dict[str, Row]:
    """Return every task's earliest dates and float, with the days that offers save."""
    index = {day: i for i, day in enumerate(working_days())}
    length = {t.id: t.days - saved.get(t.id, 0) for t in TASKS}
    begin: dict[str, int] = {}

    def start(task: Task) -> int:
        if task.id not in begin:
            waits = [start(BY_ID[p]) + length[p] + lag for p, lag in task.after]
            waits.append(index[NOT_BEFORE[task.id]] if task.id in NOT_BEFORE else 0)
            begin[task.id] = max(waits)
        return begin[task.id]

    end = max(start(t) + length[t.id] for t in TASKS)
    latest_end: dict[str, int] = {}

    def must_end(name: str) -> int:
        if name not in latest_end:
            followers = [(t, lag) for t in TASKS for p, lag in t.after if p == name]
            ends = [must_end(t.id) - length[t.id] - lag for t, lag in followers]
            latest_end[name] = min(ends, default=end)
        return latest_end[name]

    return {
        t.id: Row(
            t, length[t.id], begin[t.id], begin[t.id] + length[t.id] - 1,
            must_end(t.id) - begin[t.id] - length[t.id],
        )
        for t in TASKS
    }  # fmt: skip


BY_ID = {t.id: t for t in TASKS}


def allowed(chosen: tuple[Offer, ...]) -> bool:
    ids = {o.id for o in chosen}
    in_time = all(o.until >= MEETING for o in chosen)
    return in_time and not {"O1", "O7"} <= ids and not ("O2" in ids and "O1" not in ids)


def savings(chosen: tuple[Offer, ...]) -> dict[str, int]:
    saved: dict[str, int] = {}
    for offer in chosen:
        saved[offer.task] = saved.get(offer.task, 0) + offer.saves
    return saved


def sets_that_keep_the_target() -> list[tuple[int, int, tuple[str, ...]]]:
    """Return (cost, index of the handover's day, offers) of every such set, best first."""
    found = []
    for size in range(len(OFFERS) + 1):
        for chosen in combinations(OFFERS, size):
            last = schedule(savings(chosen))["D4"].last
            if allowed(chosen) and working_days()[last] <= TARGET:
                found.append((sum(o.cost for o in chosen), last, tuple(o.id for o in chosen)))
    return sorted(found)


# ---- the files ---------------------------------------------------------------------------------


def after_text(task: Task) -> str:
    if task.listed_after is not None:
        return task.listed_after
    return ", ".join(f"{p} + {lag}d" if lag else p for p, lag in task.after)


def write_tasks() -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font, PatternFill

    book = Workbook()
    sheet = book.active
    sheet.title = "Planning list"
    sheet.append(["Move of the Hydrology Laboratory, planning list, state of 14 July 2026"])
    sheet.append([])
    sheet.append(["ID", "Task", "Duration", "After", "Who", "Remark"])
    remarks = {"C3": "permit from 19 Oct (R. Quint, July)", "A5": "see confirmations"}
    groups = {"A": "Prepare", "B": "Building", "C": "Move", "D": "Start"}
    listed = [t for t in TASKS if t.id != "D5"]
    rehearsal = Task("C6", "Rehearse the open day", 3, "3 d", (("C4", 0),), None, "I. Falk")
    listed.insert([t.id for t in listed].index("D1"), rehearsal)
    for task in listed:
        if task.id[1] == "1":
            sheet.append([f"{task.id[0]}  {groups[task.id[0]]}"])
            sheet.cell(sheet.max_row, 1).font = Font(bold=True)
        row = [task.id, task.name, task.listed, after_text(task), task.owner]
        if task.id == "D4":
            row[3] = "D2, D3, C6"
        sheet.append([*row, remarks.get(task.id)])
    second = book.create_sheet("Confirmations")
    second.append(["Task", "Contractor", "Working days", "Status", "Note"])
    for row in CONFIRMATIONS:
        second.append(row)
    for page, top in ((sheet, 3), (second, 1)):
        for cell in page[top]:
            cell.font = Font(bold=True)
            cell.fill = PatternFill("solid", fgColor="E3ECE3")
            cell.alignment = Alignment(vertical="top")
        for letter, width in zip("ABCDEF", (10, 38, 14, 16, 18, 40), strict=True):
            page.column_dimensions[letter].width = width
    save_office(book, FILES / "move_tasks.xlsx", WRITTEN)


def write_offers() -> None:
    rows = ["offer;task;days saved;price EUR (1.000 = one thousand);valid until;what"]
    for o in OFFERS:
        price = f"{o.cost:,}".replace(",", ".") if o.cost > 2000 else f"{o.cost} EUR"
        until = o.until.strftime("%d.%m.%Y")
        rows.append(f"{o.id};{o.task};{o.saves} d;{price};{until};{o.text}")
    (FILES / "acceleration_offers.csv").write_bytes(("\r\n".join(rows) + "\r\n").encode())


def write_calendar() -> None:
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.lib.units import cm
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

    styles = getSampleStyleSheet()
    other_days = [
        (date(2026, 9, 14), "Fire drill at 10:00", "open"),
        (date(2026, 10, 5), "Start of teaching", "open"),
        (date(2026, 10, 24), "Alumni day (Saturday)", "closed"),
        (date(2026, 11, 2), "Bridging day of the library; all other buildings", "open"),
        (date(2026, 11, 27), "Advent market in the yard, no lorries after 15:00", "open"),
        (date(2026, 12, 25), "Christmas Day", "closed"),
    ]
    entries = sorted([*other_days, *((d, text, "closed") for d, text in CLOSED.items())])
    rows = [["Date", "Day", "What", "Site"]]
    rows += [[str(d), d.strftime("%A"), text, site] for d, text, site in entries]
    grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("FONTSIZE", (0, 0), (-1, -1), 9)]
    old = [
        ["Date", "What", "Site"],
        ["2026-04-03", "Good Friday", "closed"],
        ["2026-04-06", "Easter Monday", "closed"],
        ["2026-05-01", "May Day", "closed"],
        ["2026-05-14", "Ascension", "closed"],
        ["2026-07-20", "Water works, gate 2", "open"],
    ]
    story = [
        Paragraph("Site calendar 2026", styles["Title"]),
        Paragraph(
            "Estates department. On days marked closed nobody can work on the site, contractors "
            "included, and nothing is delivered. Saturdays and Sundays are never working days for "
            "contractors, whatever is on.",
            styles["BodyText"],
        ),
        Paragraph("First half of the year", styles["Heading2"]),
        Table(old, [3 * cm, 9 * cm, 3 * cm], style=grid),
        PageBreak(),
        Paragraph("September to December", styles["Heading2"]),
        Spacer(1, 0.3 * cm),
        Table(rows, [2.6 * cm, 2.6 * cm, 8.6 * cm, 2 * cm], style=grid),
    ]
    path = FILES / "site_calendar.pdf"
    document = SimpleDocTemplate(str(path), pagesize=A4, invariant=1, title="Site calendar 2026")
    document.build(story)


def write_document(source: str, target: str) -> None:
    document = document_of(blocks_of(TEXTS / source))
    save_office(document, FILES / target, WRITTEN)


def print_plan(title: str, rows: dict[str, Row]) -> None:
    days = working_days()
    print(title)
    for r in rows.values():
        critical = '"yes"' if r.slack == 0 else '"no"'
        dates = f'"{days[r.first]}", "{days[r.last]}"'
        print(f"- [{r.task.id}, {r.days}, {dates}, {r.slack}, {critical}]")
    handover, target = rows["D4"].last, days.index(TARGET)
    print(f"handover {days[handover]}, {handover - target} working days after the target")
    path = sorted((r for r in rows.values() if r.slack == 0), key=lambda r: r.first)
    print("critical path", [r.task.id for r in path])


def print_expected() -> None:
    print_plan("baseline", schedule({}))
    best = sets_that_keep_the_target()
    print("cheapest sets", best[:4])
    chosen = tuple(o for o in OFFERS if o.id in best[0][2])
    print_plan("plan", schedule(savings(chosen)))


if __name__ == "__main__":
    if "--expected" in sys.argv:
        print_expected()
    else:
        FILES.mkdir(exist_ok=True)
        write_tasks()
        write_offers()
        write_calendar()
        write_document("minutes.md", "steering_minutes.docx")
        write_document("conventions.md", "planning_conventions.docx")
