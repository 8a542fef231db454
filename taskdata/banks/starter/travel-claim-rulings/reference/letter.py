"""Merge the figures of Dr. Okafor's claim into the letter."""

import json

import pandas as pd
from docx import Document

CLAIM = "T-2057"
with open("output/rulings.json") as file:
    rulings = json.load(file)
paid = {x["line"]: x for x in rulings["lines"] if x["line"].startswith(CLAIM)}
total = next(c["paid_eur"] for c in rulings["claims"] if c["claim"] == CLAIM)
lines = pd.read_excel("input/claims.xlsx", sheet_name="Lines")
lines = lines[lines.Claim == CLAIM]

document = Document("output/letter_okafor.docx")
table = document.tables[0]
for row in lines.itertuples():
    ruling = paid[f"{CLAIM}/{row.Line}"]
    texts = [ruling["line"], row.Item, f"{row.Amount:.2f} {row.Currency}"]
    texts += [f"{ruling['paid_eur']:.2f}", ruling["clause"].split("-")[1]]
    for cell, text in zip(table.add_row().cells, texts, strict=True):
        cell.text = text
for cell, text in zip(table.add_row().cells, ["Total", "", "", f"{total:.2f}", ""], strict=True):
    cell.text = text
figures = {f"{{{{{x['line'].split('/')[1]}}}}}": f"{x['paid_eur']:.2f}" for x in paid.values()}
figures["{{total}}"] = f"{total:,.2f}"
for paragraph in document.paragraphs:
    text = paragraph.text
    for mark, value in figures.items():
        text = text.replace(mark, value)
    if text != paragraph.text:
        paragraph.text = text
document.save("output/letter_okafor.docx")
print("\n".join(p.text for p in document.paragraphs))
