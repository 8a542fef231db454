"""Write the input file of this task: `python make_files.py`, `--expected` prints the truth."""

import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

FILES = Path(__file__).parent / "files"

HOSES = [
    ["Article", "Hose", "Inside", "Roll", "1-4 rolls", "5-9 rolls", "from 10"],
    ["HT-13", "Garden, three layers", '1/2"', "25 m", "28.90", "26.70", "24.80"],
    ["HT-19", "Garden, three layers", '3/4"', "50 m", "94.50", "88.20", "81.90"],
    ["HR-13", "Reinforced, woven", '1/2"', "50 m", "76.40", "71.30", "66.90"],
    ["HR-19", "Reinforced, woven", '3/4"', "50 m", "121.00", "112.40", "104.80"],
    ["HR-25", "Reinforced, woven", '1"', "40 m", "148.60", "139.90", "131.20"],
    ["HD-19", "Drinking water, blue", '3/4"', "50 m", "163.00", "154.50", "146.70"],
    ["HP-16", "Drip hose", '5/8"', "100 m", "58.20", "54.90", "51.00"],
]
COUPLINGS = [
    ["Article", "Coupling", "For", "Pack of", "Per pack"],
    ["KP-13", "Click, plastic", '1/2"', "20", "31.80"],
    ["KP-19", "Click, plastic", '3/4"', "10", "21.80"],
    ["KB-13", "Click, brass", '1/2"', "10", "48.90"],
    ["KB-19", "Click, brass", '3/4"', "10", "62.40"],
    ["KB-25", "Click, brass", '1"', "5", "47.30"],
    ["KG-19", "Claw, brass", '3/4"', "5", "39.50"],
]
FREIGHT = [
    ["Zone", "Postcodes beginning with", "Per order"],
    ["A", "20, 21, 22", "14.90"],
    ["B", "23, 25, 27, 28", "24.50"],
    ["C", "24, 26, 29", "38.50"],
    ["D", "all others", "56.00"],
]


def cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def invoice(rolls: Decimal, per_roll: str, surcharge: str = "0.025", freight: str = "38.50") -> str:
    hose = cents(rolls * Decimal(per_roll))
    goods = hose + cents(hose * Decimal(surcharge)) + 4 * Decimal("62.40")
    discount = cents(goods * Decimal("0.03")) if goods >= 800 else Decimal(0)
    return str(cents((goods - discount + Decimal(freight)) * Decimal("1.19")))


def grid(rows: list[list[str]], widths: list[float]) -> Table:
    table = Table(rows, [width * mm for width in widths], repeatRows=1)
    table.setStyle(
        TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
                ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#DDE6D5")),
                ("FONTSIZE", (0, 0), (-1, -1), 9),
                ("ALIGN", (3, 1), (-1, -1), "RIGHT"),
            ]
        )
    )
    return table


def write_list() -> None:
    styles = getSampleStyleSheet()
    body, head = styles["BodyText"], styles["Heading2"]
    story = [
        Paragraph("Nordhag Gartentechnik", styles["Title"]),
        Paragraph("Trade price list, valid from 1 March 2026. All prices in EUR, net.", body),
        Paragraph("1. Hoses", head),
        Paragraph("Prices per roll. Hoses are sold in full rolls; we do not cut.", body),
        Spacer(1, 2 * mm),
        grid(HOSES, [18, 45, 16, 16, 24, 24, 22]),
        Spacer(1, 3 * mm),
        Paragraph(
            "The number of rolls that decides the price is counted per article, not per order.",
            body,
        ),
        PageBreak(),
        Paragraph("2. Couplings", head),
        Paragraph("Prices per pack. Packs are not opened.", body),
        Spacer(1, 2 * mm),
        grid(COUPLINGS, [18, 45, 20, 22, 26]),
        Paragraph("3. Freight", head),
        Paragraph("Once per order, whatever its size; from our warehouse in Norderstedt.", body),
        Spacer(1, 2 * mm),
        grid(FREIGHT, [18, 60, 26]),
        PageBreak(),
        Paragraph("4. Terms", head),
        Paragraph(
            "4.1 Raw materials: until further notice 2.5 % are added to the price of all hoses. "
            "Couplings are exempt.",
            body,
        ),
        Paragraph(
            "4.2 Order discount: 3 % off the goods if they come to 800.00 or more, the addition of "
            "4.1 included. There is no discount on freight.",
            body,
        ),
        Paragraph("4.3 19 % VAT is added to goods and freight.", body),
        Paragraph("4.4 Every amount is rounded to the cent. Payment within 30 days, net.", body),
    ]
    SimpleDocTemplate(
        str(FILES / "nordhag_trade_prices_2026.pdf"),
        pagesize=A4,
        title="Trade price list 2026",
        invariant=1,
    ).build(story)


def main() -> None:
    if "--expected" in sys.argv:
        print("right:", invoice(Decimal(5), "112.40"))
        print("price of 1-4 rolls:", invoice(Decimal(5), "121.00"))
        print("4.6 rolls:", invoice(Decimal("4.6"), "112.40"), invoice(Decimal("4.6"), "121.00"))
        print("without 4.1:", invoice(Decimal(5), "112.40", surcharge="0"))
        print("zone B, D:", *(invoice(Decimal(5), "112.40", freight=f) for f in ("24.50", "56.00")))
        return
    FILES.mkdir(exist_ok=True)
    write_list()


if __name__ == "__main__":
    main()
