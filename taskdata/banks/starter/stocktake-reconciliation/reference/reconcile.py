"""Settle every article by the procedure; write the workbook and the journal file."""

import json
import os
import re
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

import pandas as pd
from openpyxl import Workbook
from openpyxl.styles import Font

SNAPSHOT, START = datetime(2025, 11, 28, 18), datetime(2025, 11, 29, 8)
SIGN = {"receipt": 1, "return": 1, "issue": -1, "scrap": -1}

sheets = pd.read_excel("input/stocktake.xlsx", sheet_name=None)
book = sheets["Book"].set_index("SKU")
with open("output/aisle7.json") as file:
    form = json.load(file)


def article_number(text):
    return "HL-" + re.sub(r"\D", "", str(text))


def pieces(sku, quantity, unit):
    """Turn what a counter wrote into pieces."""
    text = f"{quantity} {'' if pd.isna(unit) else unit}"
    pack = int(book["Pack size"].get(sku, 1))
    parts = re.findall(r"(\d+)\s*(ctn|pcs)", text)
    assert parts, text
    return sum(int(number) * (pack if what == "ctn" else 1) for number, what in parts)


def totals(name):
    """Pieces by article number on one count list."""
    found = {}
    for row in sheets[name].itertuples():
        sku = article_number(row.SKU)
        found[sku] = found.get(sku, 0) + pieces(sku, row.Qty, row.Unit)
    return found


def moment(stamp):
    return stamp if isinstance(stamp, datetime) else datetime.strptime(stamp, "%d.%m.%Y %H:%M")


moved = {}
for row in sheets["Movements"].drop_duplicates("Document").itertuples():
    if SNAPSHOT <= moment(row.Time) < START:
        sku = article_number(row.SKU)
        moved[sku] = moved.get(sku, 0) + SIGN[row.Kind] * row.Pieces

first, second = totals("Count A"), totals("Count B")
recounts = {article_number(r.SKU): int(r.Pieces) for r in sheets["Recounts"].itertuples()}
reviewed = sheets["Costs Oct 2025"].set_index("SKU")["Unit cost EUR"]


def settle(sku):
    """Counted pieces, or None and the reason why the article stays open."""
    if sku in recounts:
        return recounts[sku], None
    if form.get(sku) is not None:
        return form[sku], None
    if sku not in first and sku not in second:
        return None, "not counted"
    if first.get(sku) != second.get(sku):
        return None, "counts disagree"
    return first[sku], None


rows, open_items = [], []
for sku, article in book.sort_index().iterrows():
    expected = int(article["Book qty"]) + moved.get(sku, 0)
    cost = float(reviewed.get(sku, article["Unit cost EUR"]))
    counted, reason = settle(sku)
    if reason:
        open_items.append((sku, reason))
    rows.append((sku, int(article["Aisle"]), expected, counted, cost))
unknown = sorted((set(first) | set(second) | set(recounts)) - set(book.index))
open_items += [(sku, "not on book") for sku in unknown]


def entry(sku, aisle, difference, value):
    account = "4810" if difference > 0 else "6825" if aisle == 3 else "6820"
    return {"sku": sku, "quantity": difference, "value_eur": float(value), "account": account}


workbook = Workbook()
sheet = workbook.active
sheet.title = "Adjustments"
heads = ["SKU", "Aisle", "Expected", "Counted", "Difference", "Cost EUR", "Value EUR", "Status"]
sheet.append(heads)
postings, approvals = [], []
for line, (sku, aisle, expected, counted, cost) in enumerate(rows, start=2):
    if counted is None:
        sheet.append([sku, aisle, expected, None, None, cost, None, "open"])
        continue
    difference = counted - expected
    value = (difference * Decimal(str(cost))).quantize(Decimal("0.01"), ROUND_HALF_UP)
    status = "ok" if difference == 0 else "post" if abs(value) <= 150 else "approve"
    if status != "ok":
        (postings if status == "post" else approvals).append(entry(sku, aisle, difference, value))
    formulas = f"=D{line}-C{line}", f"=ROUND(E{line}*F{line},2)"
    sheet.append([sku, aisle, expected, counted, formulas[0], cost, formulas[1], status])
items = workbook.create_sheet("Open items")
items.append(["SKU", "Reason"])
for item in open_items:
    items.append(item)
for page in workbook:
    page.freeze_panes = "A2"
    for cell in page[1]:
        cell.font = Font(bold=True)
        page.column_dimensions[cell.column_letter].width = 16
workbook.save("output/stock_adjustments.xlsx")

values = [Decimal(str(posting["value_eur"])) for posting in postings]
gain, loss = sum(v for v in values if v > 0), sum(v for v in values if v < 0)
journal = {
    "stocktake_date": START.date().isoformat(),
    "postings": postings,
    "for_approval": approvals,
    "open": sorted(sku for sku, _ in open_items),
    "totals": {"gain_eur": float(gain), "loss_eur": float(loss), "net_eur": float(gain + loss)},
}
with open("output/journal.json", "w") as file:
    json.dump(journal, file, indent=2)
os.remove("output/aisle7.json")

noted = re.search(r"sum of all pieces on the form: (\d+)", sheets["Read me"].to_string())
assert int(noted.group(1)) == sum(count or 0 for count in form.values())
print(len(postings), "posted,", len(approvals), "to approve,", open_items, journal["totals"])
