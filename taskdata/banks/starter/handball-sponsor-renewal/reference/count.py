"""Counts what was delivered by contract, addendum and mail; prints report and offer figures."""

import pandas as pd


def seconds(text):
    if text.endswith("s"):
        return int(text.split()[0])
    total = 0
    for part in text.split(":"):
        total = 60 * total + int(part)
    return total


def day(text):
    return pd.to_datetime(text, format="%Y-%m-%d" if "-" in text else "%d.%m.%y")


led = pd.read_csv("input/led_log.csv", sep=";", keep_default_na=False).drop_duplicates("showing")
led["day"] = led.date.map(day)
led = led[led.competition.isin(["League", "Cup"])]
owed = {d: 360 if d.year < 2026 else 480 for d in led.day.unique()}
ours = led[led.sponsor.str.lower().str.startswith("nordlicht energie") & (led.note == "")]
shown = ours.groupby("day").shown.agg(lambda texts: sum(map(seconds, texts)))
shown[pd.Timestamp("2025-11-22")] = 310
led_done = sum(min(shown.get(d, 0), most) for d, most in owed.items())

social = pd.read_csv("input/social_export.csv", sep=";", keep_default_na=False)
tag = (
    social.tags.str.lower()
    .str.split()
    .map(lambda tags: bool({"@nordlicht_energie", "#teamnordlicht"} & set(tags)))
)
good = social.type.str.lower().isin(["post", "reel"]) & tag & (social.state == "online")
in_season = social.date.between("2025-08-01", "2026-05-31")
posts = social[good & in_season].content.nunique()

closed = pd.Timestamp("2026-02-14")
book = pd.read_excel("input/seats_and_activities.xlsx", sheet_name=None)
seats = book["Seats"]
seats = seats[seats.Match.isin(owed) & (seats.Match != closed)]
other = book["Activities"]
held = other[other.Note.str.startswith("held") & other.Date.between("2025-08-01", "2026-05-31")]
games = held[(held.What.str.lower() == "half-time game") & held.Date.isin(seats.Match)]
visits = held[held.What.str.lower() == "visit"]
issues = other[(other.What == "Newsletter") & ~other.Note.str.contains("no banner")]

rows = {
    "R1": (sum(owed.values()) / 60, led_done / 60, 34000),
    "R2": (48, posts, 18000),
    "R3": (16 * len(seats), int(seats["Seats offered"].clip(upper=16).sum()), 16000),
    "R4": (len(seats), len(games), 9000),
    "R5": (16, len(issues), 4800),
    "R6": (4, len(visits), 5000),
}
owed_back, prices = 0, {}
for right, (agreed, done, value) in rows.items():
    part = min(done / agreed, 1)
    credit = round(value * (1 - part), 2) if part < 0.95 else 0
    owed_back += credit
    prices[right] = round(value * (1.03 if part >= 0.95 else 1), 2)
    print(right, f"{agreed:g}", f"{done:.1f}", f"{100 * part:.1f}", f"{credit:.2f}", prices[right])
del prices["R6"]
total = sum(prices.values()) + 7500
due = round(total - owed_back, 2)
first = round(0.6 * due, 2)
print("credit", round(owed_back, 2), "total", total, "due", due, first, round(due - first, 2))
