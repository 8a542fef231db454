"""Cleans the programme, then draws poster and banner and writes the programme page from it."""

import csv
import html
import re
from datetime import datetime
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

NAVY, SAILCLOTH, TEAL = "#12263F", "#F6EFE0", "#0E8C8C"
STAGES = {"Pier": "#F2B134", "Quay": "#2E7D4F", "Dock": "#C8323C"}
DAYS = {"Fri": "Friday 12 June", "Sat": "Saturday 13 June", "Sun": "Sunday 14 June"}
NAME, DATES, VENUE = "Quayside Sounds 2026", "12-14 June 2026", "Slipway Park"
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"


def read_day(text):
    for day, mark in (("Fri", "12"), ("Sat", "13"), ("Sun", "14")):
        if text.lower().startswith((day.lower(), mark)):
            return day
    raise ValueError(text)


def read_time(text):
    hour, minute = map(int, re.match(r"(\d{1,2})[:.]?(\d{2})", text).groups())
    if "pm" in text and hour < 12:
        hour += 12
    return f"{hour:02d}:{minute:02d}"


def read_date(text):
    return datetime.strptime(text, "%Y-%m-%d" if "-" in text else "%d.%m.%Y")


def programme():
    """Day -> [(time, act, stage)], from the last word on every act."""
    latest, names = {}, {}
    with open("input/programme_export.csv", encoding="utf-8") as export:
        for row in csv.DictReader(export, delimiter=";"):
            act = " ".join(row["act"].split())
            if not act:
                continue
            key = act.casefold()
            if not act.isupper():
                names[key] = act
            if key not in latest or read_date(row["updated"]) > read_date(latest[key]["updated"]):
                latest[key] = row
    days = {day: [] for day in DAYS}
    for key, row in latest.items():
        if row["status"].strip().lower() == "confirmed":
            stage = row["stage"].strip().split()[0].capitalize()
            name = names.get(key, key.title())
            days[read_day(row["day"])].append((read_time(row["start"].strip()), name, stage))
    return {day: sorted(slots) for day, slots in days.items()}


def font(size, bold=True):
    return ImageFont.truetype(FONTS / f"DejaVuSans{'-Bold' if bold else ''}.ttf", size)


def ribbon(pen, counts, left, top, right, bottom):
    total, done = sum(counts.values()), 0
    for stage, count in counts.items():
        start = left + (right - left) * done / total
        done += count
        end = left + (right - left) * done / total
        pen.rectangle((round(start), top, round(end) - 1, bottom), fill=STAGES[stage])


def draw_poster(days, counts):
    wide, high = 1240, 1754
    poster = Image.new("RGB", (wide, high), SAILCLOTH)
    pen = ImageDraw.Draw(poster)
    quarter, eighth = high / 4, high / 8
    pen.rectangle((0, 0, wide, round(quarter) - 1), fill=NAVY)
    pen.rectangle((0, round(high - eighth), wide, high), fill=TEAL)
    ribbon(pen, counts, 0, round(3 * quarter), wide, round(high - eighth) - 1)

    side = round(0.24 * wide)
    logo = Image.open("input/logo_disc.png").resize((side, side), Image.Resampling.LANCZOS)
    poster.paste(logo, (round(0.06 * wide), round(quarter / 2 - side / 2)), logo)
    x = round(0.37 * wide)
    pen.text((x, 100), "Quayside", font=font(112), fill=SAILCLOTH)
    pen.text((x, 222), "Sounds 2026", font=font(92), fill=SAILCLOTH)

    block = (0.06 * wide, 0.29 * high, 0.44 * wide, 0.41 * high)
    pen.rectangle(block, fill=NAVY)
    middle = (block[0] + block[2]) / 2
    pen.text((middle, 0.335 * high), "12-14 June", font=font(62), fill=SAILCLOTH, anchor="mm")
    pen.text((middle, 0.378 * high), "2026", font=font(50), fill=SAILCLOTH, anchor="mm")
    pen.text((0.48 * wide, 0.31 * high), VENUE, font=font(64), fill=NAVY)
    pen.text(
        (0.48 * wide, 0.36 * high),
        f"{sum(counts.values())} acts on three stages",
        font=font(34, False),
        fill=NAVY,
    )

    y = 0.455 * high
    for day, title in DAYS.items():
        time, act, stage = days[day][-1]
        pen.text((0.06 * wide, y), title, font=font(36, False), fill=NAVY)
        pen.text((0.06 * wide, y + 42), act, font=font(58), fill=NAVY)
        pen.text(
            (0.94 * wide, y + 58), f"{stage}, {time}", font=font(36, False), fill=NAVY, anchor="ra"
        )
        y += 0.078 * high

    y = 0.722 * high
    for share, (stage, count) in zip((0.06, 0.40, 0.70), counts.items(), strict=True):
        pen.rectangle((share * wide, y - 16, share * wide + 32, y + 16), fill=STAGES[stage])
        label = f"{stage}: {count} acts"
        pen.text((share * wide + 48, y), label, font=font(36), fill=NAVY, anchor="lm")

    prices = "Day €22   Weekend €48   Children under 12 free"
    pen.text((0.06 * wide, high - 178), prices, font=font(38), fill=SAILCLOTH)
    pen.text((0.06 * wide, high - 102), "quaysidesounds.example", font=font(44), fill=SAILCLOTH)
    poster.save("output/poster.png")


def draw_banner(counts):
    wide, high = 1600, 400
    banner = Image.new("RGB", (wide, high), NAVY)
    pen = ImageDraw.Draw(banner)
    panel = wide // 4
    pen.rectangle((0, 0, panel - 1, high), fill=TEAL)
    ribbon(pen, counts, panel, high - high // 8, wide, high)
    logo = Image.open("input/logo_disc.png").resize((280, 280), Image.Resampling.LANCZOS)
    banner.paste(logo, ((panel - 280) // 2, (high - 280) // 2), logo)
    pen.text((panel + 60, 70), NAME, font=font(84), fill=SAILCLOTH)
    pen.text((panel + 60, 200), DATES, font=font(54), fill=SAILCLOTH)
    pen.text((panel + 60, 268), VENUE, font=font(54, False), fill=SAILCLOTH)
    banner.save("output/banner.png")


def write_page(days):
    ids = {"Fri": "friday", "Sat": "saturday", "Sun": "sunday"}
    sections = []
    for day, title in DAYS.items():
        rows = "\n".join(
            f"<tr><td>{time}</td><td>{html.escape(act)}</td><td>{stage}</td></tr>"
            for time, act, stage in days[day]
        )
        sections.append(
            f'<section id="{ids[day]}">\n<h2>{title}</h2>\n<table>\n<thead><tr><th>Time</th>'
            f"<th>Act</th><th>Stage</th></tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n"
            "</section>"
        )
    links = "".join(f'<a href="#{ids[day]}">{title}</a> ' for day, title in DAYS.items())
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{NAME}: programme</title>
<style>
body {{ margin: 0 auto; max-width: 46rem; padding: 1rem; font: 1.05rem/1.5 sans-serif;
  background: {SAILCLOTH}; color: {NAVY}; }}
header {{ background: {NAVY}; color: {SAILCLOTH}; padding: 1rem 1.5rem; }}
header a {{ color: {SAILCLOTH}; margin-right: 1rem; }}
h2 {{ border-bottom: 4px solid {TEAL}; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #c9c0ab; }}
</style>
</head>
<body>
<header>
<h1>{NAME}</h1>
<p>{DATES}, {VENUE}</p>
<nav>{links}<a href="#tickets">Tickets and venue</a></nav>
</header>
{chr(10).join(sections)}
<section id="tickets">
<h2>Tickets and venue</h2>
<p>Day ticket €22, weekend ticket €48. Children under 12 come in free.</p>
<p>{VENUE}, three stages: Pier, Quay and Dock.</p>
</section>
</body>
</html>
"""
    Path("output/programme.html").write_text(page, encoding="utf-8")


days = programme()
counts = {stage: sum(s == stage for slots in days.values() for *_, s in slots) for stage in STAGES}
draw_poster(days, counts)
draw_banner(counts)
write_page(days)
print(counts, sum(counts.values()))
