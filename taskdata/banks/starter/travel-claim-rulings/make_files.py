"""Write files/: two sets of travel rules that contradict each other, and four claims.

The rules' text is in sources/, their tables are here. note_treasurer.txt and okafor_mail.txt in
files/ are written by hand. The expected values of task.yaml are worked out here line by line, from
the tables below: `python make_files.py` prints them.
"""

import re
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from openpyxl import Workbook
from reportlab import rl_config
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from taskdata.banks.making import add_table, blocks_of, document_of, save_office, write_csv

HERE = Path(__file__).parent
FILES = HERE / "files"
WRITTEN = datetime(2025, 7, 16, 8, 0)

# Country: full day under the rules of 2023 and of 2025, EUR
ALLOWANCES = """
Austria 45 48; Belgium 42 45; Bulgaria 28 32; Croatia 33 36; Cyprus 38 40; Czechia 34 38
Denmark 58 60; Estonia 31 35; Finland 50 52; France 42 47; Germany 28 30; Greece 36 39
Hungary 30 34; Iceland 63 65; Ireland 48 53; Italy 41 44; Latvia 30 33; Lithuania 29 32
Luxembourg 47 52; Malta 40 43; Netherlands 46 49; Norway 62 66; Poland 32 40; Portugal 34 37
Romania 29 33; Slovakia 31 34; Slovenia 35 38; Spain 38 41; Sweden 56 58; Switzerland 64 68
"""
# City: ceiling of 2023 and of the appendix of 2025 that was never adopted, EUR
CEILINGS = """
Amsterdam 148 165; Athens 110 122; Barcelona 132 148; Basel 155 172; Berlin 124 138
Bern 150 168; Bologna 108 120; Bordeaux 114 128; Bratislava 98 110; Brno 88 99; Brussels 134 150
Bucharest 94 106; Budapest 102 115; Copenhagen 162 180; Dublin 150 168; Geneva 165 190
Ghent 118 132; Graz 106 118; Hamburg 126 140; Helsinki 138 154; Innsbruck 116 130; Kraków 96 110
Lausanne 152 170; Leiden 122 136; Linz 104 116; Lisbon 118 132; Ljubljana 102 114
London 172 192; Luxembourg 146 163; Lyon 112 135; Madrid 130 145; Marseille 108 121
Milan 136 152; Munich 138 155; Nice 124 139; Oslo 158 176; Padua 98 110; Paris 158 178
Porto 104 116; Poznan 90 101; Prague 104 118; Riga 92 103; Rome 132 148; Salzburg 115 129
Stockholm 156 174; Strasbourg 116 130; Tallinn 96 108; Tartu 84 94; Toulouse 106 119
Trondheim 142 159; Turin 104 116; Uppsala 134 150; Utrecht 128 143; Vienna 128 142
Vilnius 90 101; Warsaw 110 124; Wroclaw 94 106; Zagreb 100 112; Zurich 172 195
"""
# The ceilings of 2023 as changed on 1 January 2024, on the last page of the rules
AMENDED = {"Geneva": 170, "Kraków": 100, "Lyon": 118, "Oslo": 164, "Prague": 109, "Zurich": 178}
RATES = {  # EUR for one unit of the currency
    "CHF": ("1.0492", "1.0611", "1.0675", "1.0662"),
    "PLN": ("0.2391", "0.2346", "0.2352", "0.2344"),
    "CZK": ("0.0399", "0.0400", "0.0401", "0.0403"),
    "GBP": ("1.1934", "1.1702", "1.1828", "1.1745"),
}


def table(text: str) -> dict[str, tuple[int, int]]:
    """Name: value of 2023, value of 2025."""
    rows = (item.rsplit(" ", 2) for item in re.split(r"; |\n", text.strip()))
    return {name: (int(old), int(new)) for name, old, new in rows}


TRIPS = [
    ["T-2041", "Maja Lindqvist", "2025-04-08", "2025-04-11", "2025-06-20", "Vienna"],
    ["T-2057", "Chidi Okafor", "2025-04-29", "2025-05-03", "2025-07-08", "Lyon, Geneva"],
    ["T-2063", "Jonas Brandt", "2025-05-19", "2025-05-22", "2025-07-15", "Kraków"],
    ["T-2066", "Inês Silva", "2025-05-02", "2025-05-04", "2025-07-15", "Prague"],
]
ALLOWANCE_VIENNA = "4 days Austria; lunch in the fee on 9 and 10 April"
RAIL_GENEVA = "Lyon-Geneva, first class, 1 h 54, other fare not on ticket"
NIGHTS_LYON = "nights of 29 and 30 April, Lyon: 2 x 131.00"
NIGHTS_GENEVA = "nights of 1 and 2 May, Geneva: 2 x 198.00"
NIGHTS_KRAKOW = "3 nights, Kraków; for each night: room 445.00, breakfast 50.00, city tax 8.00"
ALLOWANCE_LYON = "29 and 30 April Lyon, 1 to 3 May Geneva; dinner by the host on 30 April"
ALLOWANCE_KRAKOW = "4 days Poland; dinner by the host on 20 May, conference dinner on 21 May"
LINES = [  # claim, line, date, item, details, amount, currency
    ["T-2041", 1, "2025-04-08", "Rail", "Leipzig-Vienna, first class, 7 h 05", 119.90, "EUR"],
    ["T-2041", 2, "2025-04-11", "Rail", "Vienna-Leipzig, second class, 7 h 12", 79.90, "EUR"],
    ["T-2041", 3, "2025-04-11", "Hotel room", "3 nights, Vienna: 3 x 142.00", 426.00, "EUR"],
    ["T-2041", 4, "2025-04-11", "Hotel breakfast", "Vienna: 3 x 14.00", 42.00, "EUR"],
    ["T-2041", 5, "2025-04-11", "City tax", "Vienna: 3 x 4.10", 12.30, "EUR"],
    ["T-2041", 6, "2025-04-11", "Daily allowance", ALLOWANCE_VIENNA, 180.00, "EUR"],
    ["T-2041", 7, "2025-04-09", "Taxi", "station to venue, 14:10", 31.50, "EUR"],
    ["T-2041", 8, "2025-04-10", "Taxi", "venue to hotel, 22:20", 34.00, "EUR"],
    ["T-2041", 9, "2025-04-09", "Conference fee", "with lunches", 390.00, "EUR"],
    ["T-2041", 10, "2025-04-10", "Conference dinner", "optional", 55.00, "EUR"],
    ["T-2057", 1, "2025-04-29", "Rail", "Leipzig-Lyon, first class, 9 h 20", 168.00, "EUR"],
    ["T-2057", 2, "2025-05-01", "Hotel room", NIGHTS_LYON, 262.00, "EUR"],
    ["T-2057", 3, "2025-05-01", "City tax", "Lyon: 2 x 1.65", 3.30, "EUR"],
    ["T-2057", 4, "2025-05-01", "Rail", RAIL_GENEVA, 46.00, "EUR"],
    ["T-2057", 5, "2025-05-03", "Hotel room", NIGHTS_GENEVA, 396.00, "CHF"],
    ["T-2057", 6, "2025-05-03", "Minibar", "Geneva", 18.50, "CHF"],
    ["T-2057", 7, "2025-05-03", "Daily allowance", ALLOWANCE_LYON, 276.00, "EUR"],
    ["T-2057", 8, "2025-05-01", "Taxi", "Geneva station to hotel, 15:30", 41.00, "CHF"],
    ["T-2057", 9, "2025-05-03", "Data roaming", "Switzerland", 14.00, "EUR"],
    ["T-2057", 10, "2025-05-03", "Rail", "Geneva-Leipzig, second class, 10 h 02", 121.00, "CHF"],
    ["T-2063", 1, "2025-05-22", "Private car", "Leipzig-Kraków and back, 1240 km", 471.20, "EUR"],
    ["T-2063", 2, "2025-05-22", "Parking", "Kraków, 3 nights", 48.00, "EUR"],
    ["T-2063", 3, "2025-05-22", "Hotel bill", NIGHTS_KRAKOW, 1509.00, "PLN"],
    ["T-2063", 4, "2025-05-22", "Daily allowance", ALLOWANCE_KRAKOW, 120.00, "EUR"],
    ["T-2063", 5, "2025-05-20", "Conference fee", "without meals", 1250.00, "PLN"],
    ["T-2063", 6, "2025-05-21", "Conference dinner", "", 52.00, "EUR"],
    ["T-2063", 7, "2025-05-21", "Taxi", "restaurant to hotel, 22:40", 140.00, "PLN"],
    ["T-2063", 8, "2025-05-21", "Tip", "taxi driver", 20.00, "PLN"],
    ["T-2066", 1, "2025-05-02", "Rail", "Leipzig-Prague, second class, 4 h 10", 42.00, "EUR"],
    ["T-2066", 2, "2025-05-04", "Hotel bill", "2 nights, Prague: 2 x 2450.00", 4900.00, "CZK"],
    [
        "T-2066",
        3,
        "2025-05-04",
        "Daily allowance",
        "3 days Czechia, no meals provided",
        76.00,
        "EUR",
    ],
    ["T-2066", 4, "2025-05-04", "Rail", "Prague-Leipzig, second class, 4 h 08", 42.00, "EUR"],
]


def cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def expected() -> dict[str, tuple[Decimal, str]]:
    """What each line is worth and the clause that says so, worked out by hand."""
    day = {name: (Decimal(old), Decimal(new)) for name, (old, new) in table(ALLOWANCES).items()}
    room = {name: Decimal(AMENDED.get(name, old)) for name, (old, _) in table(CEILINGS).items()}
    chf, pln = Decimal(RATES["CHF"][2]), Decimal(RATES["PLN"][2])  # May
    share = Decimal("0.6"), Decimal("0.5")  # first and last day
    austria, france, swiss = day["Austria"][0], day["France"][0], day["Switzerland"][0]
    poland, night = day["Poland"][1], Decimal(503) * pln
    meals_poland = 3 * Decimal("0.2") + 2 * Decimal("0.3")
    worth = {
        "T-2041/1": (Decimal("119.90"), "2023-3.1"),
        "T-2041/2": (Decimal("79.90"), "2023-3.1"),
        "T-2041/3": (3 * min(Decimal(142), room["Vienna"]), "2023-5.1"),
        "T-2041/4": (Decimal(0), "2023-5.2"),
        "T-2041/5": (Decimal("12.30"), "2023-5.3"),
        "T-2041/6": (
            2 * share[0] * austria + 2 * austria - 2 * Decimal("0.4") * austria,
            "2023-4.2",
        ),
        "T-2041/7": (Decimal(25), "2023-3.3"),
        "T-2041/8": (Decimal(34), "2023-3.3"),
        "T-2041/9": (Decimal(390), "2023-6.1"),
        "T-2041/10": (Decimal(0), "2023-6.2"),
        "T-2057/1": (Decimal(168), "2023-3.1"),
        "T-2057/2": (2 * min(Decimal(131), room["Lyon"]), "2023-5.1"),
        "T-2057/3": (Decimal("3.30"), "2023-5.3"),
        "T-2057/4": (Decimal(46) * Decimal("0.6"), "2023-3.1"),
        "T-2057/5": (2 * min(198 * chf, room["Geneva"]), "2023-5.1"),
        "T-2057/6": (Decimal(0), "2023-7.1"),
        "T-2057/7": (
            share[0] * france + france - Decimal("0.4") * france + 2 * swiss + share[0] * swiss,
            "2023-4.2",
        ),
        "T-2057/8": (min(41 * chf, Decimal(25)), "2023-3.3"),
        "T-2057/9": (Decimal(10), "2023-7.2"),
        "T-2057/10": (121 * chf, "2023-3.1"),
        "T-2063/1": (1240 * Decimal("0.28"), "2025-3(4)"),
        "T-2063/2": (min(Decimal(48), Decimal(30)), "2025-3(5)"),
        "T-2063/3": (3 * min(night, cents(room["Kraków"] * Decimal("1.12"))), "2025-5(1)"),
        "T-2063/4": (2 * share[1] * poland + 2 * poland - meals_poland * poland, "2025-4(2)"),
        "T-2063/5": (1250 * pln, "2025-6(1)"),
        "T-2063/6": (Decimal(45), "2025-6(2)"),
        "T-2063/7": (min(140 * pln, Decimal(30)), "2025-3(3)"),
        "T-2063/8": (Decimal(0), "2025-7(1)"),
        **{f"T-2066/{n}": (Decimal(0), "2025-2(1)") for n in range(1, 5)},
    }
    return {line: (cents(value), clause) for line, (value, clause) in worth.items()}


def grid(rows: list[list[object]], widths: list[float]) -> Table:
    style = [
        ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
        ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
        ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold"),
        ("FONTSIZE", (0, 0), (-1, -1), 9),
    ]
    return Table(rows, [w * mm for w in widths], repeatRows=1, style=TableStyle(style))


def write_rules_2023() -> None:
    """The old rules: six pages of PDF with annexes, the last of which changes an earlier one."""
    rl_config.invariant = 1
    styles = getSampleStyleSheet()
    story: list[object] = []
    for block in blocks_of(HERE / "sources" / "rules_2023.md"):
        mark, _, rest = block.partition(" ")
        name = {"#": "Title", "##": "Heading2"}.get(mark, "BodyText")
        story.append(Paragraph(rest if mark in ("#", "##") else block, styles[name]))
    euros = "{:.2f}".format
    annexes: list[tuple[str, list[list[object]], list[float]]] = [
        (
            "Annex A: daily allowances, full day",
            [["Country", "EUR"], *([k, euros(v[0])] for k, v in table(ALLOWANCES).items())],
            [60, 25],
        ),
        (
            "Annex B: hotel ceilings, each night",
            [["City", "EUR"], *([k, euros(v[0])] for k, v in table(CEILINGS).items())],
            [60, 25],
        ),
        (
            "Annex C: private car",
            [["Kilometres of a trip", "EUR each"], ["1 to 200", "0.30"], ["from 201 on", "0.20"]],
            [60, 25],
        ),
    ]
    for title, rows, widths in annexes:
        if not title.startswith("Annex C"):
            story.append(PageBreak())
        story += [Paragraph(title, styles["Heading2"]), grid(rows, widths), Spacer(1, 6 * mm)]
    changed = [[k, euros(table(CEILINGS)[k][0]), euros(v)] for k, v in AMENDED.items()]
    story += [
        Paragraph("Annex D: changes of 1 January 2024", styles["Heading2"]),
        Paragraph("These ceilings replace those of Annex B.", styles["BodyText"]),
        grid([["City", "EUR before", "EUR now"], *changed], [60, 25, 25]),
    ]
    target = str(FILES / "travel_rules_2023.pdf")
    document = SimpleDocTemplate(target, pagesize=A4, title="Travel Rules 2023", author="Fennmark")
    document.build(story, onFirstPage=number_page, onLaterPages=number_page)


def number_page(canvas: object, document: object) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawRightString(190 * mm, 12 * mm, f"Travel Rules 2023, page {document.page}")


def write_rules_2025() -> None:
    """The new rules, as the Word file everybody has."""
    document = document_of(blocks_of(HERE / "sources" / "rules_2025.md"))
    for title, head, text in (
        ("Appendix 1: daily allowances, full day", "Country", ALLOWANCES),
        ("Appendix 2: hotel ceilings, each night", "City", CEILINGS),
    ):
        document.add_heading(title, 1)
        rows = [[head, "EUR"], *([k, f"{v[1]}.00"] for k, v in table(text).items())]
        add_table(document, rows)
    save_office(document, FILES / "travel_rules_2025.docx", WRITTEN)


def write_claims() -> None:
    """Trips and lines as the web form exports them, and the institute's monthly rates."""
    book = Workbook()
    trips, lines = book.active, book.create_sheet("Lines")
    trips.title = "Trips"
    trips.append(["Claim", "Traveller", "First day", "Last day", "Received", "Where"])
    for trip in TRIPS:
        trips.append(trip)
    lines.append(["Claim", "Line", "Date", "Item", "Details", "Amount", "Currency"])
    for line in LINES:
        lines.append(line)
    save_office(book, FILES / "claims.xlsx", WRITTEN)
    write_csv(
        FILES / "exchange_rates.csv",
        [
            ["currency", "2025-03", "2025-04", "2025-05", "2025-06"],
            *([currency, *rates] for currency, rates in RATES.items()),
        ],
    )


def main() -> None:
    FILES.mkdir(exist_ok=True)
    write_rules_2023()
    write_rules_2025()
    write_claims()
    worth = expected()
    for line, (paid, clause) in worth.items():
        print(f"- {{line: {line}, paid_eur: {paid}, clause: {clause}}}")
    for trip in TRIPS:
        print(trip[0], sum(paid for line, (paid, _) in worth.items() if line.startswith(trip[0])))
    print("total", sum(paid for paid, _ in worth.values()))


if __name__ == "__main__":
    main()
