"""Write the input file of this task: `python make_files.py`, `--expected` prints the truth."""

import sys
from datetime import date, datetime
from pathlib import Path

from openpyxl import Workbook
from openpyxl.styles import Font

from taskdata.banks.making import save_office

FILES = Path(__file__).parent / "files"
WRITTEN = datetime(2026, 4, 10, 8, 0)

# (article, tea, tins sold, tins returned, net price, cost)
SOLD = [
    ("T01", "Earl Grey Blue Flower", 1420, 28, 12.90, 6.10),
    ("T02", "Jasmine Silver", 640, 9, 18.50, 8.95),
    ("T03", "Rooibos Vanilla", 980, 31, 11.50, 4.90),
    ("T04", "Darjeeling First Flush", 410, 62, 21.00, 9.80),
    ("T05", "Genmaicha Uji", 530, 12, 14.20, 6.35),
    ("T06", "Honey Orchid Oolong", 585, 14, 19.80, 9.40),
]
# (article, tins on hand, tins on order, arriving)
STOCK = [
    ("T01", 2210, None, None),
    ("T02", 347, 240, date(2026, 4, 22)),
    ("T03", 875, 600, date(2026, 5, 11)),
    ("T04", 530, 300, date(2026, 5, 18)),
    ("T05", 614, None, None),
    ("T06", 131, 480, date(2026, 5, 6)),
]


def per_tin(sold: int, returned: int, price: float, cost: float) -> float:
    return price * (sold - returned) / sold - cost


def write_workbook() -> None:
    book = Workbook()
    sales = book.active
    sales.title = "Spring 2025"
    sales.append(["Tins, 1 March to 31 May 2025; amounts in EUR without VAT"])
    sales.append([])
    sales.append(["Article", "Tea", "Sold", "Returned", "Price", "Cost"])
    for row in SOLD:
        sales.append(list(row))
    sales.append([])
    sales.append(
        ["Returned tins cannot be sold again: the customer gets the price back, we bin them."]
    )
    stock = book.create_sheet("Stock")
    stock.append(["As of 10 April 2026, tins"])
    stock.append([])
    stock.append(["Article", "In the shop", "On order", "Arriving"])
    for row in STOCK:
        stock.append(list(row))
    for sheet in (sales, stock):
        sheet["A1"].font = Font(italic=True)
        for cell in sheet[3]:
            cell.font = Font(bold=True)
        for column in "ABCDEF":
            sheet.column_dimensions[column].width = 24 if column == "B" else 12
    for row in sales.iter_rows(min_row=4, max_row=9, min_col=5, max_col=6):
        for cell in row:
            cell.number_format = "0.00"
    save_office(book, FILES / "teas.xlsx", WRITTEN)


def main() -> None:
    if "--expected" in sys.argv:
        for (article, tea, *facts), (_, here, ordered, day) in zip(SOLD, STOCK, strict=True):
            in_time = here + (ordered if day and day <= date(2026, 4, 26) else 0)
            print(f"{article} {tea}: {per_tin(*facts):.3f} EUR a tin, {in_time} tins in time")
        return
    FILES.mkdir(exist_ok=True)
    write_workbook()


if __name__ == "__main__":
    main()
