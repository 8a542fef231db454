"""Read the syllabus and the calendar, apply the mails, and write the plan for the platform."""

import json
import re
from datetime import date, datetime, timedelta
from math import ceil

import pdfplumber
from openpyxl import load_workbook

with pdfplumber.open("input/GEO118_syllabus_2025.pdf") as pdf:
    tables = [table for page in pdf.pages for table in page.extract_tables()]
flat = [[[" ".join((cell or "").split()) for cell in row] for row in table] for table in tables]
listing = next(table for table in flat if table[0][0] == "No")[1:]
weights = next(table for table in flat if table[0][0] == "Assessment")[1:]


def pages(reading):
    ranges = re.findall(r"(\d+)\s*[\u2013-]\s*(\d+)", reading.partition("pp.")[2])
    return sum(int(last) - int(first) + 1 for first, last in ranges)


reading = {topic: text for _, topic, _, text in listing}
topic_of = {int(number): topic for number, topic, _, _ in listing}
order = list(reading)
# Handover mail: one session dropped, one moved, one new, one other reading.
order.remove("Field methods refresher")
order.remove("Ethics and privacy")
order.insert(order.index("Census geography") + 1, "Ethics and privacy")
order.insert(order.index("Density") + 1, "Counting pedestrians")
reading["Counting pedestrians"] = "Gehl & Svarre 2013, pp. 21-48 and 81-90"
reading["Housing markets"] = "Glaeser 2011, pp. 117-139"


def days_of(text):
    """Return the days a calendar entry covers; `12-16 Oct 2026` and `Tue 3 Nov 2026` occur."""
    span = re.fullmatch(r"(\d+)-(\d+ \w+ \d+)", text)
    if span:
        last = datetime.strptime(span[2], "%d %b %Y").date()
        return [last.replace(day=d) for d in range(int(span[1]), last.day + 1)]
    return [datetime.strptime(text[4:], "%d %b %Y").date()]


no_class, no_deadline, bounds = set(), set(), {}
for when, what, teaching in load_workbook("input/faculty_calendar.xlsx")["2026-27"].iter_rows(
    min_row=4, max_col=3, values_only=True
):
    if not what:
        continue
    if "teaching starts" in what or "teaching ends" in what:
        bounds[what.split()[-1]] = days_of(when)[0]
    elif teaching == "university closed" or what == "Reading week":
        no_class.update(days_of(when))
        no_deadline.update(days_of(when))
    elif teaching == "no teaching after 13:00":
        no_class.update(days_of(when))

term = [
    bounds["starts"] + timedelta(i) for i in range((bounds["ends"] - bounds["starts"]).days + 1)
]
class_days = [day for day in term if day.weekday() in (1, 3)]
slots = [day for day in class_days if day not in no_class]
guest = next(topic for topic in order if topic.startswith("Guest lecture"))
order.remove(guest)
order.insert(slots.index(date(2026, 11, 12)), guest)

sessions, hours = [], {}
for number, (day, topic) in enumerate(zip(slots, order, strict=True), start=1):
    room = "H 1.04" if day <= date(2026, 10, 9) else "B 2.11"
    if day == date(2026, 11, 5):
        room = "K 0.01"
    count = pages(reading[topic])
    prep = ceil(count / 12 * 2) / 2 if count else 0.5
    monday = str(day - timedelta(day.weekday()))
    hours[monday] = hours.get(monday, 0) + 1.5 + prep
    entry = {"number": number, "date": str(day), "start": "14:15", "room": room, "topic": topic}
    sessions.append(entry | {"pages": count, "prep_hours": prep})

held = {entry["topic"]: date.fromisoformat(entry["date"]) for entry in sessions}
assessments = []
for title, weight, rule in weights:
    if rule == "ten days after the last session":
        due = slots[-1] + timedelta(10)
    else:
        before = timedelta(7 if rule.startswith("one week") else 1)
        due = held[topic_of[int(rule.split()[-1])]] - before
    while due.weekday() >= 5 or due in no_deadline:
        due += timedelta(1)
    # Examinations office: the printed weights add up to 105; the essay counts 35.
    percent = 35 if title == "Essay" else int(weight.split()[0])
    assessments.append({"title": title, "weight_percent": percent, "due": f"{due}T23:59"})
assert sum(a["weight_percent"] for a in assessments) == 100

busiest = max(hours, key=hours.get)
plan = {
    "course_code": "GEO118",
    "sessions": sessions,
    "assessments": assessments,
    "totals": {
        "sessions": len(sessions),
        "pages": sum(entry["pages"] for entry in sessions),
        "prep_hours": sum(entry["prep_hours"] for entry in sessions),
        "busiest_week": busiest,
        "busiest_week_hours": hours[busiest],
    },
}
with open("output/geo118_plan.json", "w", encoding="utf-8") as file:
    json.dump(plan, file, indent=2, ensure_ascii=False)
print(
    json.dumps(plan["totals"]), hours, "no class on", [str(d) for d in class_days if d in no_class]
)
