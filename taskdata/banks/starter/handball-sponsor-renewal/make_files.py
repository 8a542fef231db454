"""Write the input files of this task: `python make_files.py`; prints the expected values.

Texts and matches are in sources/, mail_mira.txt in files/ is written by hand. What was delivered is
drawn up first and logged the way logs are, so the expected values never pass through code that
cleans them.
"""

import csv
import random
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from docx import Document
from openpyxl import Workbook
from reportlab.lib.pagesizes import A4
from reportlab.platypus import SimpleDocTemplate

from taskdata.banks.making import save_office, story_of, write_csv

HERE = Path(__file__).parent
FILES = HERE / "files"
WRITTEN = datetime(2026, 6, 8, 8, 0)
RNG = random.Random(815)
# Home match: opponent, competition, seconds on the boards, seats offered, half-time game.
with (HERE / "sources" / "matches.csv").open(encoding="utf-8") as table:
    _, *found = csv.reader(table)
MATCHES = {day: (name, cup, int(s), int(seats), game) for day, name, cup, s, seats, game in found}
FRIENDLIES = {"2025-08-16": "Bremen Select", "2026-01-05": "Aarhus U23"}
RIGHTS = {"R1": 30000, "R2": 18000, "R3": 16000, "R4": 9000, "R5": 6000, "R6": 5000}
POSTS = 41
OTHERS = ["Sparkasse", "Bäckerei Tamke", "Nordlicht Apotheke", "Autohaus Klee"]


def expected() -> None:
    owed = {day: 360 if day < "2026" else 480 for day in MATCHES}
    shown = sum(min(m[2], owed[day]) for day, m in MATCHES.items())
    open_doors = [m for day, m in MATCHES.items() if day != "2026-02-14"]
    agreed = {"R1": sum(owed.values()), "R2": 48, "R3": 16 * len(open_doors)}
    agreed |= {"R4": len(open_doors), "R5": 16, "R6": 4}
    done = {"R1": shown, "R2": POSTS, "R3": sum(min(m[3], 16) for m in open_doors)}
    done |= {"R4": sum(m[4] == "held" for m in open_doors), "R5": 17, "R6": 3}
    value = RIGHTS | {"R1": 34000, "R5": 4800}
    credits, prices = {}, {"R7": Decimal(7500)}
    for right in agreed:
        part = min(Decimal(done[right]) / agreed[right], Decimal(1))
        short = part < Decimal("0.95")
        credits[right] = round(value[right] * (1 - part), 2) if short else Decimal(0)
        prices[right] = value[right] * (1 if short else Decimal("1.03"))
        print(right, agreed[right], done[right], f"{100 * part:.1f}", credits[right], prices[right])
    total = sum(v for k, v in prices.items() if k != "R6")
    due = total - sum(credits.values())
    print("R1 in minutes", agreed["R1"] / 60, f"{shown / 60:.1f}", "credit", sum(credits.values()))
    first = round(due * Decimal("0.6"), 2)
    print("offer", total, "due", due, "parts", first, due - first)


def shown_as(seconds: int) -> str:
    clock = f"{seconds // 60}:{seconds % 60:02d}"
    return RNG.choice([clock, clock, f"{seconds} s", f"0:{seconds // 60:02d}:{seconds % 60:02d}"])


def day_as(day: str) -> str:
    return RNG.choice([day, date.fromisoformat(day).strftime("%d.%m.%y")])


def split(seconds: int, parts: int) -> list[int]:
    cuts = sorted(RNG.sample(range(15, seconds - 15), parts - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, seconds], strict=True)]


def write_led() -> None:
    rows = []
    for day, (opponent, competition, seconds, *_) in MATCHES.items():
        logged = 95 if day == "2025-11-22" else seconds
        block = [["Nordlicht Energie", s, ""] for s in split(logged, RNG.randint(3, 5))]
        block += [[RNG.choice(OTHERS), RNG.randint(40, 130), ""] for _ in range(3)]
        block.append(["Nordlicht Energie", RNG.choice([30, 60, 90]), "test before doors"])
        RNG.shuffle(block)
        for number, (sponsor, length, note) in enumerate(block, 1):
            spelt = ["NORDLICHT ENERGIE", "Nordlicht energie eG "] if "Energie" in sponsor else []
            name = RNG.choice([sponsor, *spelt])
            where = [day_as(day), opponent, competition, f"{day[5:7]}{day[8:]}-{number}"]
            rows.append([*where, name, shown_as(length), note])
            if day in ("2025-12-06", "2026-03-07"):  # uploaded twice
                rows.append(rows[-1])
    for day, opponent in FRIENDLIES.items():
        where = [day_as(day), opponent, "Friendly", f"{day[5:7]}{day[8:]}-1"]
        rows.append([*where, "Nordlicht Energie", shown_as(345), ""])
    write_csv(
        FILES / "led_log.csv",
        [["date", "opponent", "competition", "showing", "sponsor", "shown", "note"], *rows],
        ";",
    )


def write_social() -> None:
    tags = [
        "@nordlicht_energie",
        "#TeamNordlicht",
        "#hsg #teamnordlicht",
        "@Nordlicht_Energie #hsg",
    ]
    rows = []

    def post(kind: str, tag: str, state: str, copies: int = 1, when: date | None = None) -> None:
        when = when or date(2025, 8, 2) + timedelta(RNG.randrange(300))
        content = f"C{RNG.randrange(10**5):05d}"
        for channel in RNG.sample(["Instagram", "Facebook", "TikTok"], copies):
            rows.append([when.isoformat(), channel, kind, content, tag, state])

    for n in range(POSTS):
        post(["post", "Post", "reel"][n % 3], RNG.choice(tags), "online", 1 + (n % 5 in (1, 3)))
    for kind, tag, state, number in (
        *(("story", tags[0], "online", 12), ("repost", tags[1], "online", 7)),
        *(("post", tags[0], "deleted", 5), ("reel", "@nordlicht_apotheke", "online", 6)),
        *(("post", "#nordlichter", "online", 3), ("post", "#hsg #derby", "online", 15)),
    ):
        for _ in range(number):
            post(kind, tag, state)
    for day in (date(2025, 7, 19), date(2025, 7, 28), date(2026, 6, 2)):
        post("post", tags[1], "online", when=day)
    rows.sort()
    write_csv(
        FILES / "social_export.csv",
        [["date", "channel", "type", "content", "tags", "state"], *rows],
        ";",
    )


def write_activities() -> None:
    book = Workbook()
    seats, other = book.active, book.create_sheet("Activities")
    seats.title = "Seats"
    seats.append(["Match", "Opponent", "Seats offered", "Seats used"])
    everything = {d: (m[0], m[3]) for d, m in MATCHES.items()}
    everything |= {d: (f"{name} (friendly)", 16) for d, name in FRIENDLIES.items()}
    for day, (opponent, offered) in sorted(everything.items()):
        used = max(0, offered - RNG.randint(0, 6))
        seats.append([date.fromisoformat(day), opponent, offered, used])
    rows = [[d, "Half-time game", m[4]] for d, m in MATCHES.items() if m[4]]
    rows.append(["2026-01-05", "half-time game", "held (friendly)"])
    for n in range(19):
        day = date(2025, 8, 8) + timedelta(16 * n)
        note = "template broken, no banner" if n in (4, 11) else "with banner"
        rows.append([day.isoformat(), "Newsletter", note])
    rows += [["2025-10-14", "Visit", "held"], ["2026-01-27", "Visit", "cancelled, snow"]]
    rows += [["2026-03-12", "Visit", "held"], ["2026-05-05", "visit", "held, 3 players"]]
    rows += [["2026-06-09", "Visit", "held"]]
    other.append(["Date", "What", "Note"])
    for day, *rest in sorted(rows):
        other.append([date.fromisoformat(day), *rest])
    save_office(book, FILES / "seats_and_activities.xlsx", WRITTEN)


def lines(name: str) -> list[tuple[str, str]]:
    """The mark (#, ##, @table, | or none) and text of every line."""
    text = (HERE / "sources" / name).read_text(encoding="utf-8")
    return [re.fullmatch(r"(#+|@table|\|)? ?(.*)", line).groups("") for line in text.splitlines()]


def write_papers() -> None:
    document = Document()
    for mark, text in lines("contract.md"):
        if mark == "@table":
            table = document.add_table(0, 4, style="Table Grid")
        elif mark == "|":
            for cell, value in zip(table.add_row().cells, text.split(" | "), strict=True):
                cell.text = value
        elif mark:
            document.add_heading(text, len(mark) - 1)
        else:
            document.add_paragraph(text)
    save_office(document, FILES / "contract.docx", WRITTEN)
    story = story_of((HERE / "sources" / "addendum.md").read_text(encoding="utf-8").splitlines())
    SimpleDocTemplate(str(FILES / "addendum_1.pdf"), pagesize=A4, invariant=1).build(story)


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    write_led()
    write_social()
    write_activities()
    write_papers()
    expected()
