"""Kilometres from the log, costs of all options and combinations, and the board's workbook."""

import csv
import re
from datetime import date, datetime
from itertools import product

from openpyxl import Workbook, load_workbook

PRICES = {"diesel": 1.38, "petrol": 1.46, "electric": 0.27}  # electricity by the new contract
GRANTS = [6000, 3000]
VANS = {"Town": 1, "Coast": 2, "North": 3}
CHANGES = {"Town": 0, "Coast": 50 * 46, "North": -50 * 46}
NEW_INSTRUMENT = date(2025, 10, 9)

book = load_workbook("input/offers.xlsx", data_only=True)
head, *rows = book["Offers"].iter_rows(values_only=True)
offers = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
offers["E1"]["List price"] = 38400
needs = {r[0]: r for r in book["Routes"].iter_rows(2, values_only=True)}
longest = {route: row[2] for route, row in needs.items()} | {"Coast": 214}
with open("input/mails.txt", encoding="utf-8") as file:
    stood = int(re.search(r"stood at ([\d,]+) km", file.read())[1].replace(",", ""))

readings = {1: [], 2: [], 3: []}
with open("input/fuel_log.csv", encoding="utf-8", newline="") as file:
    for row in csv.DictReader(file, delimiter=";"):
        day = datetime.strptime(row["date"], "%d.%m.%Y").date()
        van = int(re.search(r"\d", row["van"])[0])
        value = int(re.sub(r"[ ,]", "", row["odometer"]))
        if van == 3 and day > NEW_INSTRUMENT:
            value += stood
        if date(2025, 4, 1) <= day <= date(2026, 3, 31):
            readings[van].append((day, value))
mileage, kilometres = [], {}
for route, van in VANS.items():
    valid = []
    for day, value in sorted(readings[van]):
        if not valid or value >= valid[-1][1]:
            valid.append((day, value))
    distance = (valid[-1][1] - valid[0][1]) * (1.609 if van == 2 else 1)
    days = (valid[-1][0] - valid[0][0]).days
    kilometres[route] = round(distance / days * 3.65) * 100 + CHANGES[route]
    mileage.append([route, van, round(distance), days, kilometres[route]])


def faults(route, code):
    offer = offers[code]
    found = ["A"] if offer["Payload kg"] < needs[route][3] else []
    reach = offer["Range on paper km"]
    return found + (["B"] if reach and reach * 0.7 < longest[route] * 1.1 else [])


def amounts(route, code, prices):
    """Return list price, wallbox, residual value, energy, service and tax."""
    offer = offers[code]
    price, used = offer["List price"], offer["Per 100 km (l or kWh)"]
    residual = float(offer["Residual 5 y"].rstrip("% "))
    return [
        price,
        1450 if offer["Drive"] == "electric" else 0,
        round(-price * residual / 100, 2),
        round(5 * kilometres[route] / 100 * used * prices[offer["Drive"]], 2),
        5 * (offer["Service a year"] + offer["Tax a year"]),
    ]


def table(combination, prices=None):
    """Return a row for each route of a combination, discount and grant included."""
    grants, found = iter([*GRANTS, 0]), []
    dealers = [offers[code]["Dealer"] for code in combination]
    for route, code, dealer in zip(VANS, combination, dealers, strict=True):
        more = dealers.count(dealer) > 1
        discount = -round(offers[code]["List price"] * 0.04, 2) if more else 0
        grant = -next(grants) if offers[code]["Drive"] == "electric" else 0
        found.append([route, code, *amounts(route, code, prices or PRICES), discount, grant])
    return found


def total(combination, prices=None):
    return round(sum(sum(row[2:]) for row in table(combination, prices)), 2)


kept = []
for combination in product(offers, repeat=3):
    electric = sum(offers[code]["Drive"] == "electric" for code in combination)
    if electric <= 2 and not any(map(faults, VANS, combination)):
        kept.append(combination)
kept.sort(key=total)

out = Workbook()
sheet = out.active
sheet.title = "Mileage"
sheet.append(["Route", "Van", "Distance km", "Days", "Km per year"])
for row in mileage:
    sheet.append(row)
sheet = out.create_sheet("Options")
sheet.append(["Option", "Allowed", "Five-year cost"])
for route, code in product(VANS, offers):
    wrong = ", ".join(faults(route, code))
    cost = None if wrong else round(sum(amounts(route, code, PRICES)), 2)
    sheet.append([f"{route} {code}", wrong or "yes", cost])
sheet = out.create_sheet("Combinations")
sheet.append(["Combination", "Total"])
for combination in kept:
    sheet.append(["-".join(combination), total(combination)])
sheet = out.create_sheet("Decision")
amounts_named = ["List price", "Wallbox", "Residual value", "Energy", "Service and tax"]
sheet.append(["Route", "Offer", *amounts_named, "Discount", "Grant", "Five-year cost"])
for number, row in enumerate(table(kept[0]), start=2):
    sheet.append([*row, f"=SUM(C{number}:I{number})"])
sheet.append(["Total", None, *(f"=SUM({c}2:{c}4)" for c in "CDEFGHIJ")])
for sheet in out:
    for row in sheet.iter_rows(2):
        for cell in row:
            if isinstance(cell.value, float) or cell.data_type == "f":
                cell.number_format = "#,##0.00"
out.save("output/van_costs.xlsx")

print(mileage, len(kept))
best, second = kept[:2]
gap = total(second) - total(best)
print(best, total(best), table(best), second, total(second), round(gap, 2))
for kind in ("electric", "diesel"):
    dearer = PRICES | {kind: PRICES[kind] + 1}
    slope = total(second, dearer) - total(best, dearer) - gap
    print(kind, round(PRICES[kind] - gap / slope, 4))
