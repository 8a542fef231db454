"""Plan the move without and with offers, find the cheapest offers, and write the workbook."""

import csv
import re
from datetime import date, timedelta
from itertools import combinations

import pdfplumber
from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font

# Minutes of 25 August.
START, TARGET, MEETING = date(2026, 9, 7), date(2026, 12, 4), date(2026, 8, 25)
NOT_BEFORE = {"C3": date(2026, 10, 26)}
CANCELLED = "C6"

# ---- working days ----
closed = set()
with pdfplumber.open("input/site_calendar.pdf") as pdf:
    for page in pdf.pages:
        for table in page.extract_tables():
            closed |= {date.fromisoformat(row[0]) for row in table if row[-1] == "closed"}
days = [START + timedelta(i) for i in range(180)]
days = [day for day in days if day.weekday() < 5 and day not in closed]
index = {day: i for i, day in enumerate(days)}

# ---- tasks: the planning list, confirmed durations, the minutes ----
book = load_workbook("input/move_tasks.xlsx", data_only=True)
names, length, after = {}, {}, {}
for identity, name, duration, before, *_ in book["Planning list"].iter_rows(
    min_row=4, values_only=True
):
    if not name or identity == CANCELLED:
        continue
    number, unit = re.match(r"(\d+)\s*(\w*)", str(duration)).groups()
    names[identity] = name
    length[identity] = int(number) * (5 if unit.startswith("wk") else 1)
    links = re.findall(r"([A-D]\d)(?: \+ (\d+)d)?", before or "")
    after[identity] = {p: int(lag or 0) for p, lag in links if p != CANCELLED}
for identity, _, confirmed, status, _ in book["Confirmations"].iter_rows(
    min_row=2, values_only=True
):
    if status == "confirmed":
        length[identity] = confirmed
names["D5"], length["D5"], after["D5"] = "Evacuation training", 1, {"D3": 0}
after["D4"]["D5"] = 0
after["D3"]["B7"] = 0
after["C3"]["B2"] = 5


def plan(saved):
    """Return {task: (days, first, last, float)} with indexes into the working days."""
    span = {task: length[task] - saved.get(task, 0) for task in length}
    first = {}
    while len(first) < len(span):
        for task, links in after.items():
            if task not in first and all(p in first for p in links):
                earliest = index[NOT_BEFORE.get(task, START)]
                first[task] = max(
                    [earliest, *(first[p] + span[p] + lag for p, lag in links.items())]
                )
    end = max(first[task] + span[task] for task in span)
    late = {}
    for task in sorted(span, key=first.get, reverse=True):
        followers = [
            late[n] - lag for n, links in after.items() for p, lag in links.items() if p == task
        ]
        late[task] = min(followers, default=end) - span[task]
    return {
        t: (span[t], first[t], first[t] + span[t] - 1, late[t] - first[t]) for t in sorted(span)
    }


# ---- offers ----
offers = {}
with open("input/acceleration_offers.csv", encoding="utf-8", newline="") as file:
    for row in csv.DictReader(file, delimiter=";"):
        until = date(*map(int, reversed(row["valid until"].split("."))))
        price = next(value for column, value in row.items() if column.startswith("price"))
        cost = int(re.sub(r"\D", "", price))
        saves = int(row["days saved"].split()[0])
        offers[row["offer"]] = (row["task"], saves, cost, until >= MEETING)


def savings(chosen):
    saved = {}
    for offer in chosen:
        task, saves, _, _ = offers[offer]
        saved[task] = saved.get(task, 0) + saves
    return saved


candidates = []
valid = [offer for offer in offers if offers[offer][3]]
for size in range(len(valid) + 1):
    for chosen in combinations(valid, size):
        if {"O1", "O7"} <= set(chosen) or ("O2" in chosen and "O1" not in chosen):
            continue
        handover = plan(savings(chosen))["D4"][2]
        if days[handover] <= TARGET:
            candidates.append((sum(offers[o][2] for o in chosen), handover, chosen))
cost, _, taken = min(candidates)

out = Workbook()
out.remove(out.active)
for title, rows in (("Baseline", plan({})), ("Plan", plan(savings(taken)))):
    sheet = out.create_sheet(title)
    sheet.append(["ID", "Task", "Days", "Start", "Finish", "Float", "Critical"])
    for task, (span, first, last, slack) in rows.items():
        critical = "yes" if slack == 0 else "no"
        sheet.append([task, names[task], span, days[first], days[last], slack, critical])
        for cell in sheet[sheet.max_row][3:5]:
            cell.number_format = "yyyy-mm-dd"
    handover = rows["D4"][2]
    late = handover - index[TARGET]
    path = sorted((first, task) for task, (_, first, _, slack) in rows.items() if slack == 0)
    print(title, "handover", days[handover], f"({late} working days after the target)")
    print("  critical:", ", ".join(task for _, task in path))
sheet = out.create_sheet("Offers")
sheet.append(["Offer", "Task", "Saves", "Cost", "Decision"])
for offer, (task, saves, price, still_valid) in offers.items():
    decision = "take" if offer in taken else "leave" if still_valid else "expired"
    sheet.append([offer, task, saves, price, decision])
for page in out:
    page.freeze_panes = "A2"
    for cell in page[1]:
        cell.font = Font(bold=True)
    for letter, width in zip("ABCDEFG", (8, 36, 12, 13, 13, 8, 10), strict=True):
        page.column_dimensions[letter].width = width
out.save("output/lab_move_schedule.xlsx")
print("take", taken, "for", cost)
