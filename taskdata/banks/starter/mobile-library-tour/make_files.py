"""Write files/: stops, driving times, notes and mails for a tour of a mobile library.

The truth is the plan below as it is after all mails; the files have what it was before, typed by
several people. `python make_files.py --expected` prints what task.yaml expects.
"""

import json
import random
import sys
from datetime import datetime
from itertools import combinations
from pathlib import Path

from taskdata.banks.making import fill_in, save_office

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
WRITTEN = datetime(2026, 5, 5, 8, 0)
SEED = 514

# Code, name, minutes open, window; what counts after the mails
STOPS = {
    "ULV": ("Ulvsta", 20, "08:45", "12:00"),
    "BRE": ("Brenning school", 25, "10:15", "11:05"),
    "EKE": ("Ekeby", 35, "09:00", "16:00"),
    "LUN": ("Lund", 20, "09:00", "12:00"),
    "VIK": ("Vike, Solgarden", 45, "13:00", "15:30"),
    "SAN": ("Sando", 25, "09:30", "15:00"),
    "NYB": ("Nybro", 30, "11:00", "16:00"),
    "KAL": ("Kallinge", 25, "08:45", "17:00"),
    "MOS": ("Mossen", 20, "11:00", "16:40"),
}
ASKED = {"HAS": ("Hasslo", 25, "09:00", "16:00"), "GRA": ("Granvik", 15, "11:00", "14:30")}
# How the stops that the mails change stand in the list.
BEFORE = {
    "BRE": ("Brenning school", 40, "09:40", "10:20"),
    "VIK": ("Vike, Solgarden", 30, "12:15", "15:30"),
    "TOR": ("Torp", 20, "09:00", "15:00"),
}
PLACES = ["DEP", *STOPS, "TOR", *ASKED]
XY = {
    "DEP": (30, 30), "ULV": (12, 44), "BRE": (22, 52), "EKE": (42, 44), "LUN": (46, 34),
    "VIK": (52, 22), "SAN": (36, 16), "NYB": (26, 10), "KAL": (14, 16), "MOS": (8, 8),
    "TOR": (18, 34), "HAS": (56, 32), "GRA": (30, 12),
}  # fmt: skip


def listed_minutes() -> dict[tuple[str, str], int]:
    """Driving times as in the table, before the road works; one entry for each pair."""
    rng = random.Random(SEED)
    found = {}
    for a, b in combinations(PLACES, 2):
        (x, y), (v, w) = XY[a], XY[b]
        found[a, b] = round(((x - v) ** 2 + (y - w) ** 2) ** 0.5 * 0.85) + rng.randint(2, 5)
    found["ULV", "BRE"] = 12
    return found


def minutes() -> dict[tuple[str, str], int]:
    """Driving times as they are on the day, in both directions."""
    one_way = listed_minutes() | {("ULV", "BRE"): 26}
    both = one_way | {(b, a): m for (a, b), m in one_way.items()}
    both["KAL", "MOS"] += 5
    return both


def clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def minute(text: str) -> int:
    return int(text[:2]) * 60 + int(text[3:])


def plans(stops: dict, drive: dict[tuple[str, str], int]) -> list[dict]:
    """Every tour that keeps the rules, best first."""
    windows = {c: (s[1], minute(s[2]), minute(s[3])) for c, s in stops.items()}
    kept = []

    def go_on(
        at: str, now: int, tour: list[dict], pause: tuple[str, int] | None, wait: int
    ) -> None:
        left = set(windows) - {t["stop"] for t in tour}
        if not left:
            total = sum(t["drive_minutes"] for t in tour) + drive[at, "DEP"]
            if now + drive[at, "DEP"] <= 17 * 60 + 30:
                back = now + drive[at, "DEP"]
                kept.append(
                    {"tour": tour, "drive": total, "back": back, "break": pause, "wait": wait}
                )
            return
        for code in sorted(left):
            stay, first, last = windows[code]
            arrive = now + drive[at, code]
            opened = max(arrive, first)
            closed = opened + stay
            if closed > last:
                continue
            row = {"stop": code, "arrive": arrive, "open": opened, "close": closed}
            row["drive_minutes"] = drive[at, code]
            rests = pause is None and closed >= 11 * 60 + 30
            if rests and closed > 13 * 60 + 15:
                continue
            go_on(code, closed + 30 * rests, [*tour, row], (code, closed) if rests else pause,
                  wait + opened - arrive)  # fmt: skip

    go_on("DEP", 8 * 60 + 30, [], None, 0)
    return sorted(kept, key=lambda p: (p["drive"], p["back"]))


def print_plan(title: str, found: list[dict]) -> None:
    print("##", title, len(found), "tours")
    for p in found[:3]:
        rows = [[t["stop"], *(clock(t[k]) for k in ("arrive", "open", "close"))] for t in p["tour"]]
        drives = [t["drive_minutes"] for t in p["tour"]]
        print(json.dumps(rows), drives, p["drive"], clock(p["back"]), p["wait"], p["break"])


def print_expected() -> None:
    drive = minutes()
    print_plan("base", plans(STOPS, drive))
    for code, stop in ASKED.items():
        print_plan(code, plans(STOPS | {code: stop}, drive))


def write_stops() -> None:
    rng = random.Random(SEED + 1)
    rows = ["code;stop;open for;window;since"]
    for code, (name, stay, first, last) in sorted((STOPS | BEFORE).items(), key=lambda s: s[1]):
        a, b = first.lstrip("0"), last
        window = rng.choice(
            [f"{a}-{b}", f"{a} - {b}", f"{a.replace(':', '.')} to {b}", f"{first}–{b}"]
        )
        shown = rng.choice([f"{stay}", f"{stay} min", f"{stay} minutes"])
        rows.append(f"{code};{name};{shown};{window.replace(':00', '')};{rng.randint(1998, 2024)}")
    (FILES / "stops.csv").write_bytes(("\r\n".join(rows) + "\r\n").encode("utf-8-sig"))


def write_driving_times() -> None:
    from openpyxl import Workbook

    rng = random.Random(SEED + 2)
    listed, known = listed_minutes(), PLACES[: -len(ASKED)]
    book = Workbook()
    sheet = book.active
    sheet.title = "Minutes"
    sheet.append(["Driving times, both directions are the same; only one half is filled in"])
    sheet.append([None, *known])
    for number, a in enumerate(known):
        row = [listed[a, b] for b in known[number + 1 :]]
        row = [rng.choice([m, m, m, f"{m} min", f"0:{m:02d}"]) for m in row]
        sheet.append([a, *[None] * number, "-", *row])
    book.create_sheet("2019 (old van)").append(["Kept for the archive, times of the old van"])
    for a, b in combinations(known[:8], 2):
        book["2019 (old van)"].append([a, b, listed[a, b] + rng.randint(2, 6)])
    save_office(book, FILES / "driving_times.xlsx", WRITTEN)


def write_texts() -> None:
    drive = minutes()
    told = {f"{a}_{b}": drive[a, b] for a in ASKED for b in PLACES if a != b}
    for name in ("planning_notes.md", "mails.txt"):
        fill_in(TEXTS / name, FILES / name, **told)


if __name__ == "__main__":
    if "--expected" in sys.argv:
        print_expected()
    else:
        FILES.mkdir(exist_ok=True)
        write_stops()
        write_driving_times()
        write_texts()
