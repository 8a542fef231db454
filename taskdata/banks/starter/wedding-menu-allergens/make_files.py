"""Write the input files of this task: `python make_files.py`; prints the expected values.

Rules, recipes and products are in sources/ (the products with their letters, given by hand);
delivery_note.txt and mail_chef.txt in files/ are written by hand. What every guest gets is worked
out from the letters, so the expected values never pass through code that reads ingredients.
"""

import csv
import random
from collections import Counter
from datetime import datetime
from pathlib import Path

from docx import Document
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

from taskdata.banks.making import save_office, write_csv

HERE = Path(__file__).parent
FILES = HERE / "files"
WRITTEN = datetime(2026, 6, 18, 8, 0)
COURSES = {"starter": ["S1", "S2", "S3"], "main": ["M1", "M2", "M3"], "dessert": ["D1", "D2", "D3"]}
# As delivered and as the chef cooks; only these make a difference.
REPLACED = {"1120": "1125", "2201": "2203", "2250": "2252", "3305": "3309", "4110": "4111"}
REPLACED |= {"6101": "6103", "6120": "6122"}
CHANGED = {"S2": ["B1", "2255"], "D2": ["6103", "6105", "4120", "3303"]}
# Guest: letters, severe, what the guest wrote, dishes ordered.
ALLERGIC = {
    2: ("H", True, "allergic to NUTS, carries EpiPen", "S1 M2 D2"),
    5: ("G", False, "lactose, no dairy please", "S3 M2 D3"),
    7: ("A", True, "coeliac", "S3 M1 D1"),
    9: ("C", False, "egg", "S2 M2 D3"),
    11: ("N", True, "sesame!! (anaphylaxis 2023)", "S1 M2 D2"),
    14: ("L", False, "celery", "S2 M3 D2"),
    16: ("M", False, "mustard, mild", "S1 M3 D1"),
    18: ("E", True, "peanut - severe", "S3 M2 D1"),
    20: ("F", False, "soya", "S1 M1 D1"),
    22: ("O", False, "sulphites (headache)", "S3 M1 D3"),
    23: ("G", True, "milk protein, severe", "S2 M3 D3"),
    24: ("B", False, "shrimps and the like", "S2 M3 D2"),
}
CANCELLED = (4, 19)
REORDERED = {
    7: "S2 M1 D2",
    11: "S3 M3 D2",
    15: "S1 M1 D1",
    22: "S1 M1 D1",
}  # first lines, overtaken
RNG = random.Random(620)


def products() -> list[dict[str, str]]:
    with (HERE / "sources" / "products.csv").open(encoding="utf-8") as table:
        return list(csv.DictReader(table, delimiter=";"))


def recipes() -> list[list[str]]:
    text = (HERE / "sources" / "recipes.md").read_text(encoding="utf-8")
    return [line.split(" | ") for line in text.splitlines()]


def letters() -> dict[str, tuple[set[str], set[str]]]:
    """Dish: letters it contains, and traces."""
    by_number = {row["number"]: (set(row["contains"]), set(row["traces"])) for row in products()}
    parts = {name: CHANGED.get(name, text.split(", ")) for name, _, text in recipes()}

    def of(name: str) -> tuple[set[str], set[str]]:
        if name not in parts:
            return by_number.get(REPLACED.get(name, name), (set(), set()))
        found = [of(part) for part in parts[name]]
        return set().union(*(c for c, _ in found)), set().union(*(t for _, t in found))

    both = {dish: of(dish) for dishes in COURSES.values() for dish in dishes}
    return {dish: (contains, traces - contains) for dish, (contains, traces) in both.items()}


def orders() -> dict[int, str]:
    return {
        n: ALLERGIC[n][3] if n in ALLERGIC else " ".join(RNG.choice(d) for d in COURSES.values())
        for n in range(1, 27)
    }


def expected(ordered: dict[int, str]) -> None:
    found, portions = letters(), Counter()
    for dish, (contains, traces) in found.items():
        print({"dish": dish, "contains": sorted(contains), "traces": sorted(traces)})
    for n, wanted in ordered.items():
        if n in CANCELLED:
            continue
        own, severe, *_ = ALLERGIC.get(n, ("", False))
        gets = []
        for want, dishes in zip(wanted.split(), COURSES.values(), strict=True):
            out = {d for d, (c, t) in found.items() if own and own in (c | t if severe else c)}
            gets.append(next((d for d in [want, *dishes] if d not in out), "Kitchen"))
        portions.update(gets)
        if n in ALLERGIC:
            print(f"G{n:02d}", own, "severe" if severe else "", wanted, "->", *gets)
    print(sorted(portions.items()))


def write_guests(ordered: dict[int, str]) -> None:
    rows = []
    for n, wanted in ordered.items():
        wrote = ALLERGIC[n][2] if n in ALLERGIC else RNG.choice(["", "", "-", "none", "vegetarian"])
        for number, dishes in enumerate([*filter(None, [REORDERED.get(n)]), wanted]):
            day = RNG.randint(2, 14) if number or n not in REORDERED else 1
            state = "cancelled" if n in CANCELLED else RNG.choice(["yes", "Yes", "comes"])
            spelt = [RNG.choice([d, d, d.lower(), f" {d}"]) for d in dishes.split()]
            rows.append([f"G{n:02d}", 1 + n % 4, state, *spelt, wrote, f"2026-06-{day:02d}"])
            if n in CANCELLED:
                rows.insert(-1, [*rows[-1][:2], "yes", *rows[-1][3:-1], "2026-05-20"])
    rows.sort(key=lambda row: row[-1])
    write_csv(
        FILES / "guests.csv",
        [["guest", "table", "comes", "starter", "main", "dessert", "allergies", "entered"], *rows],
        delimiter=";",
    )


def write_specs() -> None:
    style = getSampleStyleSheet()
    rows = [["No.", "Product", "Ingredients", "May contain"]]
    for row in products():
        texts = (row["name"], row["ingredients"], row["may contain"] or "-")
        rows.append([row["number"], *(Paragraph(text, style["BodyText"]) for text in texts)])
    grid = [("GRID", (0, 0), (-1, -1), 0.4, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    table = Table(rows, [36, 110, 240, 90], repeatRows=1, style=grid)
    title = Paragraph("Product specifications, Grossmarkt West and others", style["Title"])
    target = str(FILES / "product_specs.pdf")
    SimpleDocTemplate(target, pagesize=A4, title="Specifications", invariant=1).build(
        [title, table]
    )


def write_papers() -> None:
    rules, book = Document(), Document()
    for line in (HERE / "sources" / "rules.md").read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark in ("#", "##"):
            rules.add_heading(rest, len(mark) - 1)
        else:
            rules.add_paragraph(line)
    book.add_heading("Recipes for the wedding of 20 June", 0)
    book.add_paragraph("Numbers are products of the specifications, B1 to B6 are bases.")
    for name, title, parts in recipes():
        book.add_heading(f"{name} {title}", 2)
        for part in parts.split(", "):
            book.add_paragraph(part, style="List Bullet")
    for name, document in (("kitchen_rules.docx", rules), ("recipes.docx", book)):
        save_office(document, FILES / name, WRITTEN)


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    everything = orders()
    write_guests(everything)
    write_specs()
    write_papers()
    expected(everything)
