"""Work out the results from the raw readings and write the list and the page."""

import csv
import html
import json
import re
from collections import defaultdict
from datetime import datetime

from openpyxl import load_workbook

GUNS = {"A": 360000, "B": 363000, "C": 367500}  # tenths of a second, wave C started late
TOP_SLOW = 1080

clubs = {}
with open("input/clubs.txt", encoding="utf-8") as file:
    for line in file:
        name, others = re.match(r"(.+) \(also: (.+)\)", line).groups()
        clubs |= {alias.lower(): name for alias in [name, *others.split(", ")]}

runners = {}
book = load_workbook("input/entries.xlsx", data_only=True)
for sheet in book:
    for bib, first, last, gender, birth, club, wave, remark in sheet.iter_rows(2, values_only=True):
        if remark and "withdrawn" in remark:
            continue
        born = birth if isinstance(birth, datetime) else datetime.strptime(birth, "%d.%m.%Y")
        age = 2026 - born.year - ((born.month, born.day) > (6, 13))
        sex = "M" if gender.upper() == "M" else "W"
        runners[bib] = {
            "name": f"{first.strip().title()} {last.strip()}",
            "club": clubs.get((club or "").strip().lower(), "unattached"),
            "sex": sex,
            "category": sex + ("" if age < 40 else str(min(60, age // 10 * 10))),
            "wave": wave,
        }

with open("input/chips.csv", encoding="utf-8", newline="") as file:
    chip_of = {int(row["bib"]): row["chip"] for row in csv.DictReader(file, delimiter=";")}
chip_of[228], chip_of[110] = chip_of[110], chip_of[228]
chip_of[147] = "C901"
reads = defaultdict(list)
with open("input/mat_readings.csv", encoding="utf-8", newline="") as file:
    for row in csv.DictReader(file):
        hours, minutes, seconds = row["clock"].split(":")
        tenths = (int(hours) * 60 + int(minutes)) * 600 + round(float(seconds) * 10)
        if row["mat"] == "TOP":
            tenths += TOP_SLOW
        reads[row["mat"], row["chip"]].append(tenths)


def shown(seconds):
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


for bib, runner in runners.items():
    gun = GUNS[runner["wave"]]
    start, top, finish = (
        [t for t in reads[mat, chip_of[bib]] if t >= gun] for mat in ("START", "TOP", "FINISH")
    )
    begin = max(start, default=gun)
    if bib == 139:
        finish = [(11 * 3600 + 41 * 60 + 7) * 10]
    if not (start or top or finish):
        runner["status"] = "DNS"
    elif not finish or bib == 207:
        runner["status"] = "DNF"
    elif not top and bib != 187:
        runner["status"] = "DSQ"
    else:
        runner["time"] = (min(finish) - begin) // 10 + {157: -270, 212: 120}.get(bib, 0)
        runner["status"] = "OTL" if runner["time"] > 9000 else "OK"
        if top:
            runner["legs"] = (min(top) - begin) // 10, (min(finish) - min(top)) // 10

ranked = sorted(
    (b for b, r in runners.items() if r["status"] == "OK"), key=lambda b: (runners[b]["time"], b)
)
others = sorted(b for b, r in runners.items() if r["status"] != "OK")
with open("output/corrie_results.csv", "w", encoding="utf-8", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ["Pos", "Bib", "Name", "Club", "Category", "Time", "Climb", "Descent", "Status"]
    )
    for bib in ranked:
        r = runners[bib]
        place = 1 + sum(runners[b]["time"] < r["time"] for b in ranked)
        legs = [shown(leg) for leg in r.get("legs", ())] or ["", ""]
        writer.writerow(
            [place, bib, r["name"], r["club"], r["category"], shown(r["time"]), *legs, "OK"]
        )
    for bib in others:
        r = runners[bib]
        writer.writerow(["", bib, r["name"], r["club"], r["category"], "", "", "", r["status"]])


def table(name, title, header, rows):
    lines = [f'<h2>{title}</h2>\n<table id="{name}">']
    for cells, tag in [(header, "th"), *((row, "td") for row in rows)]:
        lines.append(
            "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"
        )
    return "\n".join([*lines, "</table>"])


def named(bib):
    return f"{runners[bib]['name']} {shown(runners[bib]['time'])}"


podium = []
for category in ("W", "M", "W40", "M40", "W50", "M50", "W60", "M60"):
    best = [named(b) for b in ranked if runners[b]["category"] == category][:3]
    podium.append([category, *best, *[""] * (3 - len(best))])
teams = []
for club in sorted(set(clubs.values())):
    for sex, word in (("W", "women"), ("M", "men")):
        times = [
            runners[b]["time"]
            for b in ranked
            if (runners[b]["club"], runners[b]["sex"]) == (club, sex)
        ]
        if len(times) >= 3:
            teams.append((sum(times[:3]), f"{club} {word}"))
teams = [[place, team, shown(total)] for place, (total, team) in enumerate(sorted(teams), start=1)]
legs = []
for index, leg in enumerate(("Climb", "Descent")):
    row = [leg]
    for sex in "WM":
        timed = [r for r in map(runners.get, ranked) if r["sex"] == sex and "legs" in r]
        best = min(timed, key=lambda r: r["legs"][index])
        row += [best["name"], shown(best["legs"][index])]
    legs.append(row)
problems = [[b, runners[b]["name"], runners[b]["status"]] for b in others]
page = [
    "<!DOCTYPE html>\n<html lang='en'>\n<head><meta charset='utf-8'>",
    "<title>Corrie Round 2026</title></head>",
    "<body>\n<h1>Corrie Round, 13 June 2026</h1>",
    table("podium", "Podium", ["Category", "First", "Second", "Third"], podium),
    table("teams", "Teams", ["Place", "Team", "Total"], teams),
    table("legs", "Fastest legs", ["Leg", "Woman", "Time woman", "Man", "Time man"], legs),
    table("problems", "Not in the ranking", ["Bib", "Name", "Status"], problems),
    "</body>\n</html>\n",
]
with open("output/corrie_results.html", "w", encoding="utf-8") as file:
    file.write("\n".join(page))
print(len(ranked), "ranked;", json.dumps(teams[:2]), json.dumps(podium))
print(json.dumps(legs), json.dumps(problems))
