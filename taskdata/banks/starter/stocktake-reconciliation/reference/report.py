"""Print the report for signature from the workbook and the journal file."""

import json

import pandas as pd
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

rows = pd.read_excel("output/stock_adjustments.xlsx", sheet_name="Adjustments")
items = pd.read_excel("output/stock_adjustments.xlsx", sheet_name="Open items")
names = pd.read_excel("input/stocktake.xlsx", sheet_name="Book").set_index("SKU")["Article"]
with open("output/journal.json") as file:
    journal = json.load(file)
values = {e["sku"]: e["value_eur"] for e in journal["postings"] + journal["for_approval"]}

aisles = [["Aisle", "Articles", "With difference", "Open", "Net value EUR"]]
for name, group in [*rows.groupby("Aisle"), ("Total", rows)]:
    differing = [sku for sku in group.SKU if sku in values]
    unsettled = int((group.Status == "open").sum())
    net = sum(values[sku] for sku in differing)
    aisles.append([str(name), len(group), len(differing), unsettled, f"{net:,.2f}"])
approvals = [["SKU", "Article", "Difference", "Value EUR"]]
for e in journal["for_approval"]:
    approvals.append([e["sku"], names[e["sku"]], e["quantity"], f"{e['value_eur']:,.2f}"])
left = "; ".join(f"{reason}: {', '.join(g.SKU)}" for reason, g in items.groupby("Reason"))

styles = getSampleStyleSheet()
lines = TableStyle(
    [
        ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
        ("BACKGROUND", (0, 0), (-1, 0), colors.lightgrey),
        ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
    ]
)
sign = Table([["Warehouse", "Finance"], ["", ""]], colWidths=80 * mm, rowHeights=[8 * mm, 16 * mm])
sign.setStyle(TableStyle([("LINEBELOW", (0, 1), (-1, 1), 0.6, colors.black)]))
SimpleDocTemplate("output/stocktake_report.pdf", pagesize=A4, title="Stocktake report").build(
    [
        Paragraph("Stocktake report", styles["Title"]),
        Paragraph("Harbour Lights Chandlery, 29 November 2025", styles["Normal"]),
        Paragraph("Differences by aisle", styles["Heading2"]),
        Table(aisles, style=lines, hAlign="LEFT"),
        Paragraph("For finance to sign", styles["Heading2"]),
        Table(approvals, style=lines, hAlign="LEFT"),
        Paragraph("What is still open", styles["Heading2"]),
        Paragraph(
            f"{len(items)} article numbers are open: {left}. Nothing is posted for them. "
            "The form of aisle 7 was read from its scan; the sum of its pieces agrees with the "
            "control sum in the workbook.",
            styles["Normal"],
        ),
        Spacer(1, 14 * mm),
        sign,
    ]
)
print(aisles, approvals, sep="\n")
