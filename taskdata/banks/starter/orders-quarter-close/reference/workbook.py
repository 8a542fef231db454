"""Write q3_clean.xlsx from the cleaned lines."""

import json

import pandas as pd
from openpyxl import Workbook
from openpyxl.styles import Font

with open("output/cleaned.json") as file:
    cleaned = json.load(file)
lines = pd.DataFrame(cleaned["lines"])

months = {"2025-07": "July", "2025-08": "August", "2025-09": "September"}
regions = lines.pivot_table(
    index="Region", columns="Month", values="Revenue EUR", aggfunc="sum", fill_value=0
).rename(columns=months)
regions["Q3"] = regions.sum(axis=1)
regions = regions.sort_values("Q3", ascending=False)
regions.loc["Total"] = regions.sum()
categories = (
    lines.groupby("Category")
    .agg(
        **{"Lines": ("Line", "size"), "Quantity": ("Quantity", "sum")}, total=("Revenue EUR", "sum")
    )
    .rename(columns={"total": "Revenue EUR"})
    .sort_values("Revenue EUR", ascending=False)
)
sheets = {
    "Lines": lines.astype(object).where(lines.notna(), None),
    "Regions": regions.round(2).reset_index(),
    "Categories": categories.round(2).reset_index(),
    "Log": pd.DataFrame(cleaned["log"].items(), columns=["Item", "Lines"]),
}

book = Workbook()
book.remove(book.active)
for name, frame in sheets.items():
    sheet = book.create_sheet(name)
    sheet.append(list(frame.columns))
    for row in frame.itertuples(index=False):
        sheet.append(list(row))
    for head, *cells in sheet.columns:
        head.font = Font(bold=True)
        sheet.column_dimensions[head.column_letter].width = 18
        if head.value in ("Revenue EUR", "July", "August", "September", "Q3"):
            for cell in cells:
                cell.number_format = "#,##0.00"
    sheet.freeze_panes = "A2"
book.save("output/q3_clean.xlsx")
print(sheets["Regions"].to_string(), sheets["Categories"].to_string(), sep="\n")
