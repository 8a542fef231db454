"""Cleans the survey, forms the segments, judges the claims' figures and writes segments.json."""

import json
import re

import pandas as pd
from openpyxl import load_workbook

survey = pd.read_csv("input/survey_export.csv", dtype=str, keep_default_na=False)
survey = survey.map(str.strip)
survey["email"] = survey["email"].str.lower()
day_first = survey["submitted_at"].str.match(r"\d\d\.")
survey["sent"] = pd.to_datetime(survey["submitted_at"].where(~day_first), format="%Y-%m-%d %H:%M")
survey.loc[day_first, "sent"] = pd.to_datetime(
    survey.loc[day_first, "submitted_at"], format="%d.%m.%Y %H:%M"
)

excluded = {}


def leave_out(survey, code, mask):
    excluded[code] = int(mask.sum())
    return survey[~mask]


staff = survey["email"].str.endswith("@gruenkorb.example")
survey = leave_out(survey, "internal", staff | (survey["source"] == "internal"))
survey = leave_out(survey, "incomplete", survey["status"] != "complete")
survey = leave_out(survey, "speeder", survey["duration_s"].astype(int) < 90)
survey = leave_out(survey, "attention", survey["Q7"].str.lower() != "blue")
survey = survey.sort_values("sent", kind="stable")
survey = leave_out(survey, "repeat", survey.duplicated("email", keep="last"))

WORDS = {"one": 1, "two": 2, "half an hour": 30, "an hour": 60}
reasons = load_workbook("input/codebook.xlsx")["Reasons"].iter_rows(min_row=2, values_only=True)
CODES = {text.strip().lower(): code for code, texts in reasons for text in texts.split(",")}


def number(text):
    if text in WORDS:
        return WORDS[text]
    found = re.search(r"\d+(?:[.,]\d+)?", text)
    return float(found[0].replace(",", ".")) if found else None


survey = survey.assign(
    household=survey["Q1"].map(number),
    minutes=survey["Q2"].map(number),
    reasons=survey["Q3"].map(lambda text: {CODES[t.strip().lower()] for t in text.split(";")}),
    price=survey["Q4"].astype(int),
    recommend=survey["Q5"].astype(int),
    pays=pd.to_numeric(survey["Q6"].map(number)),
)


def segment(row):
    if row.household >= 3 and row.minutes <= 30:
        return "busy_families"
    if row.reasons & {"climate", "packaging"}:
        return "climate_cooks"
    return "budget_planners" if row.price >= 4 else "everyone_else"


survey["segment"] = [segment(row) for row in survey.itertuples()]
names = ("Busy families", "Climate cooks", "Budget planners", "Everyone else")
segments = []
for name in names:
    key = name.lower().replace(" ", "_")
    mine = survey[survey["segment"] == key]
    promoters, critics = (mine["recommend"] >= 9).mean(), (mine["recommend"] <= 6).mean()
    segments.append(
        {
            "id": key,
            "name": name,
            "size": len(mine),
            "share_pct": round(100 * len(mine) / len(survey), 1),
            "nps": round(100 * (promoters - critics), 1),
            "median_price_eur": float(mine["pays"].median()),
            "top_reason": mine["reasons"].explode().value_counts().index[0],
        }
    )

HEALTH_CLAIMS = {"C5"}  # forbidden by the policy whatever its figures
claims = []
for code in ("C1", "C2", "C3", "C4", "C5", "C6"):
    given = survey.loc[survey[code] != "", code].str.lower().str.startswith("y")
    percent = 100 * given.mean()
    allowed = len(given) >= 150 and percent >= 60 and code not in HEALTH_CLAIMS
    claims.append(
        {"id": code, "base": len(given), "yes_pct": int(percent + 0.5), "allowed": bool(allowed)}
    )

result = {
    "base": len(survey),
    "field_period": {
        "from": survey["sent"].min().date().isoformat(),
        "to": survey["sent"].max().date().isoformat(),
    },
    "excluded": excluded,
    "segments": segments,
    "claims": claims,
}
with open("output/segments.json", "w", encoding="utf-8") as out:
    json.dump(result, out, ensure_ascii=False, indent=2)
print(json.dumps(result, indent=1))
