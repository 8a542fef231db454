"""Write files/: a week of four vaccine fridges as four loggers tell it, each with its own faults.

The truth is one series per fridge in UTC. What task.yaml expects is worked out from it, so it does
not depend on anybody's parsing of the exports:

    python make_files.py             # rewrites files/
    python make_files.py --expected  # prints what task.yaml expects, changes nothing
"""

import csv
import json
import random
import sys
from datetime import datetime, timedelta
from math import pi, sin
from pathlib import Path

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
SEED = 260329
STEP = timedelta(minutes=15)
FIRST, LAST = datetime(2026, 3, 25, 23), datetime(2026, 4, 1, 22)  # UTC, the last not included
SWITCH = datetime(2026, 3, 29, 1)  # UTC, when local time jumps from 02:00 to 03:00
HOUR = timedelta(hours=1)

# Fridge, start in UTC, readings, extreme
EVENTS = [
    ("F1", datetime(2026, 3, 27, 13), 7, 11.8),
    ("F1", datetime(2026, 3, 30, 7, 15), 1, 9.4),  # somebody had the door open
    ("F1", datetime(2026, 3, 31, 14, 30), 2, 8.9),  # exactly 30 minutes
    ("F2", datetime(2026, 3, 28, 21, 30), 5, 0.6),
    ("F2", datetime(2026, 3, 30, 16, 45), 1, 8.7),
    ("F2", datetime(2026, 3, 31, 5, 45), 9, 10.2),
    ("F3", datetime(2026, 3, 29, 0, 30), 8, -1.4),  # across the change of the clocks
    ("F3", datetime(2026, 3, 30, 22, 45), 3, 8.6),  # after midnight by the wall, before by UTC
    ("F4", datetime(2026, 3, 28, 1, 15), 6, 12.9),  # after the power cut
    ("F4", datetime(2026, 3, 31, 9), 5, 9.7),  # its third reading is a fault
]
CUT = datetime(2026, 3, 27, 14), datetime(2026, 3, 28, 1)  # F4 without power, UTC
LOOSE = [datetime(2026, 3, 31, 9, 30), datetime(2026, 3, 26, 5), datetime(2026, 3, 30, 20, 15)]

QUIET = datetime(2026, 1, 1), datetime(2027, 1, 1)


def local(utc: datetime) -> datetime:
    return utc + (HOUR if utc < SWITCH else 2 * HOUR)


def truth() -> dict[str, dict[datetime, float]]:
    """Every reading as it was, by fridge and UTC; what a logger lost is not there."""
    rng = random.Random(SEED)
    fridges = {}
    for number, fridge in enumerate(("F1", "F2", "F3", "F4")):
        readings = {}
        for i in range(int((LAST - FIRST) / STEP)):
            value = 4.6 + 0.2 * number + 0.8 * sin(2 * pi * (i + 20 * number) / 96)
            readings[FIRST + i * STEP] = round(min(6.9, max(3.1, rng.gauss(value, 0.35))), 1)
        for name, start, count, extreme in EVENTS:
            edge = 8.4 if extreme > 8 else 1.6
            swings = [sin(pi * (i + 1) / (count + 1)) for i in range(count)]
            for i, swing in enumerate(swings if name == fridge else []):
                value = edge + (extreme - edge) * swing / max(swings)
                readings[start + i * STEP] = round(value, 1)
        fridges[fridge] = readings
    for i in range(4):  # on the limits, which is good
        fridges["F4"][datetime(2026, 3, 30, 9) + i * STEP] = 8.0
        fridges["F2"][datetime(2026, 3, 27, 3) + i * STEP] = 2.0
    for utc in [u for u in fridges["F4"] if CUT[0] <= u <= CUT[1] or u in LOOSE]:
        del fridges["F4"][utc]
    for hours in (31, 92, 117):  # single rows without a reading
        del fridges["F1"][FIRST + hours * HOUR]
    return fridges


def side(value: float) -> str:
    return "warm" if value > 8 else "cold" if value < 2 else ""


def excursions(fridge: str, readings: dict[datetime, float]) -> list[dict]:
    found, run = [], []
    times = sorted(readings)
    for utc, after in zip(times, [*times[1:], LAST], strict=True):
        run.append(utc)
        kind = side(readings[utc])
        if kind and after - utc <= HOUR and side(readings.get(after, 5)) == kind:
            continue
        minutes = (after - run[0]) / timedelta(minutes=1)
        if kind and minutes >= 30:
            values = [readings[u] for u in run]
            extreme = max(values) if kind == "warm" else min(values)
            row = {"id": f"{fridge}-{len(found) + 1}", "kind": kind, "span": (run[0], after)}
            found.append(row | {"minutes": minutes, "c": extreme})
        run = []
    return found


def presence(where: str) -> list[tuple[str, datetime, datetime]]:
    """Fridge, from and to in UTC, of the whereabouts of a batch."""
    stays, since, fridge = [], QUIET[0], ""
    words = where.replace(",", "").replace(" (used up)", "").split()
    for word, day, clock in zip(words, [*words[1:], "", ""], [*words[2:], "", ""], strict=False):
        if word.startswith("F"):
            fridge = word
        elif word in ("from", "until"):
            wall = datetime.strptime(f"{day}2026 {clock}", "%d.%m.%Y %H:%M")
            moment = wall - (HOUR if wall < SWITCH + HOUR else 2 * HOUR)
            if word == "until":
                stays.append((fridge, since, moment))
            since = moment
    return stays if "used up" in where else [*stays, (fridge, since, QUIET[1])]


def print_expected() -> None:
    fridges = truth()
    found = {f: excursions(f, readings) for f, readings in fridges.items()}
    gaps = [("F4", CUT[0] - STEP, CUT[1] + STEP)]
    for e in (e for f in found.values() for e in f):
        start, end = (f"{local(u):%Y-%m-%d %H:%M}" for u in e["span"])
        row = {"id": e["id"], "start": start, "end": end, "minutes": e["minutes"]}
        print(json.dumps(row | {"extreme_c": e["c"], "kind": e["kind"]}))
    doses = value = 0
    with open(TEXTS / "stock.csv", encoding="utf-8", newline="") as file:
        stock = list(csv.reader(file))
    for batch, _, count, price, allowance, harms, where in stock[1:]:
        frost, warm, touched, frozen = harms[:1] in ("x", "y", "Y"), 0.0, False, False
        for fridge, since, until in presence(where):
            touched |= any(f == fridge and a < until and b > since for f, a, b in gaps)
            for e in found[fridge]:
                shared = (min(until, e["span"][1]) - max(since, e["span"][0])) / timedelta(
                    minutes=1
                )
                touched |= shared > 0
                frozen |= shared > 0 and frost and e["kind"] == "cold" and e["c"] < 0
                warm += max(0.0, shared) * (e["kind"] == "warm")
        verdict = (
            "discard" if warm > int(allowance) or frozen else "quarantine" if touched else "use"
        )
        doses += int(count) * (verdict == "discard")
        value += int(count) * float(price) * (verdict == "discard")
        print(json.dumps({"batch": batch, "warm_minutes": warm, "verdict": verdict}), allowance)
    print(
        "discarded",
        doses,
        round(value, 2),
        "gaps",
        [(f, *map(str, map(local, g))) for f, *g in gaps],
    )
    blocks = {}
    for number, readings in enumerate(fridges.values()):
        for utc, reading in readings.items():
            wall = local(utc)
            blocks.setdefault((wall.day, number * 8 + wall.hour // 3), set()).add(side(reading))
    warm = [b for b, kinds in blocks.items() if "warm" in kinds]
    cold = [b for b, kinds in blocks.items() if "cold" in kinds and "warm" not in kinds]
    print("warm", len(warm) / 256, sorted(warm), "cold", len(cold) / 256, sorted(cold))
    print("without readings", (7 * 32 - len(blocks)) / 256)


def write(name: str, rows: list[str]) -> None:
    (FILES / name).write_bytes(("\r\n".join(rows) + "\r\n").encode())


def write_loggers() -> None:
    rng = random.Random(SEED + 1)
    fridges = truth()
    every = [FIRST + i * STEP for i in range(int((LAST - FIRST) / STEP))]
    rows = []
    for utc in every:
        value = f"{fridges['F1'][utc]:.1f}".replace(".", ",") if utc in fridges["F1"] else "---"
        rows.append(f"{local(utc):%d.%m.%Y;%H:%M};{value}")
    again = [
        row for row in rows if row.startswith(("27.03.2026;12", "27.03.2026;13", "27.03.2026;14"))
    ]
    write("fridge1.csv", ["Date;Time;Temp", *rows, *again])
    rows = ["Timestamp,Temp,Unit"]
    for utc, value in sorted(fridges["F2"].items()):
        is_old = utc < datetime(2026, 3, 29, 10)
        shown = f"{value * 9 / 5 + 32:.1f},F" if is_old else f"{value:.1f},C"
        rows.append(f"{utc + HOUR:%m/%d/%Y %I:%M %p},{shown}")
    write("fridge2.csv", rows)
    door = {
        u: round(v + rng.uniform(0.8, 2.6) + 2.5 * (rng.random() < 0.06), 1)
        for u, v in fridges["F3"].items()
    }
    rows = [f"{u:%Y-%m-%dT%H:%M:%SZ},{door[u]},{v}" for u, v in sorted(fridges["F3"].items())]
    write("fridge3.csv", ["time,probe_B,probe_A", *rows])
    f4 = fridges["F4"] | dict.fromkeys(LOOSE, -127.0) | {CUT[1]: 85.0}
    rows = [f"{local(u):%Y-%m-%d %H:%M},{v}" for u, v in sorted(f4.items(), reverse=True)]
    write("fridge4.csv", ["logged,celsius", *rows])


if __name__ == "__main__":
    if "--expected" in sys.argv:
        print_expected()
    else:
        FILES.mkdir(exist_ok=True)
        write_loggers()
        for name in ("protocol.md", "handover_note.txt", "stock.csv"):
            (FILES / name).write_bytes((TEXTS / name).read_bytes())
