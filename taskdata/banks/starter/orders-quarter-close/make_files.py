"""Write files/: a quarter of raw shop orders, and what it takes to clean them.

Clean order lines are drawn first, with a fixed seed; `Messy` then hides each of them behind the
faults that files/export_notes.md, written by hand, lists. The expected values of task.yaml come
from the clean lines: `python make_files.py` prints them.
"""

import csv
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from docx import Document
from openpyxl import Workbook

from taskdata.banks.making import add_table, cells_of, save_office

FILES = Path(__file__).parent / "files"
WRITTEN = datetime(2025, 10, 1, 8, 0)
RNG = random.Random(23)

WAREHOUSES = {  # code: (region, currency, weight)
    "HAM": ("North", "EUR", 20),
    "CPH": ("North", "EUR", 9),
    "MIL": ("South", "EUR", 14),
    "BCN": ("South", "EUR", 10),
    "WAW": ("East", "PLN", 15),
    "LIL": ("West", "EUR", 19),
    "LEI": ("Isles", "GBP", 14),
    "DUB": ("Isles", "EUR", 6),
}
RATES = {  # EUR for one unit of the currency, by month
    "GBP": {6: "1.1702", 7: "1.1563", 8: "1.1551", 9: "1.1489", 10: "1.1472"},
    "PLN": {6: "0.2347", 7: "0.2352", 8: "0.2349", 9: "0.2346", 10: "0.2350"},
}
# SKU prefix, category: products with their list price in EUR
CATALOGUE = """
HT Hand tools: Trowel, ash handle 14.90; Border spade 39.50; Hoe, swan neck 31.00; Digging fork 42.00; Bulb planter 18.75; Weeding knife 12.40
PT Power tools: Hedge trimmer 18 V 139.00; Ride-on mower R76 1849.00; Leaf blower 98.00; Chainsaw 35 cm 219.00; Robot mower M400 1099.00; Grass shear 59.90
IR Irrigation: Hose 25 m 34.90; Sprinkler, round 16.20; Drip set, 20 pots 47.50; Water butt 210 l 74.00; Watering can 9 l 21.90; Tap timer 29.95
PL Planters: Terracotta pot 30 cm 17.80; Zinc trough 44.00; Oak half barrel 69.00; Window box 80 cm 24.50; Hanging basket 13.20; Glazed pot 50 cm 88.00
FU Furniture: Folding chair 54.00; Teak bench 329.00; Bistro table 119.00; Parasol 3 m 149.00; Lounger 189.00; Cushion, pair 36.00
SB Seeds & bulbs: Wildflower mix 50 g 8.90; Tulip bulbs, 50 19.90; Salad seeds, 6 packs 11.50; Lawn seed 2 kg 26.90; Daffodil bulbs, 40 17.50; Herb seeds, 8 packs 13.90
"""  # noqa: E501
PRODUCTS: dict[str, tuple[str, str, Decimal]] = {}  # SKU: (product, category, list price)
for group in CATALOGUE.strip().splitlines():
    heading, items = group.split(": ")
    for i, item in enumerate(items.split("; "), start=1):
        product, price = item.rsplit(" ", 1)
        PRODUCTS[f"{heading[:2]}-{100 + 4 * i}"] = (product, heading[3:], Decimal(price))
COMMON = [sku for sku, (_, _, price) in PRODUCTS.items() if price < 1000]
MISSPELT = {
    "Hand tools": ["hand tools", "Handtools", "Hnad tools", "HAND TOOLS"],
    "Power tools": ["power tools", "Powertools", "Power tolls", "Pwr tools"],
    "Irrigation": ["irrigation", "Irigation", "Irrigaton", "IRRIGATION"],
    "Planters": ["planters", "Planter", "Plantres", "pots & planters"],
    "Furniture": ["furniture", "Furnitures", "Furnture", "Garden furniture"],
    "Seeds & bulbs": ["seeds & bulbs", "Seeds and bulbs", "Seeds&Bulbs", "Seads & bulbs"],
    "North": ["north", "NORTH", "Nort", "N"],
    "South": ["south", "SOUTH", "Soutth", "S"],
    "East": ["east", "EAST", "Eest", "E"],
    "West": ["west", "WEST", "Wets", "W"],
    "Isles": ["isles", "ISLES", "Ilses", "I"],
    "shipped": ["Shipped", "shipped", "SHIPPED", "Dispatched", "shipped "],
    "cancelled": ["Cancelled", "cancelled", "Canceled", "CANCELLED"],
    "refunded": ["Refunded", "refunded", "Refund"],
}
# Lille was flooded: whatever was ordered from it in these two weeks was cancelled.
OUTAGE = (date(2025, 9, 8), date(2025, 9, 21))
DISCOUNTS = ["0", "0.05", "0.10", "0.15", "0.20"]
OWN_DOMAIN = "brambleandoak.example"
HEADER = ["order_no", "order_date", "channel", "warehouse", "region", "sku", "product", "category"]
HEADER += ["qty", "unit_price", "discount", "status", "customer_email"]


@dataclass(frozen=True)
class Line:
    """One order line as it really was; None is what the export lost for good."""

    order: str
    day: date
    channel: str
    warehouse: str
    sku: str
    quantity: int | None
    price: Decimal | None
    currency: str
    discount: Decimal
    status: str
    email: str

    @property
    def region(self) -> str:
        return WAREHOUSES[self.warehouse][0]

    @property
    def revenue(self) -> Decimal:
        """EUR, to the cent; a lost price is the list price, which is in EUR."""
        if self.price is None:
            price = PRODUCTS[self.sku][2]
        elif self.currency == "EUR":
            price = self.price
        else:
            price = self.price * Decimal(RATES[self.currency][self.day.month])
        value = self.quantity * price * (1 - self.discount)
        return value.quantize(Decimal("0.01"), ROUND_HALF_UP)

    @property
    def dropped_for(self) -> str | None:
        """Why the line does not count, None if it does (duplicates are not seen here)."""
        if self.email.endswith("@" + OWN_DOMAIN):
            return "test order"
        if not date(2025, 7, 1) <= self.day <= date(2025, 9, 30):
            return "outside quarter"
        if self.status != "shipped":
            return "cancelled or refunded"
        return "no quantity" if self.quantity is None else None


def charged(sku: str, currency: str) -> Decimal:
    """A price near the list price, in the currency of the sale."""
    rate = Decimal(RATES[currency][8]) if currency != "EUR" else Decimal(1)
    factor = Decimal(RNG.choice(["1", "1", "1", "0.95", "1.04"]))
    return (PRODUCTS[sku][2] * factor / rate).quantize(Decimal("0.01"), ROUND_HALF_UP)


def draw_order(serial: int, day: date, test: bool = False) -> list[Line]:
    """One to three lines of one order."""
    codes = list(WAREHOUSES)
    warehouse = RNG.choices(codes, [WAREHOUSES[c][2] for c in codes])[0]
    channel = RNG.choices(["Webshop", "Marketplace", "Phone"], [60, 27, 13])[0]
    # The marketplace settles everything in EUR, whatever the warehouse.
    currency = "EUR" if channel == "Marketplace" else WAREHOUSES[warehouse][1]
    first, last = RNG.choice(FIRST), RNG.choice(LAST)
    email = f"{first}@{OWN_DOMAIN}" if test else f"{first}.{last}@mailbox.example"
    flooded = warehouse == "LIL" and OUTAGE[0] <= day <= OUTAGE[1]
    status = RNG.choices(["shipped", "cancelled", "refunded"], [93, 4, 3])[0]
    lines = []
    basket = RNG.sample(list(PRODUCTS), RNG.choices([1, 2, 3], [45, 35, 20])[0])
    if len(basket) == 1 and PRODUCTS[basket[0]][2] > 1000:
        basket = [RNG.choice(COMMON)]  # mowers sell along with other things, and seldom
    for sku in basket:
        dear = PRODUCTS[sku][2] > 300
        lines.append(
            Line(
                order=f"BO-{day:%y%m}-{serial:05d}",
                day=day,
                channel=channel,
                warehouse=warehouse,
                sku=sku,
                quantity=1 if dear else RNG.choices([1, 2, 3, 4, 6, 12], [40, 25, 14, 9, 8, 4])[0],
                price=charged(sku, currency),
                currency=currency,
                discount=Decimal(RNG.choices(DISCOUNTS, [70, 8, 12, 5, 5])[0]),
                status="cancelled" if flooded else status,
                email=email,
            )
        )
    return lines


FIRST = ["anna", "ben", "carla", "dario", "eva", "finn", "greta", "hugo", "ines", "jakub", "mara"]
LAST = ["weber", "rossi", "nowak", "lefevre", "murphy", "jensen", "garcia", "hansen", "sala"]


def draw_lines() -> list[Line]:
    """Every line of the export once, in order of date."""
    days = [date(2025, 7, 1) + timedelta(RNG.randrange(92)) for _ in range(590)]
    days += [date(2025, 6, 26) + timedelta(RNG.randrange(5)) for _ in range(13)]
    days += [date(2025, 10, 1) + timedelta(RNG.randrange(3)) for _ in range(9)]
    tests = set(RNG.sample(range(len(days)), 14))
    lines = []
    for serial, (i, day) in enumerate(sorted(enumerate(days), key=lambda d: d[1]), start=4117):
        lines += draw_order(serial, day, test=i in tests)
    for i in RNG.sample(range(len(lines)), 58):
        lost = {"price": None} if RNG.random() < 0.65 else {"quantity": None}
        lines[i] = replace(lines[i], **lost)
    return lines


class Messy:
    """Writes a clean line the way the export might have."""

    def row(self, line: Line) -> list[str]:
        name, category, _ = PRODUCTS[line.sku]
        return [
            RNG.choices([line.order, line.order.lower(), f" {line.order}"], [88, 7, 5])[0],
            "" if RNG.random() < 0.02 else self.day(line),
            line.channel,
            line.warehouse,
            RNG.choice(["", "unknown"]) if RNG.random() < 0.06 else self.word(line.region),
            RNG.choices([line.sku, line.sku.lower(), line.sku.replace("-", " ")], [86, 8, 6])[0],
            name,
            "" if RNG.random() < 0.05 else self.word(category),
            self.quantity(line),
            self.price(line),
            self.discount(line),
            RNG.choice(MISSPELT[line.status]),
            line.email if RNG.random() < 0.9 else line.email.upper(),
        ]

    def word(self, word: str) -> str:
        return word if RNG.random() < 0.72 else RNG.choice(MISSPELT[word])

    def day(self, line: Line) -> str:
        if line.channel == "Marketplace":
            return f"{line.day:%m/%d/%Y}"
        if line.channel == "Phone":
            return f"{line.day:%d/%m/%Y}"
        serial = str((line.day - date(1899, 12, 30)).days)
        return RNG.choices(
            [f"{line.day:%Y-%m-%d}", f"{line.day.day} {line.day:%b %Y}", serial], [70, 22, 8]
        )[0]

    def quantity(self, line: Line) -> str:
        if line.quantity is None:
            return RNG.choice(["", "n/a", "-"])
        return RNG.choices(
            [f"{line.quantity}", f"{line.quantity}.0", f"{line.quantity} pcs"], [84, 8, 8]
        )[0]

    def price(self, line: Line) -> str:
        if line.price is None:
            return RNG.choice(["", "n/a", "#N/A"])
        english = f"{line.price:,.2f}"
        european = english.translate(str.maketrans(",.", ".,"))
        forms = {
            "EUR": [f"€{english}", f"{european} €", f"EUR {english}"],
            "GBP": [f"£{english}", f"GBP {english}"],
            "PLN": [f"{european} zł", f"PLN {english}"],
        }[line.currency]
        if line.currency == WAREHOUSES[line.warehouse][1] and line.channel != "Marketplace":
            forms.append(english)
        return RNG.choice(forms)

    def discount(self, line: Line) -> str:
        if not line.discount:
            return RNG.choice(["", "", "0", "-"])
        percent = int(line.discount * 100)
        return RNG.choice([f"{percent}%", f"{percent} %", f"{line.discount}", f"{percent}"])


def write_export(lines: list[Line]) -> dict[str, int]:
    """Write the export with duplicates and stray headers; return what only this step knows."""
    messy = Messy()
    rows = [messy.row(line) for line in lines]
    kept = [row for row, line in zip(rows, lines, strict=True) if line.dropped_for is None]
    known = {
        "region from warehouse": sum(row[4] in ("", "unknown") for row in kept),
        "month from order number": sum(row[1] == "" for row in kept),
    }
    intact = [i for i, x in enumerate(lines) if x.price is not None and x.quantity is not None]
    again = sorted(RNG.sample(intact, 67))
    for done, i in enumerate(again):
        later = RNG.randint(i + done + 1, min(i + done + 220, len(rows)))
        rows.insert(later, messy.row(lines[i]))
    for place in (800, 400):  # the dump is three files glued together
        rows.insert(place, HEADER)
    with (FILES / "orders_export.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return {"duplicate": len(again), **known}


def write_rates() -> None:
    """Monthly rates, the way the bank's site exports them: semicolons and decimal commas."""
    rows = ["month;currency;eur_per_unit"]
    for month in range(6, 11):
        for currency, rates in RATES.items():
            rows.append(f"2025-{month:02d};{currency};{rates[month].replace('.', ',')}")
    (FILES / "fx_rates.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")


def write_price_list() -> None:
    """This year's list, and last year's that nobody removed."""
    book = Workbook()
    for title, factor in (("2024", Decimal("0.96")), ("2025", Decimal(1))):
        sheet = book.create_sheet(title)
        sheet.append(["Bramble & Oak list prices, EUR, without VAT"])
        sheet.append([f"valid 1 January to 31 December {title}"])
        sheet.append(["SKU", "Product", "Category", "List price"])
        for sku, (name, category, price) in PRODUCTS.items():
            sheet.append([sku, name, category, float(round(price * factor, 2))])
    book.remove(book["Sheet"])
    save_office(book, FILES / "price_list.xlsx", WRITTEN)


CONVENTIONS = """
# Quarter files: how they look
The board's dashboard picks the workbook up by sheet and column name, so keep to them.
# Amounts
Everything is in EUR. Foreign amounts are converted at the rate of the month in which the order
was placed (fx_rates.csv). Revenue is quantity times price less discount, converted, then rounded
to the cent on each line; totals add the rounded lines.
# Workbook
Headers in row 1, data from row 2. The dashboard does not calculate: write values, not formulas.
Amounts carry the number format #,##0.00.
| Sheet | Columns, in this order | Rows
| Lines | Line, Date, Month, Region, Category, SKU, Quantity, Revenue EUR | lines that count, once
| Regions | Region, July, August, September, Q3 | the regions, largest first, then Total
| Categories | Category, Lines, Quantity, Revenue EUR | as in the price list, largest first
| Log | Item, Lines | see below
Line is order number, slash, SKU: BO-2507-04127/HT-104. Month is written 2025-07. Date stays empty
where the export lost it.

Log counts lines of the export, header lines left out. A dropped line is booked once, under the
first of these that fits, in this order: duplicate; test order; outside quarter; cancelled or
refunded; no quantity. Then: kept (all that is in Lines), and of those: price from list; region
from warehouse (the region column was empty or said unknown); month from order number. Of a line
sent twice, the first copy stays.
# Chart
PNG, 1600 by 900 pixels, white background, upright bars, one for each region, largest on the left,
in our green (2E6B3E). The region that lost most between the second and the third month of the
quarter, in EUR, is drawn in amber (E0A030).
# Memo
A page or so, with the headings Headline, Regions, What looks odd, Data quality, in this order.
Regions holds a table with the columns Region and Q3 revenue EUR. Whole euros with a comma for
thousands: EUR 98,765. What looks odd gives the amounts of the two months that are compared, and
the code of the warehouse if one stands out. The board reads plain English, no jargon, and likes to
be told what we know and what we only suppose.
"""


def write_conventions() -> None:
    """The house rules for quarter files: headings, a table, running text."""
    document = Document()
    document.add_heading("Reporting conventions", 0)
    for block in re.findall(r"# .+|(?:\|.+\n)+|(?:[^#|\n].+\n)+", CONVENTIONS):
        if block.startswith("# "):
            document.add_heading(block[2:], 1)
        elif block.startswith("|"):
            add_table(document, cells_of(block))
        else:
            document.add_paragraph(" ".join(block.split()))
    save_office(document, FILES / "reporting_conventions.docx", WRITTEN)


def print_expected(lines: list[Line], known: dict[str, int]) -> None:
    """Print what task.yaml expects, from the clean lines alone."""
    kept = [line for line in lines if line.dropped_for is None]
    print("log:", known | Counter(x.dropped_for for x in lines if x.dropped_for))
    print("kept:", len(kept), "price from list:", sum(x.price is None for x in kept))
    months: dict[str, Counter[int]] = defaultdict(Counter)
    categories: dict[str, Counter[str]] = defaultdict(Counter)
    for line in kept:
        for region in (line.region, "Total"):
            months[region].update({line.day.month: line.revenue, 0: line.revenue})
        category = categories[PRODUCTS[line.sku][1]]
        category.update({"lines": 1, "quantity": line.quantity, "revenue": line.revenue})
    for region, sums in sorted(months.items(), key=lambda item: -item[1][0]):
        print([region, *(float(sums[m]) for m in (7, 8, 9, 0))], "Sep-Aug", sums[9] - sums[8])
    for category, sums in sorted(categories.items(), key=lambda item: -item[1]["revenue"]):
        print([category, sums["lines"], sums["quantity"], float(sums["revenue"])])
    specimens = (  # one line for each trap
        lambda x: x.currency == "GBP" and x.discount,
        lambda x: x.currency == "PLN" and x.quantity > 2,
        lambda x: x.price is None and x.warehouse == "LEI",
        lambda x: x.price is None and x.warehouse == "WAW",
        lambda x: x.price is not None and x.price > 1000,
        lambda x: x.channel == "Marketplace" and x.warehouse == "WAW" and x.day.day < 10,
        lambda x: x.channel == "Phone" and x.day.day < 10,
        lambda x: x.warehouse == "HAM" and x.discount == Decimal("0.05"),
    )
    for wanted in specimens:
        line = next(x for x in kept[150:] if wanted(x))
        category, month = PRODUCTS[line.sku][1], f"{line.day:%Y-%m}"
        print(line.order, line.sku, month, line.region, category, line.quantity, line.revenue)
    print("flooded", sum(x.warehouse == "LIL" and OUTAGE[0] <= x.day <= OUTAGE[1] for x in lines))


def main() -> None:
    FILES.mkdir(exist_ok=True)
    lines = draw_lines()
    known = write_export(lines)
    write_rates()
    write_price_list()
    write_conventions()
    print_expected(lines, known)


if __name__ == "__main__":
    main()
