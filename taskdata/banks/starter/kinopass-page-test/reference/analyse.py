"""Analyses the test by the plan and Leyla's mail; writes the workbook and prints every figure."""

import math

import pandas as pd
from openpyxl import Workbook
from openpyxl.styles import Font

HOUR = pd.Timedelta(hours=1)
visits = pd.read_csv("input/visits.csv", keep_default_na=False).drop_duplicates()
visits["page"] = visits.page.str.strip().str[-1].str.upper()
visits["time"] = pd.to_datetime(visits.time).dt.tz_localize(None) + HOUR
visits["bot"] = visits.agent.str.contains("bot|crawler|headless", case=False)
visits["staff"] = visits.source == "intranet"
people = visits.groupby("visitor").agg(
    bot=("bot", "any"),
    staff=("staff", "any"),
    pages=("page", "nunique"),
    page=("page", "first"),
    first=("time", "min"),
)
steps = {"In the log": len(people)}
for step, is_out in (
    ("Bots", lambda p: p.bot),
    ("Staff", lambda p: p.staff),
    ("Both pages", lambda p: p.pages > 1),
    ("Outside the test", lambda p: (p["first"] < "2026-02-02") | (p["first"] >= "2026-02-23")),
    ("Outage", lambda p: (p["first"] >= "2026-02-11") & (p["first"] < "2026-02-13")),
):
    out = is_out(people)
    steps[step] = int(out.sum())
    people = people[~out]
steps["Analysed"] = len(people)

orders = pd.read_csv("input/orders.csv")
orders["time"] = pd.to_datetime(orders.time, format="%d.%m.%Y %H:%M")
orders["plan"] = orders.plan.str.split().str[-1].str.capitalize()
orders = orders[orders.status.str.lower() == "paid"].merge(people, on="visitor")
wait = orders.time - orders["first"]
orders = orders[(wait >= pd.Timedelta(0)) & (wait <= 168 * HOUR)]
orders = orders.sort_values("time").drop_duplicates("visitor")
plans = pd.read_excel("input/plans.xlsx")
valid = plans[(plans["valid from"] <= "2026-02-02") & ~(plans["valid to"] < "2026-02-22")]
margin = orders.plan.map(valid.set_index("Plan")["First-year margin EUR"])

n = people.page.value_counts()
x = orders.page.value_counts()
money = margin.groupby(orders.page).sum()
rate = x / n
gap = rate.B - rate.A
half = 1.96 * math.sqrt((rate * (1 - rate) / n).sum())
both = x.sum() / n.sum()
z = gap / math.sqrt(both * (1 - both) * (1 / n).sum())
p = math.erfc(abs(z) / math.sqrt(2))
needed = 100 * math.ceil(16 * both * (1 - both) / 0.03**2 / 100)

book = Workbook()
book.remove(book.active)


def add(title, rows):
    sheet = book.create_sheet(title)
    for row in rows:
        sheet.append(row)
        print(row)
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    sheet.column_dimensions["A"].width = 28


pages = ("A", "B")
results = [["Measure", *pages], ["Visitors", *(int(n[k]) for k in pages)]]
results.append(["Conversions", *(int(x[k]) for k in pages)])
results.append(["Conversion rate %", *(round(100 * rate[k], 2) for k in pages)])
results.append(["Margin EUR", *(float(money[k]) for k in pages)])
results.append(["Margin per visitor EUR", *(round(money[k] / n[k], 2) for k in pages)])
add("Results", results)
test = [["Figure", "Value"], ["Difference", round(100 * gap, 2)]]
test += [
    ["Lower limit", round(100 * (gap - half), 2)],
    ["Upper limit", round(100 * (gap + half), 2)],
]
test += [["z", round(z, 3)], ["p-value", round(p, 3)], ["Visitors needed per page", needed]]
add("Test", test)
add("Exclusions", [["Step", "Visitors"], *map(list, steps.items())])
book.save("output/test_results.xlsx")
