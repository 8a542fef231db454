"""Judge and price every option from the files, and write the workbook for the board."""

import csv
import re
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font

CENT = Decimal("0.01")
WINDOWS = {"W1": date(2026, 5, 5), "W2": date(2026, 5, 11), "W3": date(2026, 5, 19)}
BUDGET = Decimal(15900)  # mail 11 overtakes mail 1
REQUIRED = {"Amina Rahal", "Jonas Feld", "Petra Novak"}
OFFICES = ["Norham", "Eastwick", "Calder", "Port Ellis"]

# ---- people: the list, with mail 7 ----
with open("input/team_list.csv", encoding="utf-8", newline="") as file:
    listed = list(csv.DictReader(file, delimiter=";"))


def absent_days(text):
    """Return the days in May that an entry of the team list covers."""
    numbers = [int(n) for n in re.findall(r"\d+", re.sub(r"[/.]\s?0?5\b\.?", " ", text))]
    if "back on" in text:  # "back on Tue 12 May, away 10-11 May": the first number is a return
        numbers = numbers[1:]
    return set(range(numbers[0], numbers[-1] + 1)) if numbers else set()


team = {}
for row in listed:
    if row["name"] != "Gareth Pugh":
        team[row["name"]] = (row["office"].strip().title(), absent_days(row["absences May 2026"]))
team["Ines Carvalho"] = ("Eastwick", set())

# ---- trains ----
trains = []
with open("input/train_fares.csv", encoding="utf-8", newline="") as file:
    for row in csv.DictReader(file):
        if row["class"][0] != "2" or row["status"].lower() != "runs":
            continue
        day = row["date"]
        if "/" in day:
            day = "-".join(reversed(day.split("/")))
        times = [row[k].replace(".", ":").zfill(5) for k in ("departs", "arrives")]
        fare = Decimal(re.sub(r"[^\d.]", "", row["fare"]))
        trains.append((row["from"], row["to"], day, *times, fare))


def cheapest(origin, destination, day, earliest, latest):
    fits = [
        (fare, arrives, departs)
        for start, end, on, departs, arrives, fare in trains
        if (start, end, on) == (origin, destination, str(day))
        and departs >= earliest
        and arrives <= latest
    ]
    return min(fits, default=None)


# ---- venues: the quotes sheet with mails 6, 8 and 10 ----
book = load_workbook("input/venue_quotes.xlsx", data_only=True)
columns = list(zip(*book["Quotes"].iter_rows(max_row=12, values_only=True), strict=True))
venues = {column[0]: dict(zip(columns[0], column, strict=True)) for column in columns[1:]}
venues["V3"]["Meeting package p.p. and day"] = 74
grid = list(book["Availability"].iter_rows(min_row=2, values_only=True))
taken = {
    row[0][:2]: {day for day, mark in zip(grid[0][1:], row[1:], strict=True) if mark}
    for row in grid[1:]
}
taken["V2"] |= {11, 12, 13}


def price(quote, label, vat):
    value = Decimal(str(quote[label]))
    if quote["Prices are"] == "net":
        value = (value * vat).quantize(CENT, ROUND_HALF_UP)
    return value


def consider(code, window):
    quote, first = venues[code], WINDOWS[window]
    town, last = quote["Town (station)"], first + timedelta(2)
    days = {first.day, first.day + 1, first.day + 2}
    coming = {name: office for name, (office, away) in team.items() if not away & days}
    at_home = {"Beatrix Lund"} if town == "Lindow" else set()
    nights = len(set(coming) - at_home)
    rides = {
        office: (
            cheapest(office, town, first, "07:00", "11:30"),
            cheapest(town, office, last, "15:00", "21:00"),
        )
        for office in OFFICES
    }
    step_free = quote["Step-free"] == "yes" and not (code == "V5" and first.day <= 15)
    kept = [
        not taken[code] & days,
        quote["Plenary, seats"] >= len(coming) + 2,
        quote["Breakout rooms"] >= 3,
        quote["Single rooms"] >= nights,
        step_free,
        all(all(pair) for pair in rides.values()),
        set(coming) >= REQUIRED,
    ]
    broken = [f"R{number}" for number, holds in enumerate(kept, start=1) if not holds]
    result = {"code": f"{code}-{window}", "venue": quote["Venue"], "window": window}
    result |= {"people": len(coming), "broken": broken, "rides": rides}
    if broken:
        return result
    tax = quote["City tax p.p. and night"]
    lines = [
        (
            "Meeting package",
            3 * len(coming),
            price(quote, "Meeting package p.p. and day", Decimal("1.2")),
        ),
        ("Rooms", 2 * nights, price(quote, "Room p.p. and night", Decimal("1.1"))),
        ("City tax", 2 * nights, Decimal(0 if tax == "none" else str(tax))),
        ("Shuttle", 2, Decimal(str(quote["Shuttle from the station, per ride"]))),
    ]
    for office, (out, back) in rides.items():
        riders = {n for n, o in coming.items() if o == office} - at_home - {"Otto Brandt"}
        fare = out[0] + back[0]
        if len(riders) >= 8:
            fare = (fare * Decimal("0.80")).quantize(CENT, ROUND_HALF_UP)
        lines.append((f"Train {office}", len(riders), fare))
    total = sum(count * unit for _, count, unit in lines) * Decimal("1.05")
    if total > BUDGET:
        broken.append("R8")
    return result | {"lines": lines, "total": total}


options = [consider(code, window) for code in venues for window in WINDOWS]
best = min((o for o in options if not o["broken"]), key=lambda o: o["total"] / o["people"])

out = Workbook()
sheet = out.active
sheet.title = "Comparison"
sheet.append(["Option", "Venue", "Window", "People", "Total", "Per person", "Rules broken"])
for o in options:
    costs = [None, None]
    if "total" in o:
        costs = [round(float(o["total"]), 2), round(float(o["total"] / o["people"]), 2)]
    row = [o["code"], o["venue"], o["window"], o["people"], *costs]
    sheet.append([*row, ", ".join(o["broken"]) or "none"])
budget = out.create_sheet("Budget")
budget.append(["Item", "Quantity", "Unit price", "Amount"])
for n, (item, count, unit) in enumerate(best["lines"], start=2):
    budget.append([item, count, float(unit), f"=B{n}*C{n}"])
n = budget.max_row
budget.append(["Contingency", None, None, f"=0.05*SUM(D2:D{n})"])
budget.append(["Total", None, None, f"=SUM(D2:D{n + 1})"])
for page in (sheet, budget):
    page.freeze_panes = "A2"
    for cell in page[1]:
        cell.font = Font(bold=True)
    for letter, width in zip("ABCDEFG", (18, 26, 12, 12, 12, 12, 16), strict=True):
        page.column_dimensions[letter].width = width
for row in sheet.iter_rows(min_row=2, min_col=5, max_col=6):
    for cell in row:
        cell.number_format = "#,##0.00"
for row in budget.iter_rows(min_row=2, min_col=3, max_col=4):
    for cell in row:
        cell.number_format = "#,##0.00"
for cell in budget[budget.max_row]:
    cell.font = Font(bold=True)
out.save("output/offsite_options.xlsx")
print(best["code"], best["venue"], best["people"], f"{best['total']:.2f}")
print(f"left of the budget: {BUDGET - best['total']:.2f}")
for office, (go, back) in best["rides"].items():
    print(office, go[2], go[1], back[2], back[1])
