"""Fill the figures into the memo: every {{name}} of the laid-out text, and the region table."""

import json
import os

import pandas as pd
from docx import Document

with open("output/cleaned.json") as file:
    log = json.load(file)["log"]
regions = pd.read_excel("output/q3_clean.xlsx", sheet_name="Regions").set_index("Region")
total, regions = regions.loc["Total"], regions.drop("Total")
change = regions["September"] - regions["August"]
fallen = change.idxmin()
figures = {
    "total": f"{total['Q3']:,.0f}",
    "first": regions["Q3"].idxmax(),
    "first_share": f"{100 * regions['Q3'].max() / total['Q3']:.0f}",
    "last": regions["Q3"].idxmin(),
    "august": f"{total['August']:,.0f}",
    "september": f"{total['September']:,.0f}",
    "fallen": fallen,
    "fallen_from": f"{regions.loc[fallen, 'August']:,.0f}",
    "fallen_to": f"{regions.loc[fallen, 'September']:,.0f}",
    **{reason.replace(" ", "_"): str(count) for reason, count in log.items()},
    "all": str(sum(list(log.values())[:6])),
}

document = Document("output/q3_memo.docx")
for paragraph in document.paragraphs:
    text = paragraph.text
    for name, value in figures.items():
        text = text.replace("{{" + name + "}}", value)
    if text != paragraph.text:
        paragraph.text = text
table = document.tables[0]
for name, value in regions["Q3"].items():
    cells = table.add_row().cells
    cells[0].text, cells[1].text = name, f"{value:,.0f}"
document.save("output/q3_memo.docx")
os.remove("output/cleaned.json")
print("\n".join(p.text for p in document.paragraphs))
