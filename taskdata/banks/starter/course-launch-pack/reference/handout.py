"""Print the plan as a two-page handout."""

import json

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import cm
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table

with open("output/geo118_plan.json", encoding="utf-8") as file:
    plan = json.load(file)
totals = plan["totals"]
styles = getSampleStyleSheet()
ruled = [("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("FONTSIZE", (0, 0), (-1, -1), 9)]
ruled.append(("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold"))

sessions = [["No", "Date", "Room", "Topic", "Pages"]]
for s in plan["sessions"]:
    sessions.append([s["number"], s["date"], s["room"], s["topic"], s["pages"]])
parts = [["Assessment", "Weight", "Due"]]
for a in plan["assessments"]:
    parts.append([a["title"], f"{a['weight_percent']} %", a["due"][:10]])

story = [
    Paragraph("GEO118 Reading the City", styles["Title"]),
    Paragraph(
        "Autumn term 2026, Tuesdays and Thursdays from 14:15 to 15:45. Read before the session; "
        "the books are in the library's course reserve. Mind the rooms: they change in October.",
        styles["BodyText"],
    ),
    Paragraph("Sessions", styles["Heading2"]),
    Table(sessions, [1.2 * cm, 2.6 * cm, 2 * cm, 9 * cm, 1.6 * cm], style=ruled, repeatRows=1),
    Paragraph("Assessment", styles["Heading2"]),
    Table(parts, [7 * cm, 2.5 * cm, 3 * cm], style=ruled),
    Spacer(1, 0.2 * cm),
    Paragraph(
        "All four parts must be handed in, at 23:59 on the day shown at the latest. Late work "
        "loses ten per cent of its marks per day and is not accepted after five days. Only the "
        "programme office grants extensions.",
        styles["BodyText"],
    ),
    Paragraph("Workload", styles["Heading2"]),
    Paragraph(
        f"Over the whole term there are {totals['pages']} pages to read and "
        f"{totals['prep_hours']:g} hours of preparation, class time not included. The busiest "
        f"week is {totals['busiest_week']} with {totals['busiest_week_hours']:g} hours, class "
        "time included.",
        styles["BodyText"],
    ),
    Paragraph("Before the first session", styles["Heading2"]),
    Paragraph(
        "Install the mapping program from the course page, and walk along the street you live "
        "in: write down ten things that could be counted.",
        styles["BodyText"],
    ),
]
SimpleDocTemplate(
    "output/geo118_handout.pdf", pagesize=A4, title="GEO118", topMargin=cm, bottomMargin=cm
).build(story)
