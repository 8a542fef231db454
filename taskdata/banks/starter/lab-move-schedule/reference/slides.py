"""Build the slides of the steering group from the workbook."""

from datetime import datetime, timedelta

import pdfplumber
from openpyxl import load_workbook
from pptx import Presentation
from pptx.util import Cm, Pt

book = load_workbook("output/lab_move_schedule.xlsx")


def records(name):
    header, *rows = book[name].iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in rows]


baseline, plan = ({r["ID"]: r for r in records(name)} for name in ("Baseline", "Plan"))
taken = [o for o in records("Offers") if o["Decision"] == "take"]
cost = sum(o["Cost"] for o in taken)
with pdfplumber.open("input/site_calendar.pdf") as pdf:
    rows = [row for page in pdf.pages for table in page.extract_tables() for row in table]
closed = {datetime.fromisoformat(row[0]) for row in rows if row[-1] == "closed"}
target = datetime(2026, 12, 4)
before, now = (rows["D4"]["Finish"] for rows in (baseline, plan))
after_target = [target + timedelta(n) for n in range(1, (before - target).days + 1)]
late = sum(day.weekday() < 5 and day not in closed for day in after_target)

deck = Presentation()
deck.slide_width, deck.slide_height = Cm(33.87), Cm(19.05)
deck.core_properties.title = "Move of the Hydrology Laboratory"


def add_slide(title, bullets, notes, table=None):
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    heading = slide.shapes.title
    heading.left, heading.top, heading.width, heading.height = Cm(1.4), Cm(0.6), Cm(31), Cm(2.2)
    heading.text = title
    heading.text_frame.paragraphs[0].runs[0].font.size = Pt(34)
    frame = slide.shapes.add_textbox(Cm(1.4), Cm(3), Cm(31), Cm(2)).text_frame
    frame.word_wrap = True
    for number, text in enumerate(bullets):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        run = paragraph.add_run()
        run.text = f"\u2022 {text}"
        run.font.size = Pt(22)
        paragraph.space_after = Pt(8)
    if table:
        top = 3.4 + 1.5 * len(bullets)
        shape = slide.shapes.add_table(len(table), len(table[0]), Cm(1.4), Cm(top), Cm(31), Cm(1))
        for r, row in enumerate(table):
            for c, text in enumerate(row):
                cell = shape.table.cell(r, c)
                cell.text = str(text)
                cell.text_frame.paragraphs[0].runs[0].font.size = Pt(18)
    slide.notes_slide.notes_text_frame.text = notes


add_slide(
    "Where we stand",
    [
        "Start 2026-09-07, target 2026-12-04",
        "Longer than listed: benches, gas lines, ducts, calibration",
        "Crane permit from 2026-10-26; the lift is not critical",
        "New: evacuation training. Cancelled: open day",
    ],
    "All durations that contractors have confirmed are in; the planners' estimates are used for "
    "everything else. The decisions of the last meeting are worked in.",
)
add_slide(
    "If we do nothing",
    [
        f"Handover on {before:%Y-%m-%d}",
        f"{late} working days after the target",
        "The flume course would begin in a building site",
        "What holds us up is the delivery of the benches",
    ],
    "Explain that the building work has several days of float behind the benches, so working "
    "faster on site alone would change nothing at all.",
)
add_slide(
    "What we propose",
    [f"Total cost {cost:,} euros, handover on {now:%Y-%m-%d}"],
    "Air freight alone looks cheaper, but after six days the plumbing becomes critical and the "
    "rest of its saving is lost. Student helpers were the best offer; it expired on 21 August.",
    [["Offer", "Task", "Saves", "Cost"]]
    + [
        [o["Offer"], plan[o["Task"]]["Task"], f"{o['Saves']} days", f"{o['Cost']:,}"] for o in taken
    ],
)
critical = sorted((r for r in plan.values() if r["Critical"] == "yes"), key=lambda r: r["Start"])
add_slide(
    "The critical path",
    [],
    "Every day lost on one of these tasks is a day lost at the end. The floor and the plumbing "
    "have a single day of float, so watch them as well.",
    [["ID", "Task", "Start", "Finish"]]
    + [[r["ID"], r["Task"], f"{r['Start']:%Y-%m-%d}", f"{r['Finish']:%Y-%m-%d}"] for r in critical],
)
add_slide(
    "Decisions we need",
    [
        f"Release {cost:,} euros for {', '.join(o['Offer'] for o in taken)}",
        "Order the two consignments by 2026-09-04",
        "Accept a plan without any reserve before the target",
        "Name who decides if the benches slip",
    ],
    "The offer for two consignments runs out first, two days after this meeting, so the first "
    "decision cannot wait for another round.",
)
deck.save("output/steering_update.pptx")
print(late, "days late;", cost, "euros;", f"{now:%Y-%m-%d}")
