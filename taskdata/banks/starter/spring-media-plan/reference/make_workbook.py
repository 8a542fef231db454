"""Cleans the export, works out first quarter and plan, and writes the media plan workbook."""

import re
from decimal import Decimal

import pandas as pd
from openpyxl import Workbook, load_workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font

MONTHS = {1: "Jan 2026", 2: "Feb 2026", 3: "Mar 2026"}
NAMES = {
    "Search": ("search", "google search", "sea"),
    "Meta": ("meta", "meta ads", "facebook", "ig"),
    "Affiliate": ("awin", "affiliate", "affiliates"),
    "Creators": ("creators", "influencer"),
    "TikTok": ("tiktok", "tik tok", "tt"),
    "Display": ("gdn", "display", "google display"),
}
BUDGET = 225_000 - 15_000
CAP, LIMIT = Decimal("0.35"), 40


def read_money(text):
    """Decimal comma or point: whichever of the two stands before the last two digits."""
    sign = -1 if "-" in text else 1
    digits = re.sub(r"\D", "", text)
    return sign * Decimal(digits) / 100


def read_date(text):
    day_first = not re.match(r"\d{4}", text)
    return pd.to_datetime(text, dayfirst=day_first)


def read_rates():
    rates = {}
    for currency, units, *values in load_workbook("input/fx_rates.xlsx")[
        "Monthly average"
    ].iter_rows(min_row=4, values_only=True):
        for month, value in enumerate(values, start=1):
            rates[currency, month] = Decimal(str(value)) / units
    return rates


def clean(lines):
    """Lines that count, and how many fell out for which reason."""
    notes = {"Lines in the export": len(lines)}

    def drop(reason, mask):
        nonlocal lines
        notes[reason] = int(mask.sum())
        lines = lines[~mask]

    drop("Subtotals", lines["campaign"].str.contains("subtotal", case=False))
    drop("Test campaigns", lines["campaign"].str.contains("test", case=False))
    dates = lines["date"].map(read_date)
    drop("Outside the quarter", (dates < "2026-01-01") | (dates > "2026-03-31"))
    lines = lines.sort_values("exported_at", kind="stable")
    drop("Superseded", lines.duplicated("line_id", keep="last"))
    notes["Lines used"] = len(lines)
    return lines, notes


def first_quarter(lines):
    rates = read_rates()
    channel_of = {name: channel for channel, names in NAMES.items() for name in names}
    table = {channel: [Decimal(0), 0, 0] for channel in NAMES}
    for line in lines.itertuples():
        row = table[channel_of[line.channel.strip().lower()]]
        currency, month = line.currency.upper(), read_date(line.date).month
        rate = Decimal(1) if currency == "EUR" else rates[currency, month]
        row[0] += read_money(line.spend) * rate
        row[1] += int(line.clicks)
        row[2] += int(line.conversions or 0)
    return table


def split(table):
    cost = {channel: row[0] / row[2] for channel, row in table.items()}
    weights = {channel: row[2] for channel, row in table.items() if cost[channel] <= LIMIT}
    ceiling, shares = BUDGET * CAP, {}
    while weights:
        left = BUDGET - sum(shares.values())
        share = {c: left * w / sum(weights.values()) for c, w in weights.items()}
        capped = [c for c in share if share[c] > ceiling]
        if not capped:
            shares |= share
            break
        for channel in capped:
            shares[channel] = ceiling
            del weights[channel]
    whole = {channel: int(shares.get(channel, 0) // 100 * 100) for channel in table}
    whole[min(shares, key=cost.get)] += BUDGET - sum(whole.values())
    plan = {}
    for channel, amount in whole.items():
        april, may = amount * 25 // 1000 * 10, amount * 45 // 1000 * 10
        plan[channel] = (amount, april, may, amount - april - may)
    return plan


def fill(sheet, header, rows, formats, widths=22):
    sheet.append(header)
    for row in rows:
        sheet.append(row)
    for cell in (*sheet[1], *(sheet[sheet.max_row] if formats else ())):
        cell.font = Font(bold=True)
    for letter, number_format in formats.items():
        for cell in sheet[letter][1:]:
            cell.number_format = number_format
    for letter in "ABCDE":
        sheet.column_dimensions[letter].width = widths
    sheet.freeze_panes = "A2"


export = pd.read_csv("input/ads_export.csv", dtype=str, keep_default_na=False, encoding="utf-8-sig")
lines, notes = clean(export)
table = first_quarter(lines)
plan = split(table)

book = Workbook()
order = sorted(table, key=lambda channel: table[channel][0] / table[channel][2])
rows = [
    [c, round(float(table[c][0]), 2), *table[c][1:], round(float(table[c][0] / table[c][2]), 2)]
    for c in order
]
last = len(rows) + 1
total = ["Total", *(f"=SUM({x}2:{x}{last})" for x in "BCD"), f"=ROUND(B{last + 1}/D{last + 1},2)"]
header = ["Channel", "Spend EUR", "Clicks", "Conversions", "Cost per conversion EUR"]
results = book.active
results.title = "Q1 results"
formats = {"B": "#,##0.00", "C": "#,##0", "D": "#,##0", "E": "#,##0.00"}
fill(results, header, [*rows, total], formats)

sheet = book.create_sheet("Q2 plan")
total = ["Total", *(f"=SUM({x}2:{x}{last})" for x in "BCDE")]
header = ["Channel", "Q2 budget EUR", "April", "May", "June"]
formats = dict.fromkeys("BCDE", "#,##0")
fill(sheet, header, [*([c, *plan[c]] for c in order), total], formats)
chart = BarChart()
chart.title = "Budget by month, EUR"
chart.add_data(Reference(sheet, min_col=3, max_col=5, min_row=1, max_row=last), True)
chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=last))
sheet.add_chart(chart, "G2")

fill(book.create_sheet("Data notes"), ["Item", "Lines"], list(notes.items()), {})
book.save("output/media_plan.xlsx")

for row in rows:
    print(row)
spend, conversions = sum(row[0] for row in table.values()), sum(row[2] for row in table.values())
print("total", round(spend, 2), conversions, round(spend / conversions, 2))
print(plan)
print(notes)
