"""Build the slides of the first session from the plan."""

import json
from datetime import date, timedelta

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm, Pt

with open("output/geo118_plan.json", encoding="utf-8") as file:
    plan = json.load(file)
sessions, totals = plan["sessions"], plan["totals"]
hours = {}
for entry in sessions:
    day = date.fromisoformat(entry["date"])
    monday = str(day - timedelta(day.weekday()))
    hours[monday] = hours.get(monday, 0) + 1.5 + entry["prep_hours"]
first, last = (date.fromisoformat(sessions[i]["date"]) for i in (0, -1))
held = {entry["date"] for entry in sessions}
days = [first + timedelta(i) for i in range((last - first).days)]
skipped = [str(d) for d in days if d.weekday() in (1, 3) and str(d) not in held]
in_b = next(entry["date"] for entry in sessions if entry["room"] == "B 2.11")
moved = next(entry["date"] for entry in sessions if entry["room"] == "K 0.01")

deck = Presentation()
deck.slide_width, deck.slide_height = Cm(33.87), Cm(19.05)
deck.core_properties.title = "GEO118, first session"


def add_slide(title, bullets, notes, width=31.0):
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    heading = slide.shapes.title
    heading.left, heading.top, heading.width, heading.height = Cm(1.4), Cm(0.8), Cm(31), Cm(2.4)
    heading.text = title
    heading.text_frame.paragraphs[0].runs[0].font.size = Pt(36)
    if bullets:
        frame = slide.shapes.add_textbox(Cm(1.4), Cm(3.8), Cm(width), Cm(13)).text_frame
        frame.word_wrap = True
        for index, text in enumerate(bullets):
            paragraph = frame.paragraphs[0] if index == 0 else frame.add_paragraph()
            run = paragraph.add_run()
            run.text = f"\u2022 {text}"
            run.font.size = Pt(24)
            paragraph.space_after = Pt(10)
    slide.notes_slide.notes_text_frame.text = notes
    return slide


add_slide(
    "Welcome to GEO118",
    ["Reading the City, autumn term 2026", "Tessa Okonkwo, Faculty of Geography"],
    "Welcome everybody, say who you are, and ask three people which street they grew up in and "
    "what one could count there. It warms the room up.",
)
add_slide(
    "What you will learn",
    [
        "Find and judge open data about a city",
        "Map a phenomenon and defend the choices behind the map",
        "Measure density, segregation and accessibility, and say what each hides",
        "Argue from data without harming the people who live there",
    ],
    "These are the four outcomes of the syllabus. Give one example each: the census, the bus map, "
    "the segregation index and the photo that should never have been published.",
)
add_slide(
    "How the term runs",
    [
        "Tuesdays and Thursdays, 14:15 to 15:45",
        f"First session {first}, last session {last}",
        f"Room H 1.04 at first, B 2.11 from {in_b}, K 0.01 on {moved} only",
        f"No class on {', '.join(skipped)}",
    ],
    "Say the room change twice, because people always miss it. The days without class are the "
    "faculty day, the reading week and the election day.",
)
slide = add_slide(
    "Assessment",
    [],
    "There is no exam and all four parts must be handed in. Deadlines are at 23:59 on the day "
    "shown. Late work loses ten per cent of its marks a day.",
)
rows = [["Assessment", "Weight", "Due"]]
for item in plan["assessments"]:
    rows.append([item["title"], f"{item['weight_percent']} %", item["due"][:10]])
shape = slide.shapes.add_table(len(rows), 3, Cm(1.4), Cm(4), Cm(30), Cm(9))
for r, row in enumerate(rows):
    for c, text in enumerate(row):
        cell = shape.table.cell(r, c)
        cell.text = text
        cell.text_frame.paragraphs[0].runs[0].font.size = Pt(22)
slide = add_slide(
    "Workload",
    [
        f"{totals['pages']} pages to read",
        f"{totals['prep_hours']:g} hours of preparation",
        f"Busiest week: {totals['busiest_week']}, {totals['busiest_week_hours']:g} hours",
    ],
    "Class time comes on top of preparation; the chart has both. Encourage them to read ahead "
    "in the thin weeks after reading week, when the essay starts to matter.",
    width=11.5,
)
data = CategoryChartData()
data.categories = [week[5:] for week in hours]
data.add_series("Hours per teaching week", list(hours.values()))
slide.shapes.add_chart(
    XL_CHART_TYPE.COLUMN_CLUSTERED, Cm(13.5), Cm(3.8), Cm(19), Cm(13.5), data
).chart.has_legend = False
add_slide(
    "Rules we keep",
    [
        "Laptops are for work",
        "Recording needs everybody's consent",
        "Photographs of people never go into the cloud",
        "Cite every data set with its download date",
        "Text generators: for language only, and declared",
    ],
    "Explain why each rule is there; the one on photographs has a story from two years ago that "
    "is worth telling in full.",
)
second = sessions[1]
add_slide(
    "Before the next session",
    [
        f"Next: {second['topic']}, {second['date']}, {second['pages']} pages",
        "Install the mapping program from the course page",
        "Walk along your street and write down ten things to count",
    ],
    "Show where the course page is and where the readings are. Remind them that the list of ten "
    "things is what the next session starts from.",
)
deck.save("output/geo118_first_session.pptx")
