"""Read the four loggers, find excursions and gaps, judge the stock, draw the map."""

import csv
import json
import re
from datetime import datetime, timedelta

from PIL import Image, ImageDraw

HOUR = timedelta(hours=1)
SWITCH = datetime(2026, 3, 29, 1)  # UTC


def to_utc(wall):
    return wall - (HOUR if wall < SWITCH + HOUR else 2 * HOUR)


def to_wall(utc):
    return utc + (HOUR if utc < SWITCH else 2 * HOUR)


def rows(name, delimiter=","):
    with open(f"input/{name}", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


fridges = {"F1": {}, "F2": {}, "F3": {}, "F4": {}}
for row in rows("fridge1.csv", ";"):
    if row["Temp"] != "---":
        wall = datetime.strptime(row["Date"] + row["Time"], "%d.%m.%Y%H:%M")
        fridges["F1"][to_utc(wall)] = float(row["Temp"].replace(",", "."))
for row in rows("fridge2.csv"):
    winter = datetime.strptime(row["Timestamp"], "%m/%d/%Y %I:%M %p")
    value = float(row["Temp"])
    fridges["F2"][winter - HOUR] = round((value - 32) / 1.8, 1) if row["Unit"] == "F" else value
for row in rows("fridge3.csv"):
    fridges["F3"][datetime.strptime(row["time"], "%Y-%m-%dT%H:%M:%SZ")] = float(row["probe_A"])
for row in rows("fridge4.csv"):
    if -30 <= float(row["celsius"]) <= 50:
        wall = datetime.strptime(row["logged"], "%Y-%m-%d %H:%M")
        fridges["F4"][to_utc(wall)] = float(row["celsius"])


def kind_of(value):
    return "warm" if value > 8 else "cold" if value < 2 else None


found, gaps = [], []
for fridge, readings in fridges.items():
    times, runs = sorted(readings), []
    for before, now in zip([None, *times], times, strict=False):
        is_gap = before is not None and now - before > HOUR
        if is_gap:
            gaps.append((fridge, before, now))
        kind = kind_of(readings[now])
        if runs and runs[-1]["end"] is None and (is_gap or kind != runs[-1]["kind"]):
            runs[-1]["end"] = now
        if kind and not (runs and runs[-1]["end"] is None):
            runs.append({"fridge": fridge, "kind": kind, "start": now, "end": None, "values": []})
        if kind:
            runs[-1]["values"].append(readings[now])
    long = [r for r in runs if r["end"] - r["start"] >= timedelta(minutes=30)]
    for number, run in enumerate(long, start=1):
        values = run.pop("values")
        extreme = max(values) if run["kind"] == "warm" else min(values)
        found.append(run | {"id": f"{fridge}-{number}", "extreme_c": extreme})


def shared_minutes(since, until, start, end):
    return max(0.0, (min(until, end) - max(since, start)) / timedelta(minutes=1))


def stays_of(text):
    """Return the fridges a batch was in, each with its first and last moment."""
    result = []
    for part in text.split(", then "):
        span = {"from": datetime(2026, 1, 1), "until": datetime(2027, 1, 1)}
        for word, day, month, clock in re.findall(r"(from|until) (\d+)\.(\d+)\. ([\d:]+)", part):
            span[word] = to_utc(datetime.strptime(f"2026-{month}-{day} {clock}", "%Y-%m-%d %H:%M"))
        start = result[-1][2] if result else span["from"]
        result.append((part[:2], start, span["until"]))
    return result


batches, doses, value = [], 0, 0.0
for row in rows("stock.csv"):
    warm, hit, frozen = 0.0, False, False
    for fridge, since, until in stays_of(row["Where"]):
        hit |= any(g[0] == fridge and shared_minutes(since, until, *g[1:]) for g in gaps)
        for run in (r for r in found if r["fridge"] == fridge):
            minutes = shared_minutes(since, until, run["start"], run["end"])
            hit |= minutes > 0
            warm += minutes * (run["kind"] == "warm")
            frozen |= minutes > 0 and run["extreme_c"] < 0
    sensitive = row["Frost harms"].lower() in ("yes", "y", "x")
    spoilt = warm > float(row["May be warm for (min)"]) or (frozen and sensitive)
    verdict = "discard" if spoilt else "quarantine" if hit else "use"
    batches.append({"batch": row["Batch"], "warm_minutes": warm, "verdict": verdict})
    if spoilt:
        doses += int(row["Doses"])
        value += int(row["Doses"]) * float(row["EUR/dose"])
    print(batches[-1], row["Vaccine"], row["Doses"])
for run in found:
    run["minutes"] = (run["end"] - run["start"]) / timedelta(minutes=1)
    run["start"], run["end"] = (f"{to_wall(run[k]):%Y-%m-%d %H:%M}" for k in ("start", "end"))
    print(run)
result = {
    "excursions": found,
    "gaps": [
        {
            "fridge": f,
            "start": f"{to_wall(a):%Y-%m-%d %H:%M}",
            "end": f"{to_wall(b):%Y-%m-%d %H:%M}",
        }
        for f, a, b in gaps
    ],
    "batches": batches,
    "doses_discarded": doses,
    "value_discarded_eur": round(value, 2),
}
print(result["gaps"], doses, value)
with open("output/batches.json", "w", encoding="utf-8") as file:
    json.dump(result, file, indent=1)

blocks = {}
for column, readings in enumerate(fridges.values()):
    for utc, reading in readings.items():
        wall = to_wall(utc)
        day = (wall.date() - datetime(2026, 3, 26).date()).days
        blocks.setdefault((8 * column + wall.hour // 3, day), set()).add(kind_of(reading))
picture = Image.new("RGB", (960, 640), "white")
draw = ImageDraw.Draw(picture)
for x in range(32):
    for y in range(7):
        kinds = blocks.get((x, y))
        colour = "#2E9E5B"
        if not kinds:
            colour = "#BDBDBD"
        elif "warm" in kinds:
            colour = "#D7263D"
        elif "cold" in kinds:
            colour = "#1F6FEB"
        draw.rectangle((30 * x, 80 + 80 * y, 30 * x + 29, 159 + 80 * y), fill=colour)
for number in range(4):
    draw.text((240 * number + 105, 30), f"F{number + 1}", "black", font_size=24)
picture.save("output/fridge_map.png")
