"""Write files/: a stocktake whose sheets disagree, and one aisle that exists only as a scan.

The truth (what was on the shelves) is drawn first, with a fixed seed; the sheets then report it
with the faults of a real Saturday. The expected values of task.yaml come from the truth:
`python make_files.py` prints them.
"""

import json
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
from openpyxl import Workbook
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from taskdata.banks.making import blocks_of, document_of, save_office

FILES = Path(__file__).parent / "files"
WRITTEN = datetime(2025, 11, 30, 8, 0)
RNG = random.Random(2911)
SNAPSHOT = datetime(2025, 11, 28, 18, 0)
START = datetime(2025, 11, 29, 8, 0)

# Aisle: articles with pack size and unit cost in EUR
ARTICLES = """
1 Lights: LED anchor light 1 38.50; Navigation light, red 1 27.90; Navigation light, green 1 27.90; Deck flood 24 V 1 84.00; Bulb 12 V 10 W 10 2.35; Cabin spot 6 14.80; Torch, floating 12 9.60; Solar lantern 6 22.40; Bulb 12 V 25 W 10 2.95; Dimmer panel 1 46.00; Emergency strobe 6 31.50; Battery, lantern 24 3.10; Fuse set 10 6.40; Switch, sealed 10 8.75
2 Fasteners: Shackle 8 mm 50 3.20; Shackle 10 mm 50 4.60; Snap hook 70 mm 24 5.85; Snap hook 100 mm 12 8.90; Eye bolt M8 50 2.75; Eye bolt M10 50 3.95; Turnbuckle M6 12 11.20; Turnbuckle M8 12 15.60; Screw set, stainless 10 13.40; Rivet set 10 9.80; Thimble 6 mm 50 0.85; Thimble 8 mm 50 1.10; Cleat 150 mm 6 12.75; Cleat 200 mm 6 17.90
3 Rope and chain: Mooring line 12 mm 1 58.00; Mooring line 16 mm 1 94.00; Anchor rode 14 mm 1 119.00; Halyard 8 mm 1 47.50; Chain 8 mm, 10 m 1 88.00; Chain 10 mm, 10 m 1 132.00; Shock cord 6 mm 10 11.30; Whipping twine 24 4.20; Dock line, snubber 6 26.80; Heaving line 6 21.00; Sheet 10 mm 1 52.40; Lashing set 12 9.90
4 Paint and care: Antifouling 2.5 l 4 79.00; Antifouling 0.75 l 6 31.00; Varnish 1 l 6 28.60; Primer 1 l 6 24.30; Thinner 1 l 12 9.80; Hull polish 12 14.20; Teak oil 12 16.70; Sealant, white 12 8.60; Sealant, black 12 8.60; Brush 50 mm 24 4.10; Roller set 12 7.25; Masking tape 24 3.80; Epoxy kit 6 44.00; Filler 6 19.60
5 Safety: Life jacket 150 N 4 89.00; Life jacket, child 4 64.00; Lifebuoy 1 48.00; Throw line 6 34.50; Flare, red hand 12 13.90; Smoke signal 6 24.80; First aid kit 6 39.00; Fire blanket 10 18.20; Extinguisher 2 kg 2 42.00; Fog horn 12 15.90; Radar reflector 6 28.00; Harness 4 72.00; Tether 2 m 6 46.50; Whistle 50 1.40
6 Galley: Kettle 6 19.80; Mug, steel 24 6.30; Plate, melamine 24 4.90; Gas cartridge 12 5.40; Cooler 25 l 1 57.00; Water can 10 l 6 12.10; Knife, galley 12 11.70; Pan, nesting 6 33.00; Cutting board 12 8.80; Lighter, gas 24 2.90; Bowl, non-slip 24 5.10; Dish rack 6 13.60
7 Flags and charts: Ensign 45 cm 1 11.20; Ensign 60 cm 1 15.80; Courtesy flag set 1 24.00; Signal flag set 1 68.00; Flag staff 1 18.90; Chart, bay 1 29.50; Chart, coast north 1 29.50; Chart, coast south 1 29.50; Plotter rule 1 12.60; Divider, brass 1 22.70; Logbook 1 14.90; Pilot guide 1 36.00
"""  # noqa: E501


@dataclass
class Article:
    """One article, and everything the sheets must say about it."""

    sku: str
    name: str
    aisle: int
    pack: int
    list_cost: Decimal
    cost: Decimal
    book: int
    moved: int = 0
    counted: int | None = None
    open_for: str = ""
    movements: list[tuple[datetime, str, int, str]] = field(default_factory=list)

    @property
    def expected(self) -> int:
        return self.book + self.moved

    @property
    def difference(self) -> int:
        return self.counted - self.expected

    @property
    def value(self) -> Decimal:
        return (self.difference * self.cost).quantize(Decimal("0.01"), ROUND_HALF_UP)

    @property
    def status(self) -> str:
        if self.counted is None:
            return "open"
        if self.difference == 0:
            return "ok"
        return "approve" if abs(self.value) > 150 else "post"

    @property
    def account(self) -> str:
        if self.difference > 0:
            return "4810"
        return "6825" if self.aisle == 3 else "6820"


def draw_articles() -> list[Article]:
    """The articles with book quantities and the costs that count."""
    articles = []
    for line in ARTICLES.strip().splitlines():
        aisle, items = line.split(" ", 1)
        for item in items.split(": ")[1].split("; "):
            name, pack, cost = item.rsplit(" ", 2)
            old = Decimal(cost)
            new = old
            if RNG.random() < 0.3:  # repriced in October; the Book sheet still has the old cost
                factor = Decimal(RNG.choice(["0.92", "1.06", "1.11", "1.15"]))
                new = (old * factor).quantize(Decimal("0.01"), ROUND_HALF_UP)
            book = RNG.randint(8, 60) if old > 20 else RNG.randint(30, 320)
            sku = f"HL-{1001 + len(articles)}"
            articles.append(Article(sku, name, int(aisle), int(pack), old, new, book))
    return articles


def move(articles: list[Article]) -> list[list[object]]:
    """Movements before, during and after the gap between the snapshot and the count."""
    rows = []
    for serial, article in enumerate(RNG.sample(articles, 44), start=30411):
        hours = RNG.choice([-20, -9, -3, 1, 2, 2, 3, 13, 13, 15, 17, 22])
        when = SNAPSHOT + timedelta(hours=hours, minutes=RNG.randrange(1, 50))
        kind = RNG.choice(["receipt", "issue", "issue", "issue", "return", "scrap"])
        quantity = article.pack * RNG.randint(1, 3) if kind == "receipt" else RNG.randint(1, 7)
        if SNAPSHOT <= when < START:
            article.moved += quantity if kind in ("receipt", "return") else -quantity
        stamp: object = when if RNG.random() < 0.6 else f"{when:%d.%m.%Y %H:%M}"
        rows.append([f"D-{serial}", stamp, shabby(article.sku), kind, quantity])
    inside = [r for r in rows if SNAPSHOT <= moment(r[1]) < START]
    rows += [list(row) for row in RNG.sample(inside, 3)]  # documents listed twice
    RNG.shuffle(rows)
    return rows


def moment(stamp: object) -> datetime:
    return stamp if isinstance(stamp, datetime) else datetime.strptime(stamp, "%d.%m.%Y %H:%M")


def shabby(sku: str) -> str:
    """An article number as people type it."""
    return RNG.choices([sku, sku.lower(), sku.replace("-", ""), f"{sku} "], [80, 8, 7, 5])[0]


def count(articles: list[Article]) -> dict[str, list[list[object]]]:
    """Count everything; return the rows of Count A, Count B and Recounts."""
    for article in articles:
        spread = 4 if article.cost > 20 else 14
        slip = RNG.choice([-1, -1, 1]) * RNG.randint(1, spread)
        article.counted = article.expected + (slip if RNG.random() < 0.38 else 0)
    lists: dict[str, list[list[object]]] = {"A": [], "B": [], "R": []}
    listed = [a for a in articles if a.aisle != 7]
    odd = RNG.sample(listed, 22)
    lone, absent, agreed_wrong, found_late = odd[14:16], odd[16:18], odd[18:21], odd[21]
    for article in listed:
        told = {"A": article.counted, "B": article.counted}
        if article in odd[:14]:
            told[RNG.choice("AB")] += RNG.choice([-3, -2, -1, 1, 2, 5])
        if article in lone:
            told.pop("A" if article is lone[0] else "B")
        if article in absent or article is found_late:
            told = {}
        if article in agreed_wrong:
            told = dict.fromkeys("AB", article.counted - RNG.choice([2, 4]))
        for letter, quantity in told.items():
            lists[letter] += told_rows(article, quantity)
    for article in [*odd[:10], *agreed_wrong, found_late, articles[-3]]:
        when = START + timedelta(hours=5, minutes=RNG.randrange(170))
        lists["R"].append([article.sku, article.counted, f"{when:%H:%M}", RNG.choice("KMT")])
    for article in [*odd[10:14], *lone]:
        article.counted, article.open_for = None, "counts disagree"
    for article in absent:
        article.counted, article.open_for = None, "not counted"
    for sku, quantity in (("HL-2207", 9), ("HL-1903", 14)):  # on the shelf, not on the book
        for letter in "AB":
            lists[letter].insert(RNG.randrange(80), [sku, "shelf", quantity, "pcs"])
    RNG.shuffle(lists["B"])
    return lists


def told_rows(article: Article, quantity: int) -> list[list[object]]:
    """One or two places, pieces or cartons, the way the counters write."""
    places = [("shelf", quantity)]
    if RNG.random() < 0.12 and quantity > 8:
        up = RNG.randint(2, quantity // 2)
        places = [("shelf", quantity - up), ("overflow", up)]
    rows: list[list[object]] = []
    for place, pieces in places:
        cartons, loose = divmod(pieces, article.pack)
        told: list[object] = [pieces, "pcs"]
        if article.pack > 1 and cartons and RNG.random() < 0.3:
            told = [f"{cartons} ctn + {loose} pcs", ""] if loose else [cartons, "ctn"]
        elif RNG.random() < 0.05:
            told = [f"{pieces} pcs", ""]
        rows.append([shabby(article.sku), place, *told])
    return rows


FORM = {
    "form": "CF-12 rev. 3",
    "unit": "millimetres from the top left corner of the upright sheet, x to the right, y down",
    "sheet": [210, 297],
    "marks": {
        "side": 7,
        "centres": {
            "top_left": [12, 12],
            "top_right": [198, 12],
            "bottom_left": [12, 285],
            "bottom_right": [198, 285],
        },
    },
    "bubbles": {
        "diameter": 3.8,
        "pitch": 4.6,
        "x_of_digit_0": {"hundreds": 56.0, "tens": 104.0, "units": 152.0},
        "note": "digits 0 to 9 from left to right, one pitch apart; y is that of the row",
    },
    "reading": "pieces; one black bubble in each of the three groups. A bubble that was rubbed out "
    "stays grey and does not count. A row without any black bubble was not counted.",
}
SCALE = 8  # pixels per millimetre while drawing; the scan has half of that


def write_form(articles: list[Article]) -> None:
    """The form's template, and aisle 7 as it came out of the scanner."""
    rows = [
        {"row": i + 1, "sku": article.sku, "y": 70.0 + 14.0 * i}
        for i, article in enumerate(articles)
    ]
    (FILES / "count_form_template.json").write_text(
        json.dumps(FORM | {"rows": rows}, indent=2) + "\n", encoding="utf-8"
    )
    sheet = Image.new("L", (210 * SCALE, 297 * SCALE), 236)
    draw = ImageDraw.Draw(sheet)
    for x, y in FORM["marks"]["centres"].values():
        square = [(x - 3.5) * SCALE, (y - 3.5) * SCALE, (x + 3.5) * SCALE, (y + 3.5) * SCALE]
        draw.rectangle(square, fill=12)
    font = ImageFont.load_default(4.4 * SCALE)
    draw.text((30 * SCALE, 26 * SCALE), "Count form CF-12", 25, ImageFont.load_default(9 * SCALE))
    draw.text(
        (30 * SCALE, 42 * SCALE), "Aisle 7   29 November 2025   counted by K. and M.", 40, font
    )
    erased = {rows[3]["sku"], rows[8]["sku"]}
    for row, article in zip(rows, articles, strict=True):
        draw.text((14 * SCALE, (row["y"] - 2.5) * SCALE), article.sku, 40, font)
        digits = [] if article.counted is None else [int(d) for d in f"{article.counted:03d}"]
        for group, x0 in enumerate(FORM["bubbles"]["x_of_digit_0"].values()):
            for digit in range(10):
                x, y = (x0 + 4.6 * digit) * SCALE, row["y"] * SCALE
                box = [x - 1.9 * SCALE, y - 1.9 * SCALE, x + 1.9 * SCALE, y + 1.9 * SCALE]
                filled = bool(digits) and digits[group] == digit
                rubbed = group == 2 and article.sku in erased and digit == (digits[2] + 4) % 10
                fill = RNG.randint(35, 60) if filled else 165 if rubbed else None
                draw.ellipse(box, outline=120, width=2, fill=fill)
    scan(sheet).save(FILES / "aisle7_scan.jpg", quality=58)


def scan(sheet: Image.Image) -> Image.Image:
    """Tilt, shade, blur and roughen a clean sheet."""
    tilted = sheet.rotate(2.6, Image.Resampling.BICUBIC, expand=True, fillcolor=205)
    small = tilted.resize((tilted.width // 2, tilted.height // 2), Image.Resampling.LANCZOS)
    pixels = np.asarray(small.filter(ImageFilter.GaussianBlur(1.1)), dtype=float)
    height, width = pixels.shape
    shade = np.linspace(1.0, 0.82, width)[None, :] * np.linspace(1.0, 0.93, height)[:, None]
    noise = np.random.RandomState(7).normal(0, 8, pixels.shape)
    return Image.fromarray(np.clip(pixels * shade + noise, 0, 255).astype(np.uint8))


def write_workbook(
    articles: list[Article], lists: dict[str, list[list[object]]], movements: list[list[object]]
) -> None:
    """All sheets, with the manager's early summary that fits none of them."""
    form_total = sum(a.counted or 0 for a in articles if a.aisle == 7)
    counted = ["SKU", "Place", "Qty", "Unit"]
    sheets = {
        "Read me": [
            ["Stocktake 29 November 2025, Harbour Lights Chandlery"],
            ["Book: stock as of Friday 28 November, 18:00, in pieces"],
            ["Count A, Count B: two teams, every aisle but 7, from Saturday 08:00"],
            ["Aisle 7 was counted by both teams together on a form; only the scan is left."],
            [f"Aisle 7, sum of all pieces on the form: {form_total}"],
            ["Which figure counts where two disagree: stocktake_procedure.docx"],
        ],
        "Summary": early_summary(articles),
        "Book": [
            ["SKU", "Article", "Aisle", "Pack size", "Book qty", "Unit cost EUR"],
            *([a.sku, a.name, a.aisle, a.pack, a.book, float(a.list_cost)] for a in articles),
        ],
        "Count A": [counted, *lists["A"]],
        "Count B": [counted, *lists["B"]],
        "Recounts": [["SKU", "Pieces", "Time", "By"], *lists["R"]],
        "Movements": [["Document", "Time", "SKU", "Kind", "Pieces"], *movements],
        "Costs Oct 2025": [
            ["SKU", "Unit cost EUR"],
            *([a.sku, float(a.cost)] for a in articles if a.cost != a.list_cost),
        ],
    }
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    save_office(book, FILES / "stocktake.xlsx", WRITTEN)


def early_summary(articles: list[Article]) -> list[list[object]]:
    """What the manager typed at noon: before recounts, at old costs, movements forgotten."""
    rows: list[list[object]] = [["Aisle", "Net difference EUR"], ["typed Saturday 12:15, T."]]
    for aisle in range(1, 7):
        gaps = [a for a in articles if a.aisle == aisle and a.counted is not None]
        rows.append([aisle, float(sum((a.counted - a.book) * a.list_cost for a in gaps))])
    return rows


def write_procedure() -> None:
    """The rules, as an office document: headings and paragraphs."""
    document = document_of(blocks_of(Path(__file__).parent / "procedure.md"))
    save_office(document, FILES / "stocktake_procedure.docx", WRITTEN)


def print_expected(articles: list[Article], recounted: set[str]) -> None:
    """Print what task.yaml expects, from the truth alone."""
    for a in articles:
        if a.counted is None:
            print([a.sku, a.expected, "", "", float(a.cost), "", "open"], a.open_for, a.aisle)
        elif a.difference:
            row = [a.sku, a.expected, a.counted, a.difference, float(a.cost), float(a.value)]
            print([*row, a.status], a.account if a.status == "post" else "")
    closed = [a for a in articles if a.counted is not None]
    print("ok", [a.sku for a in closed if a.difference == 0][::9])
    print("recounted", [[a.sku, a.counted, a.status] for a in closed if a.sku in recounted])
    for aisle in [*range(1, 8), "Total"]:
        mine = [a for a in articles if aisle in (a.aisle, "Total")]
        wrong = [a for a in mine if a.counted is not None and a.difference]
        unsettled = sum(a.counted is None for a in mine)
        print([aisle, len(mine), len(wrong), unsettled, float(sum(a.value for a in wrong))])
    posted = [a.value for a in closed if a.status == "post"]
    gain, loss = sum(v for v in posted if v > 0), sum(v for v in posted if v < 0)
    print("posted", len(posted), "gain", gain, "loss", loss, "net", gain + loss)
    print("approve", [(a.sku, a.difference, a.value) for a in closed if a.status == "approve"])


def main() -> None:
    FILES.mkdir(exist_ok=True)
    articles = draw_articles()
    movements = move(articles)
    lists = count(articles)
    recounted = articles[-3]  # the form of aisle 7 says less than the recount
    blank = articles[-6]
    blank.counted, blank.open_for = None, "not counted"
    truth = recounted.counted
    recounted.counted = truth - 5
    write_form([a for a in articles if a.aisle == 7])
    write_workbook(articles, lists, movements)
    recounted.counted = truth
    write_procedure()
    print_expected(articles, {row[0] for row in lists["R"]})


if __name__ == "__main__":
    main()
