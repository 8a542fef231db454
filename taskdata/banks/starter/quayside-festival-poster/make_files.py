"""Write the input files of this task: `python make_files.py`; add `--expected` to print the truth.

The mail in files/ is written by hand. The clean programme is drawn up first; the export is the
clean programme spoilt on purpose, so the expected values below never pass through any code that
cleans it.
"""

import io
import json
import math
import random
import sys
from datetime import datetime
from pathlib import Path

from docx import Document
from docx.shared import Pt
from PIL import Image, ImageDraw
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas

from taskdata.banks.making import add_table, save_office, write_csv

FILES = Path(__file__).parent / "files"
WRITTEN = datetime(2026, 3, 2, 9, 0)
TEMPLATE = datetime(2013, 12, 23, 23, 15)  # the time in python-docx's template
SEED = 20260612

NAVY, SAILCLOTH, CORAL, TEAL = "#12263F", "#F6EFE0", "#FF6B4A", "#0E8C8C"
STAGE_COLOURS = {"Pier": "#F2B134", "Quay": "#2E7D4F", "Dock": "#C8323C"}

# (day, start, act, stage, genre): what really happens.
PROGRAMME = [
    ("Fri", "17:00", "Harbour School Brass", "Pier", "Brass"),
    ("Fri", "17:30", "Mila Torres", "Quay", "Singer-songwriter"),
    ("Fri", "18:15", "The Tin Gulls", "Pier", "Folk"),
    ("Fri", "18:45", "Low Tide Trio", "Dock", "Jazz"),
    ("Fri", "19:30", "Ropewalk", "Pier", "Indie"),
    ("Fri", "20:15", "Sable & Salt", "Quay", "Soul"),
    ("Fri", "21:00", "Northern Ferry", "Pier", "Indie"),
    ("Fri", "22:15", "Neon Kelp", "Quay", "Electronic"),
    ("Sat", "14:00", "Shanty Circle", "Pier", "Choir"),
    ("Sat", "14:45", "Kofi Mensah Band", "Quay", "Highlife"),
    ("Sat", "15:30", "Paper Lighthouse", "Pier", "Folk"),
    ("Sat", "16:00", "Oona Virtanen", "Dock", "Jazz"),
    ("Sat", "16:45", "Bilge Rats", "Pier", "Punk"),
    ("Sat", "17:30", "Casa Marina", "Quay", "Latin"),
    ("Sat", "18:30", "The Understudies", "Pier", "Pop"),
    ("Sat", "19:15", "Dogger Bank", "Dock", "Post-rock"),
    ("Sat", "20:00", "Elsa Brandt", "Quay", "Pop"),
    ("Sat", "21:30", "Copper Moon", "Pier", "Rock"),
    ("Sun", "11:00", "Quayside Family Chorus", "Pier", "Choir"),
    ("Sun", "12:15", "Wren and the Weather", "Quay", "Folk"),
    ("Sun", "13:00", "Slipway Strings", "Pier", "Classical"),
    ("Sun", "14:00", "Ada Okoye", "Quay", "Soul"),
    ("Sun", "14:30", "Ballast", "Dock", "Ambient"),
    ("Sun", "15:15", "Little Anchors", "Pier", "Children"),
    ("Sun", "16:00", "Fathom Five", "Dock", "Jazz"),
    ("Sun", "17:00", "Marisol Reyes", "Quay", "Latin"),
    ("Sun", "18:30", "Saltwater Orchestra", "Pier", "Big band"),
]
# Never to be printed: the last word on them is not "confirmed".
DROPPED = [
    ("Fri", "18:00", "Velvet Mooring", "Dock", "Lounge", "cancelled"),
    ("Fri", "20:45", "DJ Barnacle", "Dock", "Electronic", "Canceled"),
    ("Sat", "15:00", "Tam Lin Five", "Dock", "Folk", "CANCELLED"),
    ("Sat", "17:00", "Grey Heron", "Dock", "Blues", "tbc"),
    ("Sat", "22:45", "Night Trawler", "Quay", "Techno", "on hold"),
    ("Sun", "12:30", "Pilot Cutter", "Dock", "Rock", "tbc"),
    ("Sun", "16:30", "Sirens Unlimited", "Quay", "A cappella", "cancelled"),
]
# Acts that moved: an older line with the old slot is still in the export.
MOVED = [
    ("Fri", "19:00", "Ropewalk", "Dock"),
    ("Sat", "18:00", "Elsa Brandt", "Dock"),
    ("Sat", "13:30", "Paper Lighthouse", "Dock"),
    ("Sun", "15:00", "Marisol Reyes", "Dock"),
    ("Sun", "12:00", "Ada Okoye", "Dock"),
]
STAGE_SPELLINGS = {
    "Pier": ["Pier", "PIER", "pier stage", "Pier ", "Pier Stage"],
    "Quay": ["Quay", "quay", "Quay stage", " Quay"],
    "Dock": ["Dock", "DOCK", "dock stage", "Dock "],
}
DAYS = {
    "Fri": ["Fri", "Friday", "12.06.", "fri 12 June"],
    "Sat": ["Sat", "Saturday", "13.06.", "SAT"],
    "Sun": ["Sun", "Sunday", "14.06.", "sun"],
}


def expected() -> dict:
    counts = {stage: sum(row[3] == stage for row in PROGRAMME) for stage in STAGE_COLOURS}
    total = len(PROGRAMME)
    return {
        "acts": total,
        "per_stage": counts,
        "ribbon_edges": [
            round(counts["Pier"] / total, 4),
            round((counts["Pier"] + counts["Quay"]) / total, 4),
        ],
        "tables": {
            day: [[start, act, stage] for d, start, act, stage, _ in PROGRAMME if d == day]
            for day in DAYS
        },
    }


def clock(time: str, rng: random.Random) -> str:
    hour, minute = map(int, time.split(":"))
    twelve = f"{(hour - 1) % 12 + 1}:{minute:02d} {'am' if hour < 12 else 'pm'}"
    return rng.choice([time, time, time.replace(":", "."), f"{hour:02d}{minute:02d}", twelve])


def updated(late: bool, rng: random.Random) -> str:
    """Early lines are of March, late ones of April; never two of one act on the same day."""
    day = rng.randint(14, 29)
    return rng.choice(
        [f"2026-0{4 if late else 3}-{day:02d}", f"{day:02d}.0{4 if late else 3}.2026"]
    )


def spoilt(name: str, rng: random.Random) -> str:
    return rng.choice([name, name, name.upper(), f"{name} ", name.replace(" ", "  ", 1)])


def write_programme() -> None:
    rng = random.Random(SEED)
    lines = []

    def line(day, start, act, stage, genre, status, late):
        lines.append(
            [
                rng.choice(DAYS[day]),
                clock(start, rng),
                spoilt(act, rng),
                rng.choice(STAGE_SPELLINGS[stage]),
                rng.choice([genre, genre, genre.lower(), ""]),
                status,
                updated(late, rng),
            ]
        )

    for row in PROGRAMME:
        line(*row, rng.choice(["confirmed", "Confirmed", "confirmed ", "CONFIRMED"]), True)
    for day, start, act, stage, genre, status in DROPPED:
        line(day, start, act, stage, genre, "confirmed", False)
        line(day, start, act, stage, genre, status, True)
    for day, start, act, stage in MOVED:
        line(day, start, act, stage, "", "confirmed", False)
    lines += [list(row) for row in rng.sample(lines[: len(PROGRAMME)], 5)]  # pasted twice
    rng.shuffle(lines)
    lines.insert(17, [""] * 7)
    write_csv(
        FILES / "programme_export.csv",
        [["day", "start", "act", "stage", "genre", "status", "updated"], *lines],
        delimiter=";",
    )


def write_logos() -> None:
    """The logo on its disc, and as line art without one."""
    for name, disc, beam in (("logo_disc", SAILCLOTH, "#F2B134"), ("logo_line", None, None)):
        big = Image.new("RGBA", (1440, 1440), (0, 0, 0, 0))
        pen = ImageDraw.Draw(big)
        if disc:
            pen.ellipse((0, 0, 1439, 1439), fill=disc)
        for far in (1170, 270):
            points = [(720, 420), (far, 290), (far, 550)]
            pen.polygon(points, fill=beam, outline=None if beam else NAVY, width=14)
        pen.ellipse((54, 54, 1385, 1385), outline=NAVY, width=21)
        pen.polygon([(620, 520), (820, 520), (880, 1010), (560, 1010)], fill=NAVY)
        if disc:
            pen.polygon([(604, 650), (836, 650), (850, 760), (590, 760)], fill="#C8323C")
        pen.rectangle((590, 480, 850, 524), fill=NAVY)
        pen.rectangle((640, 360, 800, 484), fill=beam, outline=NAVY, width=16)
        pen.polygon([(620, 364), (820, 364), (720, 262)], fill=NAVY)
        for row, top in enumerate((1040, 1130, 1220)):
            reach = 470 - 95 * row
            points = [
                (720 + x, top + 26 * math.sin((x + 60 * row) / 42))
                for x in range(-reach, reach + 1, 6)
            ]
            pen.line(points, fill=NAVY, width=26, joint="curve")
        big.resize((480, 480), Image.Resampling.LANCZOS).save(FILES / f"{name}.png", optimize=True)


def write_guide() -> None:
    buffer = io.BytesIO()
    pdf = Canvas(buffer, pagesize=A4, invariant=1)
    pdf.setTitle("Quayside Sounds - brand guide 2.1")

    def page(title: str) -> None:
        pdf.setFillColor(HexColor(NAVY))
        pdf.rect(0, A4[1] - 28 * mm, A4[0], 28 * mm, stroke=0, fill=1)
        pdf.setFillColor(HexColor(SAILCLOTH))
        pdf.setFont("Helvetica-Bold", 20)
        pdf.drawString(20 * mm, A4[1] - 18 * mm, title)
        pdf.setFillColor(HexColor("#777777"))
        pdf.setFont("Helvetica", 8)
        pdf.drawString(20 * mm, 10 * mm, "Quayside Sounds brand guide 2.1, January 2026")
        pdf.drawRightString(A4[0] - 20 * mm, 10 * mm, f"page {pdf.getPageNumber()}")
        pdf.setFillColor(HexColor("#222222"))

    def text(top_mm: float, lines: list[str], left_mm: float = 20, size: float = 10.5) -> None:
        pdf.setFillColor(HexColor("#222222"))
        for i, line in enumerate(lines):
            bold = line.startswith("#")
            pdf.setFont("Helvetica-Bold" if bold else "Helvetica", size + 2 * bold)
            pdf.drawString(left_mm * mm, A4[1] - (top_mm + 5.6 * i) * mm, line.lstrip("# "))

    page("Colours and logo")
    swatches = [
        ("Harbour Navy", NAVY, "masthead, text on light ground, date block"),
        ("Sailcloth", SAILCLOTH, "ground of everything, text on dark ground"),
        ("Accent: Signal Coral", CORAL, "footer of the poster, left panel of the banner"),
        ("Stage colour Pier", STAGE_COLOURS["Pier"], "stage ribbon and its key only"),
        ("Stage colour Quay", STAGE_COLOURS["Quay"], "stage ribbon and its key only"),
        ("Stage colour Dock", STAGE_COLOURS["Dock"], "stage ribbon and its key only"),
    ]
    for i, (name, colour, use) in enumerate(swatches):
        y = A4[1] - (52 + 15 * i) * mm
        pdf.setFillColor(HexColor(colour))
        pdf.setStrokeColor(HexColor("#999999"))
        pdf.rect(20 * mm, y, 24 * mm, 11 * mm, fill=1)
        text((A4[1] - y) / mm - 6, [f"# {name}   {colour}", use], left_mm=48, size=9.5)
    text(
        142,
        [
            "# Logo",
            "The round lighthouse comes in two versions: logo_disc for dark ground and on areas of",
            "colour, logo_line for light ground and small print. Keep its proportions, never",
            "recolour it, never set it on a plate of its own.",
            "Leave a clear space around it of at least a tenth of its width.",
            "",
            "# Files for print and web",
            "PNG, RGB, no transparency. Areas of colour are flat: no gradients, no textures.",
            "Text is Harbour Navy or Sailcloth, whichever reads better on its ground.",
        ],
    )
    pdf.showPage()

    page("Grids: poster and web banner")
    text(
        40,
        [
            "# Poster (A4 upright, 1240 x 1754 pixels)",
            "Masthead: the top quarter of the height, Harbour Navy.",
            "Body: the middle half, Sailcloth.",
            "Stage ribbon: the next eighth.",
            "Footer: the bottom eighth, accent colour.",
            "All four run from edge to edge.",
            "",
            "Outer margin: the left and the right 5 % of the",
            "width carry no text, logo or block.",
            "",
            "Logo: 24 % of the poster's width wide, its left",
            "edge at 6 % of the width, centred in the height",
            "of the masthead. The name of the festival stands",
            "to its right, from 36 % of the width on.",
            "",
            "Date block: a filled Harbour Navy rectangle in",
            "the body, from 6 % to 44 % of the width and from",
            "29 % to 41 % of the height, with the dates in it.",
            "",
            "Stage ribbon: Pier, Quay, Dock from left to right",
            "in their colours, without gaps. Each stage is as",
            "wide as its share of the acts that are printed.",
            "No text in the ribbon; the key (stage and number",
            "of acts) stands just above it, in the body.",
        ],
        size=10,
    )
    left, top, wide = 132 * mm, A4[1] - 42 * mm, 58 * mm
    high = wide * 1754 / 1240
    bands = [(0, 0.25, NAVY), (0.25, 0.75, SAILCLOTH), (0.875, 1, CORAL)]
    for start, end, colour in bands:
        pdf.setFillColor(HexColor(colour))
        pdf.rect(left, top - end * high, wide, (end - start) * high, stroke=0, fill=1)
    for start, end, stage in ((0, 0.4, "Pier"), (0.4, 0.7, "Quay"), (0.7, 1, "Dock")):
        pdf.setFillColor(HexColor(STAGE_COLOURS[stage]))
        pdf.rect(
            left + start * wide,
            top - 0.875 * high,
            (end - start) * wide,
            high / 8,
            stroke=0,
            fill=1,
        )
    pdf.setFillColor(HexColor(SAILCLOTH))
    pdf.circle(left + 0.18 * wide, top - 0.125 * high, 0.12 * wide, stroke=0, fill=1)
    pdf.setFillColor(HexColor(NAVY))
    pdf.rect(left + 0.06 * wide, top - 0.41 * high, 0.38 * wide, 0.12 * high, stroke=0, fill=1)
    pdf.setStrokeColor(HexColor("#999999"))
    pdf.rect(left, top - high, wide, high, fill=0)
    pdf.setFillColor(HexColor("#777777"))
    pdf.setFont("Helvetica-Oblique", 8)
    pdf.drawString(left, top - high - 4 * mm, "Sketch, ribbon widths are an example.")

    text(
        186,
        [
            "# Web banner (1600 x 400 pixels)",
            "Left panel: the left quarter of the width, accent colour, full height, with the logo",
            "centred in it; the logo is 280 pixels wide.",
            "The rest: Harbour Navy, with the name of the festival, dates and venue in Sailcloth.",
            "Stage ribbon: the bottom eighth of the height, right of the panel only, divided by",
            "the same rule as on the poster.",
            "The right 3 % of the width carry no text.",
        ],
        size=10,
    )
    pdf.showPage()

    page("Programme pages on our site")
    text(
        42,
        [
            "One self-contained HTML file in English, marked as such: styles inside the file, no",
            "scripts, nothing loaded from elsewhere.",
            "",
            "The main heading is the festival's name with the year. Below it one section per day,",
            "in order; its heading reads like 'Friday 12 June', its id is the day's name in lower",
            "case (friday, saturday, sunday). Navigation at the top of the page links to the",
            "sections.",
            "",
            "In each section one table with the columns Time, Act, Stage, sorted by time. Times as",
            "17:00 (24 hours). Stages are called Pier, Quay and Dock, nothing more. Act names in",
            "ordinary capitalisation, not all capitals.",
            "",
            "The last section has the id tickets and the heading 'Tickets and venue': prices as",
            "€12, the venue, and that children under 12 come in free, if they do.",
        ],
    )
    pdf.showPage()
    pdf.save()
    (FILES / "brand_guide.pdf").write_bytes(buffer.getvalue())


def write_brief() -> None:
    doc = Document()
    doc.styles["Normal"].font.size = Pt(11)
    doc.add_heading("Brief: poster, banner and programme page", 1)
    doc.add_paragraph("Festival office, 2 March 2026, version 3")
    doc.add_paragraph(
        "Quayside Sounds 2026 takes place from Friday 12 to Sunday 14 June 2026 at the Old Customs "
        "Yard. Three stages: Pier, Quay and Dock. Everything follows the brand guide."
    )
    doc.add_heading("What must be on the poster", 2)
    for item in (
        "the name: Quayside Sounds 2026",
        "the dates: 12-14 June 2026",
        "the venue and the ticket prices",
        "the last act of each day, as that evening's headliner",
        "the key to the stage ribbon",
        "the web address: quaysidesounds.example",
    ):
        doc.add_paragraph(item, style="List Bullet")
    doc.add_heading("Tickets", 2)
    prices = [["Day", "€18"], ["Weekend", "€42"], ["Children under 12", "free"]]
    add_table(doc, [["Ticket", "Price"], *prices])
    doc.add_heading("Programme", 2)
    doc.add_paragraph(
        "The stage managers keep the list in the shared sheet; take the export. Print confirmed "
        "acts only. Nobody plays twice: if an act is in the list more than once, the line that was "
        "updated last is the one that holds, whatever it says."
    )
    save_office(doc, FILES / "brief.docx", WRITTEN, stated=TEMPLATE)


def main() -> None:
    if "--expected" in sys.argv:
        print(json.dumps(expected(), indent=1))
        return
    FILES.mkdir(exist_ok=True)
    write_programme()
    write_logos()
    write_guide()
    write_brief()


if __name__ == "__main__":
    main()
