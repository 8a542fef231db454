"""Write the input files of this task: `python make_files.py`; add `--expected` to print the truth.

The mail and the note in files/ are written by hand. The quarter is drawn up clean first, the
expected values are worked out from it in exact decimals, and only then is it written down the way
two exports and four country accounts would have it.
"""

import csv
import json
import random
import sys
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from pathlib import Path

from docx import Document
from openpyxl import Workbook
from openpyxl.styles import Font, PatternFill
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import ListFlowable, Paragraph, SimpleDocTemplate

from taskdata.banks.making import save_office

FILES = Path(__file__).parent / "files"
WRITTEN = datetime(2026, 4, 2, 8, 0)
SEED = 4711

CURRENCY = {"DE": "EUR", "UK": "GBP", "SE": "SEK", "PL": "PLN"}
# Average rates of the month: (units, euros for them).
RATES = {
    "GBP": {1: (1, "1.1534"), 2: (1, "1.1478"), 3: (1, "1.1591")},
    "SEK": {1: (100, "9.1260"), 2: (100, "9.2135"), 3: (100, "9.1842")},
    "PLN": {1: (100, "23.4180"), 2: (100, "23.5265"), 3: (100, "23.3910")},
}
# channel: (spellings, cost per conversion in EUR aimed at, {country: weekly spend in EUR})
CHANNELS = {
    "Search": (
        ["Google Search", "google search", "SEA", "Search"],
        24,
        {"DE": 2600, "UK": 1500, "SE": 700, "PL": 500},
    ),
    "Meta": (
        ["Meta", "META Ads", "Facebook", "IG"],
        28,
        {"DE": 2300, "UK": 1100, "SE": 800, "PL": 600},
    ),
    "Affiliate": (["Awin", "Affiliate", "affiliates"], 19, {"DE": 420, "UK": 300, "PL": 160}),
    "Creators": (["Creators", "Influencer", "creators "], 35, {"DE": 700, "SE": 500}),
    "TikTok": (["TikTok", "Tik Tok", "TT"], 49, {"UK": 700, "SE": 900, "PL": 400}),
    "Display": (["GDN", "Display", "Google Display"], 63, {"DE": 900, "UK": 500}),
}
BUDGET, CAP, LIMIT = Decimal(210_000), Decimal("0.35"), Decimal(40)
PHASES = (Decimal("0.25"), Decimal("0.45"), Decimal("0.30"))
CENT = Decimal("0.01")


@dataclass(frozen=True)
class Line:
    line_id: str
    day: date
    channel: str
    country: str
    campaign: str
    spend: Decimal
    clicks: int
    conversions: int


def clean_lines() -> list[Line]:
    """The quarter as it was: one line per channel, country and week, and four credits."""
    rng = random.Random(SEED)
    lines = []
    for channel, (_, cost, countries) in CHANNELS.items():
        for country, weekly in countries.items():
            for week in range(13):
                day = date(2026, 1, 1) + timedelta(days=7 * week + rng.randint(0, 5))
                euros = weekly * rng.uniform(0.7, 1.3)
                units, per = RATES.get(CURRENCY[country], {}).get(day.month, (1, "1"))
                spend = Decimal(euros * units / float(per)).quantize(CENT)
                lines.append(
                    Line(
                        f"L{100_000 + rng.randint(0, 899_999)}",
                        day,
                        channel,
                        country,
                        f"{country}_{channel}_{rng.choice(['core', 'spring', 'brand'])}_26",
                        spend,
                        round(euros / rng.uniform(0.6, 1.4)),
                        max(0, round(euros / (cost * rng.uniform(0.8, 1.2)))),
                    )
                )
    for line in rng.sample(lines, 4):
        credit = -(line.spend / 5).quantize(CENT)
        day = line.day + timedelta(days=1)
        lines.append(
            Line(
                f"L{100_000 + rng.randint(0, 899_999)}",
                day,
                line.channel,
                line.country,
                line.campaign + "_credit",
                credit,
                0,
                0,
            )
        )
    assert len({line.line_id for line in lines}) == len(lines)
    assert all(line.day <= date(2026, 3, 31) for line in lines)
    return lines


def euros(line: Line) -> Decimal:
    if line.country == "DE":
        return line.spend
    units, per = RATES[CURRENCY[line.country]][line.day.month]
    return line.spend * Decimal(per) / units


def results() -> dict[str, dict]:
    """Spend, clicks and conversions of each channel in the first quarter."""
    table = {}
    for channel in CHANNELS:
        mine = [line for line in clean_lines() if line.channel == channel]
        spend = sum(map(euros, mine), Decimal(0))
        conversions = sum(line.conversions for line in mine)
        table[channel] = {
            "spend": spend,
            "clicks": sum(line.clicks for line in mine),
            "conversions": conversions,
            "cost": spend / conversions,
        }
    return table


def plan() -> dict[str, list[Decimal]]:
    """Budget, April, May and June of each channel by the rules of memo and mail."""
    table = results()
    open_channels = {c: row["conversions"] for c, row in table.items() if row["cost"] <= LIMIT}
    exact: dict[str, Decimal] = {}
    while open_channels:
        left = BUDGET - sum(exact.values(), Decimal(0))
        total = sum(open_channels.values())
        shares = {c: left * n / total for c, n in open_channels.items()}
        over = [c for c, share in shares.items() if share > CAP * BUDGET]
        if not over:
            exact |= shares
            break
        for channel in over:
            exact[channel] = CAP * BUDGET
            del open_channels[channel]
    whole = {c: (exact.get(c, Decimal(0)) // 100) * 100 for c in CHANNELS}
    cheapest = min(exact, key=lambda c: table[c]["cost"])
    whole[cheapest] += BUDGET - sum(whole.values())
    rows = {}
    for channel, amount in whole.items():
        april, may = ((amount * p / 10).quantize(Decimal(1), ROUND_FLOOR) * 10 for p in PHASES[:2])
        rows[channel] = [amount, april, may, amount - april - may]
    return rows


def expected() -> dict:
    table = results()
    total = {
        key: sum(row[key] for row in table.values()) for key in ("spend", "clicks", "conversions")
    }
    total["cost"] = total["spend"] / total["conversions"]
    rounded = {
        channel: [
            float(row["spend"].quantize(CENT, ROUND_HALF_UP)),
            row["clicks"],
            row["conversions"],
            float(row["cost"].quantize(CENT, ROUND_HALF_UP)),
        ]
        for channel, row in (table | {"Total": total}).items()
    }
    return {
        "q1": rounded,
        "q2": {channel: [int(v) for v in row] for channel, row in plan().items()},
        "data_notes": export()[1],
    }


def money(amount: Decimal, country: str, rng: random.Random) -> str:
    text = f"{amount:,.2f}"
    if country == "UK":
        return rng.choice([text, text, f"£{text}".replace("£-", "-£")])
    swapped = text.replace(",", "x").replace(".", ",")
    return swapped.replace("x", "\u00a0" if country == "SE" else ".")


def day_text(day: date, country: str, rng: random.Random) -> str:
    local = {"UK": "%d/%m/%Y", "DE": "%d.%m.%Y", "PL": "%d.%m.%Y", "SE": "%Y-%m-%d"}[country]
    return day.strftime(rng.choice([local, local, "%Y-%m-%d"]))


def export() -> tuple[list[list[str]], dict[str, int]]:
    """Both exports pasted together, and how many lines of each kind are in them."""
    rng = random.Random(SEED + 1)
    rows: list[list[str]] = []

    def add(line: Line, pulled: str, conversions: int | None = None) -> None:
        n = line.conversions if conversions is None else conversions
        currency = CURRENCY[line.country]
        rows.append(
            [
                line.line_id,
                day_text(line.day, line.country, rng),
                rng.choice(CHANNELS[line.channel][0]),
                line.country,
                line.campaign,
                rng.choice([currency, currency, currency.lower()]),
                money(line.spend, line.country, rng),
                str(line.clicks),
                "" if n == 0 else str(n),
                pulled,
            ]
        )

    lines = clean_lines()
    early, late = "2026-03-02 07:15", "2026-04-02 07:15"
    for line in lines:
        add(line, late)
    repeated = rng.sample([line for line in lines if line.day.month < 3], 74)
    for line in repeated:  # conversions that came in late are missing in the early export
        add(line, early, max(0, line.conversions - rng.choice([0, 0, 1, 3, 6])))
    tests = [rng.choice(lines) for _ in range(13)]
    for i, line in enumerate(tests):
        name = rng.choice(["TEST_pixel", "test do not use", "Tracking Test"])
        spoilt = {"campaign": name, "spend": Decimal("950.00"), "clicks": 12, "conversions": 480}
        add(replace(line, line_id=f"T{i:03d}", **spoilt), late)
    days = [
        "2025-12-30",
        "2025-12-28",
        "2025-12-22",
        "2026-04-01",
        "2026-04-01",
        "2025-12-31",
        "2026-04-02",
    ]
    outside = [replace(rng.choice(lines), day=date.fromisoformat(day)) for day in days]
    for i, line in enumerate(outside):
        add(replace(line, line_id=f"O{i:03d}", spend=Decimal("1480.50"), conversions=55), late)
    rng.shuffle(rows)
    subtotals = 0
    for position in range(40, len(rows), 45):
        total = f"{rng.randint(20_000, 60_000)},00"
        rows.insert(
            position, ["", "", "", "", "Subtotal", "", total, "", str(rng.randint(800, 2000)), late]
        )
        subtotals += 1
    counts = {
        "Lines in the export": len(rows),
        "Subtotals": subtotals,
        "Test campaigns": len(tests),
        "Outside the quarter": len(outside),
        "Superseded": len(repeated),
        "Lines used": len(lines),
    }
    return rows, counts


def write_export() -> None:
    header = "line_id,date,channel,account,campaign,currency,spend,clicks,conversions,exported_at"
    with (FILES / "ads_export.csv").open("w", newline="", encoding="utf-8-sig") as out:
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow(header.split(","))
        writer.writerows(export()[0])


def write_rates() -> None:
    """Three sheets that disagree; the hand-over note says which one counts."""
    rng = random.Random(SEED + 2)
    book = Workbook()
    for title, drift in (("Budget 2026", 0.035), ("Monthly average", 0.0), ("Month end", 0.012)):
        sheet = book.create_sheet(title)
        sheet.append([f"{title}: euros for foreign currency"])
        sheet.append([])
        sheet.append(["Currency", "Units", "Jan 2026", "Feb 2026", "Mar 2026"])
        for cell in sheet[3]:
            cell.font = Font(bold=True)
            cell.fill = PatternFill("solid", fgColor="DDE7DD")
        for currency, months in RATES.items():
            factor = 1 + drift * rng.choice([-1, 1])
            values = [round(float(months[m][1]) * factor, 4) for m in (1, 2, 3)]
            sheet.append([currency, months[1][0], *values])
        sheet.column_dimensions["A"].width = 14
    del book["Sheet"]
    save_office(book, FILES / "fx_rates.xlsx", WRITTEN)


def write_memo() -> None:
    doc = Document()
    doc.add_heading("Memo: media budget for the second quarter of 2026", 1)
    doc.add_paragraph("Marketing controlling, 9 March 2026")
    doc.add_heading("Budget", 2)
    doc.add_paragraph("€260,000 for media in all countries, April to June.")
    doc.add_heading("How it is split", 2)
    for rule in (
        "Channels share the budget in proportion to their conversions in the first quarter of "
        "2026.",
        "No channel may have more than 40 % of the budget that is split. A channel that comes "
        "out above that is set to the ceiling, and what it loses goes to the channels below "
        "the ceiling in the same proportion, until no channel is above it.",
        "Every channel has at least 10 % of the budget.",
        "Each channel is rounded down to full €100. What the rounding leaves over goes to the "
        "channel with the lowest cost per conversion.",
    ):
        doc.add_paragraph(rule, style="List Number")
    doc.add_heading("Months", 2)
    doc.add_paragraph(
        "April 40 %, May 35 %, June 25 % of each channel's budget. April and May are rounded "
        "down to full €10, June takes the rest."
    )
    doc.add_paragraph(
        "Cost per conversion is spend in euros over conversions, over all countries together."
    )
    save_office(doc, FILES / "budget_memo.docx", WRITTEN)


def write_house_rules() -> None:
    styles = getSampleStyleSheet()
    body = styles["BodyText"]

    def items(*lines: str) -> ListFlowable:
        return ListFlowable(
            [Paragraph(line, body) for line in lines], bulletType="bullet", start="•"
        )

    story = [
        Paragraph("Northpeak house rules for decks and workbooks", styles["Title"]),
        Paragraph("Media plan decks", styles["Heading2"]),
        items(
            "Six slides, with these titles: 'Spring campaign 2026: media plan', 'What the "
            "first quarter brought', 'What a conversion cost us', 'Where the money goes in "
            "Q2', 'Month by month', 'Risks and decisions'.",
            "No text under 18 points, titles at 30 points or more.",
            "At most 70 words on a slide, tables included. What is to be said goes into the "
            "speaker notes: every slide has some, 20 words or more.",
            "The second slide says what was spent, how many conversions that brought and what "
            "one cost. The third shows the cost per conversion of all six channels as a chart, "
            "the fourth the budgets as a chart with the amounts beside it, the fifth has a table "
            "with the months of the channels that get money.",
            "Amounts as €12,345 without cents; cost per conversion with cents, as €12.34.",
        ),
        Paragraph("Media plan workbooks", styles["Heading2"]),
        items(
            "Sheet 'Q1 results': Channel, Spend EUR, Clicks, Conversions, Cost per conversion EUR; "
            "cheapest channel first; euros with cents; last row Total (its cost per conversion is "
            "that of all channels together).",
            "Sheet 'Q2 plan': Channel, Q2 budget EUR, April, May, June, for all channels, also "
            "those that get nothing; last row Total. Totals are live formulas. A column or bar "
            "chart of the months stands beside the table.",
            "Sheet 'Data notes': Item, Lines, with the rows 'Lines in the export', "
            "'Subtotals', 'Test campaigns', 'Outside the quarter', 'Superseded', 'Lines used'. "
            "A line left out is counted under the first of these that applies to it.",
            "Tables start with their header in the first row of the sheet. Amounts in euros are "
            "formatted with a thousands separator.",
        ),
    ]
    SimpleDocTemplate(
        str(FILES / "house_rules.pdf"), pagesize=A4, title="House rules", invariant=1
    ).build(story)


def main() -> None:
    if "--expected" in sys.argv:
        print(json.dumps(expected(), ensure_ascii=False, indent=1))
        return
    FILES.mkdir(exist_ok=True)
    write_export()
    write_rates()
    write_memo()
    write_house_rules()


if __name__ == "__main__":
    main()
