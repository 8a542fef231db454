"""Find the best tours with and without the places that asked, and write tour.json."""

import csv
import json
import re

from openpyxl import load_workbook


def at(text):
    hours, _, rest = text.strip().replace(".", ":").partition(":")
    return int(hours) * 60 + int(rest or 0)


def clock(minute):
    return f"{minute // 60:02d}:{minute % 60:02d}"


stops = {}
with open("input/stops.csv", encoding="utf-8-sig", newline="") as file:
    for row in csv.DictReader(file, delimiter=";"):
        first, last = re.split(r"\s*(?:-|–|to)\s*", row["window"])
        stops[row["code"]] = (int(row["open for"].split()[0]), at(first), at(last))
del stops["TOR"]
stops["BRE"] = (25, at("10:15"), at("11:05"))
stops["VIK"] = (45, at("13:00"), at("15:30"))
asked = {"HAS": (25, at("9"), at("16")), "GRA": (15, at("11"), at("14:30"))}

drive = {}
header, *rows = load_workbook("input/driving_times.xlsx")["Minutes"].iter_rows(2, values_only=True)
for row in rows:
    for to, cell in zip(header[1:], row[1:], strict=True):
        if cell not in (None, "-"):
            minutes = int(str(cell).removesuffix(" min").removeprefix("0:"))
            drive[row[0], to] = drive[to, row[0]] = minutes
drive["ULV", "BRE"] = drive["BRE", "ULV"] = 26  # the correction of 4 May
drive["KAL", "MOS"] += 5
told = {
    "HAS": "LUN 11 VIK 11 EKE 18 DEP 26 SAN 27 BRE 38 NYB 37 ULV 42 KAL 43 MOS 48",
    "GRA": "SAN 11 NYB 9 KAL 17 DEP 19 LUN 27 VIK 23 EKE 34 BRE 38 ULV 36 MOS 22",
}
for new, text in told.items():
    for old, minutes in re.findall(r"(\w+) (\d+)", text):
        drive[new, old] = drive[old, new] = int(minutes)


def best_tour(places):
    """Return (driving, back, tour, break, waiting) of the best tour, None if there is none."""
    best = None
    open_ends = [(0, at("8:30"), "DEP", (), None, 0)]
    while open_ends:
        driven, now, here, tour, rest, waited = open_ends.pop()
        if len(tour) == len(places):
            back = now + drive[here, "DEP"]
            found = (driven + drive[here, "DEP"], back, tour, rest, waited)
            if back <= at("17:30") and (best is None or found[:2] < best[:2]):
                best = found
            continue
        for code in places.keys() - {step[0] for step in tour}:
            stay, first, last = places[code]
            arrive = now + drive[here, code]
            start = max(arrive, first)
            close = start + stay
            pauses = rest is None and close >= at("11:30")
            if close > last or (pauses and close > at("13:15")):
                continue
            step = (code, arrive, start, close, drive[here, code])
            pause = (code, close) if pauses else rest
            leave = close + 30 * pauses
            more = driven + drive[here, code]
            open_ends.append((more, leave, code, (*tour, step), pause, waited + start - arrive))
    return best


base = best_tour(stops)
tours = {code: best_tour(stops | {code: asked[code]}) for code in asked}
granted = min((c for c in tours if tours[c]), key=lambda c: tours[c][:2])
driving, back, tour, rest, waiting = tours[granted]
names = ("stop", "arrive", "open", "close", "drive_minutes")
plan = {
    "tour": [dict(zip(names, (s[0], *map(clock, s[1:4]), s[4]), strict=True)) for s in tour],
    "back": clock(back),
    "driving_minutes": driving,
    "waiting_minutes": waiting,
    "break_at": rest[0],
    "break_from": clock(rest[1]),
    "requests": [
        {"stop": c, "driving_minutes": t[0], "back": clock(t[1]), "granted": c == granted}
        for c, t in tours.items()
    ],
    "base_driving_minutes": base[0],
}
with open("output/tour.json", "w", encoding="utf-8") as file:
    json.dump(plan, file, indent=1)
print(json.dumps(plan))
