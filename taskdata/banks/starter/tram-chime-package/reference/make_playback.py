"""Works out the levels at the stops and writes playback.json, measured on the finished files."""

import csv
import json
import math
import re
import statistics

import numpy as np
import soundfile
from openpyxl import load_workbook

values = {}
with open("input/noise_measurements.csv", encoding="utf-8") as lines:
    for row in csv.DictReader(lines, delimiter=";"):
        stop = f"S{int(re.sub(r'[^0-9]', '', row['stop'])):02d}"
        number = re.match(r"\s*(\d+(?:[.,]\d+)?)", row["ambient noise"])
        value = float(number[1].replace(",", ".")) if number else math.nan
        if 30 <= value <= 110:
            values.setdefault(stop, []).append(value)
        else:
            print("left out:", row)

sheet = load_workbook("input/stops.xlsx")["Line 4"]
rows = [row for row in sheet.iter_rows(min_row=5, values_only=True) if row[0]]
in_service = {stop: (name, area) for stop, name, area, _, status in rows if status == "in service"}
noise = {stop: statistics.fmean(values[stop]) for stop in in_service if stop in values}
median = statistics.median(noise.values())

stops = []
for stop, (name, area) in sorted(in_service.items()):
    day = math.floor(min(78, max(62, noise.get(stop, median) + 8)) + 0.5)
    night = day - (6 if area == "residential" else 3)
    stops.append({"id": stop, "name": name, "day_db": day, "night_db": night})
    print(stop, name, day, night)

files = []
for name in ("chime_station.wav", "chime_vehicle.wav"):
    sound, rate = soundfile.read(f"output/{name}", always_2d=True)
    files.append(
        {
            "name": name,
            "seconds": round(len(sound) / rate, 2),
            "sample_rate": rate,
            "channels": sound.shape[1],
            "peak_dbfs": round(20 * math.log10(float(np.abs(sound).max())), 1),
        }
    )
with open("output/playback.json", "w", encoding="utf-8") as out:
    json.dump({"take": 3, "files": files, "stops": stops}, out, ensure_ascii=False, indent=1)
