"""Cleans the log, adds what the reanalysis adopted, writes score and sound."""

import csv
import math
import re
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import soundfile
from openpyxl import load_workbook

RATE, BASE, LEAD = 16000, 330, 2.0
YEARS = range(1986, 2026)


def metres(text, unit):
    if not re.fullmatch(r"-?\d+([.,]\d+)?", text.strip()):
        return None
    return Decimal(text.strip().replace(",", ".")) / (1000 if unit == "mm" else 1)


balance = {}
with open("input/balance_log.csv", encoding="utf-8") as log:
    for row in csv.DictReader(log, delimiter=";"):
        if row["version"] != "final":
            continue
        end = int(re.search(r"(\d+)$", row["season"])[1]) % 100
        year = end + (1900 if end > 50 else 2000)
        winter, summer = metres(row["winter"], row["unit"]), metres(row["summer"], row["unit"])
        if winter is not None and summer is not None:
            balance[year] = winter - abs(summer)
sheet = load_workbook("input/reanalysis.xlsx").active
for year, correction, decision, _ in sheet.iter_rows(min_row=4, values_only=True):
    if decision == "adopted":
        balance[year] += Decimal(str(correction))

most = max(abs(b) for b in balance.values())
notes = [np.zeros(round(LEAD * RATE))]
with open("output/score.csv", "w", newline="", encoding="utf-8") as out:
    score = csv.writer(out)
    score.writerow(["year", "balance_m", "semitones", "frequency_hz", "amplitude"])
    for year in YEARS:
        slot = np.zeros(RATE // 2)
        notes.append(slot)
        if year not in balance:
            score.writerow([year, "", "", "", ""])
            continue
        b = balance[year]
        tones = int((6 * b).quantize(Decimal(1), ROUND_HALF_UP))
        hertz = BASE * 2 ** (tones / 12)
        amplitude = max(0.8 * float(abs(b) / most), 0.08)
        score.writerow([year, f"{b:.2f}", tones, f"{hertz:.1f}", f"{amplitude:.3f}"])
        tone = amplitude * np.sin(2 * math.pi * hertz * np.arange(round(0.4 * RATE)) / RATE)
        fade = np.linspace(0, 1, RATE // 100)
        tone[: len(fade)] *= fade
        tone[-len(fade) :] *= fade[::-1]
        slot[: len(tone)] = tone
soundfile.write("output/glacier.wav", np.concatenate(notes), RATE, subtype="PCM_16")
loudest = max(balance, key=lambda year: abs(balance[year]))
print("loudest", loudest, balance[loudest], "sum", sum(balance.values()))
print("grew", [y for y in balance if balance[y] > 0], "silent", sorted({*YEARS} - {*balance}))
