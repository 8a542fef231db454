"""Clean the export by the shop's notes and keep the result for the steps that follow."""

import json
import re
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

import pandas as pd

OWN_CURRENCY = {"LEI": "GBP", "WAW": "PLN"}
SIGNS = {"€": "EUR", "EUR": "EUR", "£": "GBP", "GBP": "GBP", "zł": "PLN", "PLN": "PLN"}
MISSING = {"", "n/a", "-", "#N/A", "unknown"}


def read_day(text, channel):
    """The day of an order, or None where the export lost it."""
    text = text.strip()
    if not text:
        return None
    if text.isdigit():
        return date(2025, 1, 1) + timedelta(int(text) - 45658)
    slashed = "%m/%d/%Y" if channel == "Marketplace" else "%d/%m/%Y"
    for form in (slashed, "%Y-%m-%d", "%d %b %Y"):
        try:
            return datetime.strptime(text, form).date()
        except ValueError:
            continue
    raise ValueError(f"unknown date {text!r}")


def read_price(text, warehouse):
    """Amount and currency of a price; the amount is None where the price is gone."""
    if text.strip() in MISSING:
        return None, None
    currency = next((SIGNS[s] for s in SIGNS if s in text), OWN_CURRENCY.get(warehouse, "EUR"))
    return Decimal(re.sub(r"\D", "", text)) / 100, currency


def read_discount(text):
    if text.strip() in MISSING:
        return Decimal(0)
    value = Decimal(text.replace("%", "").strip())
    return value if value < 1 else value / 100


def why_dropped(row, first_copy):
    """The first reason of the reporting conventions that fits; None if the line counts."""
    if not first_copy:
        return "duplicate"
    if row.customer_email.lower().endswith("@brambleandoak.example"):
        return "test order"
    if row.month not in ("2025-07", "2025-08", "2025-09"):
        return "outside quarter"
    if row.status.strip().lower() not in ("shipped", "dispatched"):
        return "cancelled or refunded"
    return "no quantity" if row.qty.strip() in MISSING else None


raw = pd.read_csv("input/orders_export.csv", dtype=str, keep_default_na=False, encoding="utf-8-sig")
raw = raw[raw.order_no != "order_no"].copy()
prices = pd.read_excel("input/price_list.xlsx", sheet_name="2025", skiprows=2).set_index("SKU")
rates = pd.read_csv("input/fx_rates.csv", sep=";", dtype=str)
rates = {
    (r.month, r.currency): Decimal(r.eur_per_unit.replace(",", ".")) for r in rates.itertuples()
}

raw["order_no"] = raw.order_no.str.strip().str.upper()
raw["sku"] = raw.sku.str.strip().str.upper().str.replace(" ", "-")
raw["month"] = "20" + raw.order_no.str[3:5] + "-" + raw.order_no.str[5:7]
raw["day"] = [read_day(r.order_date, r.channel) for r in raw.itertuples()]
wrong = [r.order_no for r in raw.itertuples() if r.day and f"{r.day:%Y-%m}" != r.month]
assert not wrong, f"date and order number disagree: {wrong}"

# Each warehouse serves one region: the one most of its lines name.
named = raw[raw.region.isin(["North", "South", "East", "West", "Isles"])]
region_of = named.groupby("warehouse").region.agg(lambda names: names.mode()[0])

first = ~raw.duplicated(["order_no", "sku"])
raw["reason"] = [why_dropped(r, f) for r, f in zip(raw.itertuples(), first, strict=True)]
lines = []
for row in raw[raw.reason.isna()].itertuples():
    price, currency = read_price(row.unit_price, row.warehouse)
    if price is None:
        in_eur = Decimal(str(prices.loc[row.sku, "List price"]))
    else:
        in_eur = price if currency == "EUR" else price * rates[row.month, currency]
    quantity = int(float(row.qty.replace("pcs", "")))
    revenue = quantity * in_eur * (1 - read_discount(row.discount))
    lines.append(
        {
            "Line": f"{row.order_no}/{row.sku}",
            "Date": row.day.isoformat() if row.day else None,
            "Month": row.month,
            "Region": region_of[row.warehouse],
            "Category": prices.loc[row.sku, "Category"],
            "SKU": row.sku,
            "Quantity": quantity,
            "Revenue EUR": float(revenue.quantize(Decimal("0.01"), ROUND_HALF_UP)),
            "listed": price is None,
            "guessed": row.region.strip() in MISSING,
        }
    )

reasons = ["duplicate", "test order", "outside quarter", "cancelled or refunded", "no quantity"]
log = {reason: int((raw.reason == reason).sum()) for reason in reasons}
log |= {
    "kept": len(lines),
    "price from list": sum(line.pop("listed") for line in lines),
    "region from warehouse": sum(line.pop("guessed") for line in lines),
    "month from order number": sum(line["Date"] is None for line in lines),
}

# What was cancelled, by warehouse and week: it explains September.
gone = raw[(raw.reason == "cancelled or refunded") & raw.day.notna()]
gone = gone[[s.strip().lower().startswith("cancel") for s in gone.status]]
weeks = [f"{d - timedelta(d.weekday())}" for d in gone.day]
cancelled = gone.groupby(["warehouse", pd.Series(weeks, gone.index)]).size()

with open("output/cleaned.json", "w") as file:
    json.dump({"lines": lines, "log": log}, file)
print(log)
print(region_of.to_dict())
print(cancelled[cancelled > 4])
