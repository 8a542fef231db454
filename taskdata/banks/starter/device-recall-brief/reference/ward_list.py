"""Print the list to walk with: a page for each ward that has something to do."""

import json
import os

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4, landscape
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table, TableStyle

with open("output/affected.json") as file:
    affected = json.load(file)
styles = getSampleStyleSheet()
lines = TableStyle(
    [
        ("GRID", (0, 0), (-1, -1), 0.5, colors.grey),
        ("BACKGROUND", (0, 0), (-1, 0), colors.lightgrey),
    ]
)
widths = [80, 90, 100, 130, 90, 90]
story = []
for ward in sorted({device["ward"] for device in affected["devices"]}):
    rows = [["Asset", "Device", "Serial", "Action", "Due", "Done"]]
    for d in affected["devices"]:
        if d["ward"] == ward:
            rows.append([d["asset"], d["device"], d["serial"], d["action"], d["due"], ""])
    story += [
        Paragraph(f"{ward} {affected['wards'][ward]}", styles["Title"]),
        Table(rows, widths, style=lines),
        PageBreak(),
    ]
SimpleDocTemplate("output/ward_list.pdf", pagesize=landscape(A4), title="Ward list").build(story)
os.remove("output/affected.json")
