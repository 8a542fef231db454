"""Write the input files of this task: `python make_files.py`; prints the expected values.

The text of the standard is in sources/, mail_warden.txt in files/ is written by hand.
The path's true heights are drawn up first and spoilt into the survey log, so the expected values
never pass through any code that cleans it.
"""

import math
import random
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from openpyxl import Workbook
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

from taskdata.banks.making import save_office, write_csv

HERE = Path(__file__).parent
FILES = HERE / "files"
WRITTEN = datetime(2026, 5, 4, 8, 0)
STEP, POINTS = 0.25, 59
# Kilometre and height of the bends of the true profile.
SHAPE = [(0, 182), (2, 238), (2.75, 321), (3.75, 402), (4.5, 386), (6, 471), (7, 458), (8.25, 549)]
SHAPE += [(9.5, 655), (10.25, 570), (11, 592), (11.75, 433), (13, 301), (13.5, 322), (14.5, 214)]
# The places that are named on signs now; Moss Hut (km 6) is struck by the warden.
PLACES = {0: "Hawsby", 2: "Scar Bridge", 3.75: "Low Tarn", 8.25: "High Tarn", 9.5: "Raven Edge"}
PLACES |= {11.75: "Upper Fold", 14.5: "Brackenrigg Halt"}
POSTS = {"P1": 0, "P3": 3.75, "P4": 8.25, "P5": 9.5, "P6": 11.75, "P7": 14.5}
SURFACE = [(0, 2, "track"), (2, 5.5, "path"), (5.5, 7, "boardwalk"), (7, 8.25, "path")]
SURFACE += [(8.25, 11.75, "path"), (11.75, 14.5, "track")]
LOST = {9: 0, 18: 999, 29: 0, 41: 0, 42: 0, 43: 0, 52: 1999}  # point: what the device showed
FEET, TWICE, DAY_ONE = range(34, 41), (12, 30, 48), range(24)
ALTIMETER = 64  # metres too high on the first day


def heights() -> list[int]:
    rng = random.Random(1447)
    bends = {km for km, _ in SHAPE}
    found = []
    for km in (STEP * n for n in range(POINTS)):
        (a, low), (b, high) = next(p for p in pairwise(SHAPE) if p[1][0] >= km)
        wobble = 0 if km in bends else rng.choice([-9, -5, 4, 8, 11])
        found.append(round(low + (high - low) * (km - a) / (b - a)) + wobble)
    return found


def minutes(line: list[tuple[float, int]], start: float, end: float) -> float:
    """The standard's rule with the warden's pace, along the points that were measured."""
    part = [p for p in line if min(start, end) <= p[0] <= max(start, end)]
    part = part if start < end else part[::-1]
    steps = [b[1] - a[1] for a, b in pairwise(part)]
    up, down = sum(s for s in steps if s > 0), -sum(s for s in steps if s < 0)
    flat, height = abs(end - start) / 3.6, up / 300 + down / 500
    return 60 * (max(flat, height) + min(flat, height) / 2)


def on_sign(value: float) -> str:
    assert 0.15 < value % 5 < 4.85, value  # no doubt about the rounding
    full = 5 * math.ceil(value / 5)
    return f"{full} min" if full < 60 else f"{full // 60} h {full % 60:02d}"


def expected() -> None:
    line = [(STEP * n, h) for n, h in enumerate(heights()) if n not in LOST]
    height = dict(line)
    for post, km in POSTS.items():
        before, after = sorted(k for k in PLACES if k < km), sorted(k for k in PLACES if k > km)
        ends = [*dict.fromkeys([*before[-1:], *before[:1], *after[:1], *after[-1:]])]
        times = [(PLACES[k], on_sign(minutes(line, km, k))) for k in ends]
        print(post, PLACES[km], f"{height[km]} m", times)
    steps = [b[1] - a[1] for a, b in pairwise(line)]
    print("ascent", sum(s for s in steps if s > 0))
    area = sum((a[1] + b[1] - 300) / 2 * (b[0] - a[0]) for a, b in pairwise(line))
    print("green share", round(0.9 * 0.65 * area / 550 / 14.5, 4))


def write_survey() -> None:
    rng = random.Random(77)
    rows = []
    for n, height in enumerate(heights()):
        day, shown = (1, height + ALTIMETER) if n in DAY_ONE else (2, height)
        clock = f"{9 + n % 24 // 4}:{7 + 11 * (n % 4):02d}"
        km = f"{STEP * n:.2f}".replace(".", rng.choice(",,."))
        if n in TWICE:
            early = f"{8 + n % 24 // 4}:{clock[-2:]}"
            rows.append([n, km, shown + rng.choice([-57, 83]), "ok", f"day {day} {early}"])
        text = (
            f"{round(shown / 0.3048)} ft" if n in FEET else rng.choice(["{}", "{} m"]).format(shown)
        )
        fix = "lost" if n in LOST else rng.choice(["ok", "ok", "OK"])
        rows.append([n, km, LOST.get(n, text), fix, f"day {day} {clock}"])
    rng.shuffle(rows)
    write_csv(
        FILES / "survey_log.csv", [["point", "km", "height", "fix", "when"], *rows], delimiter=";"
    )


def write_posts() -> None:
    book = Workbook()
    posts, places, surface = book.active, book.create_sheet("Places"), book.create_sheet("Surface")
    posts.title = "Posts"
    posts.append(["Post", "km", "Stands at", "Owner agreed"])
    old = {"P1": (0, "Hawsby"), "P2": (2, "Scar Bridge"), "P3": (3.75, "Low Tarn")}
    old |= {"P4": (6, "Moss Hut"), "P5": (9.5, "Raven Edge"), "P6": (11.75, "Upper Fold")}
    for post, (km, place) in (old | {"P7": (14.5, "Brackenrigg")}).items():
        posts.append([post, km, place, "pending" if post == "P2" else "yes"])
    places.append(["Place", "km"])
    for km, name in sorted((PLACES | {6: "Moss Hut", 14.5: "Brackenrigg"}).items()):
        places.append([name, km])
    surface.append(["from km", "to km", "surface"])
    for row in SURFACE:
        surface.append(row)
    save_office(book, FILES / "posts.xlsx", WRITTEN)


COLOURS = [["Chalk", "#F4F1E8"], ["Ink", "#1F2A30"], ["Moor", "#4F7A3A"], ["path", "#8A6B47"]]
COLOURS += [["track", "#9AA3A8"], ["boardwalk", "#D9A441"]]


def write_standard() -> None:
    styles = getSampleStyleSheet()
    story: list[object] = []
    for line in (HERE / "sources" / "standard.md").read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark in ("#", "##"):
            story.append(Paragraph(rest, styles["Title" if mark == "#" else "Heading2"]))
            story.append(Paragraph("", styles["BodyText"]))
        else:
            story[-1] = Paragraph(f"{story[-1].text} {line}".strip(), styles["BodyText"])
    story += [Paragraph("5 Colours", styles["Heading2"]), Table(COLOURS, hAlign="LEFT")]
    target = str(FILES / "signing_standard.pdf")
    SimpleDocTemplate(target, pagesize=A4, title="Signing standard", invariant=1).build(story)


def main() -> None:
    FILES.mkdir(exist_ok=True)
    write_survey()
    write_posts()
    write_standard()
    expected()


if __name__ == "__main__":
    main()
