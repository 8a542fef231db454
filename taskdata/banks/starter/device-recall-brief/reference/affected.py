"""Find the affected devices and where they are; keep them for the page and the list."""

import json
import re
from datetime import date, timedelta

import pandas as pd
import pdfplumber
from docx import Document

MODELS = {"VP4": "Velia P4", "KD2": "Kardis D2", "M12": "Monea 12"}

# The tables of the notices, and the corrected one of the first.
tables, dated = {}, {}
with pdfplumber.open("input/safety_notices.pdf") as pdf:
    for page in pdf.pages:
        text = page.extract_text()
        number = re.search(r"FSN-\d{4}-\d{3}", text)[0]
        day = re.search(r"(\d+) November 2025\.", text)
        if day:
            dated[number] = date(2025, 11, int(day[1]))
            within = re.search(r"within\s+(\d+)\s+days\s+of\s+the\s+date", text)
            dated[number] += timedelta(int(within[1]))
        for table in page.extract_tables():
            tables[number] = table[1:]
correction = Document("input/correction_fsn_2025_031.docx").tables[0]
tables["FSN-2025-031"] = [[cell.text for cell in row.cells] for row in correction.rows[1:]]
print(tables, dated)


def type_plate(text):
    """The serial number as it is on the type plate; None for other models."""
    plain = re.sub(r"[^A-Z0-9]", "", str(text).upper().removeprefix("SN"))
    pump = re.fullmatch(r"(VP4|KD2)(\d+)", plain)
    monitor = re.fullmatch(r"(M12)([A-H])(\d{4})", plain)
    return "-".join((pump or monitor).groups()) if pump or monitor else None


def version(text):
    return tuple(int(part) for part in str(text).split(".")) if isinstance(text, str) else (0,)


def pump_action(number, row):
    for batch, first, last, action in tables["FSN-2025-031"]:
        if int(first[-5:]) <= number <= int(last[-5:]):
            fitted = "B2" in str(row.Remarks)
            return None if batch == "2" and fitted else action.capitalize()
    return None


def defibrillator_action(number, row):
    first, last = (int(n) for n in re.findall(r"KD2-(\d+)", tables["FSN-2025-044"][0][1]))
    limit = version(re.search(r"[\d.]+$", tables["FSN-2025-044"][0][2])[0])
    old = version(row.Software) < limit
    return "Update software" if first <= number <= last and old else None


def monitor_action(number, row):
    for lot, numbers in tables["FSN-2025-052"]:
        bounds = [int(n) for n in re.findall(r"\d{4}", numbers)]
        first, last = [*bounds, 9999][:2] if bounds else (0, 9999)
        if f"-{lot}-" in row.plate and first <= number <= last:
            return "Check loudspeaker"
    return None


RULES = {
    "VP4": ("FSN-2025-031", pump_action),
    "KD2": ("FSN-2025-044", defibrillator_action),
    "M12": ("FSN-2025-052", monitor_action),
}
devices = pd.read_excel("input/device_register.xlsx", sheet_name="Devices", dtype={"Software": str})
loans = pd.read_excel("input/device_register.xlsx", sheet_name="Loans")
wards = pd.read_excel("input/device_register.xlsx", sheet_name="Wards").set_index("Code")["Name"]
away = loans[loans.Returned.isna()].set_index("Asset")["To"]

devices["plate"] = devices.Serial.map(type_plate)
devices = devices.dropna(subset="plate").sort_values("Last seen")
twice = devices[devices.duplicated("plate", keep="last")]
devices = devices.drop(twice.index)
devices = devices[devices.Status.str.strip().str.lower() != "retired"]

found = []
for row in devices.itertuples():
    notice, rule = RULES[row.plate[:3]]
    action = rule(int(row.plate.rsplit("-", 1)[1]), row)
    if action:
        found.append(
            {
                "notice": notice,
                "asset": row.Asset,
                "device": MODELS[row.plate[:3]],
                "serial": row.plate,
                "ward": away.get(row.Asset, row.Ward),
                "action": action,
                "due": "at once" if action == "Take out of use" else f"{dated[notice]}",
            }
        )
found.sort(key=lambda device: device["asset"])
with open("output/affected.json", "w") as file:
    json.dump({"devices": found, "wards": wards.to_dict()}, file)
print(len(found), "affected;", len(twice), "registered twice;", len(away), "on loan")
print(pd.DataFrame(found).groupby(["notice", "action", "due"]).size())
