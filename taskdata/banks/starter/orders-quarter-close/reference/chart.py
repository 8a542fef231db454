"""Draw q3_regions.png from the workbook, in the house colours."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

regions = pd.read_excel("output/q3_clean.xlsx", sheet_name="Regions").set_index("Region")
regions = regions.drop("Total").sort_values("Q3", ascending=False)
fallen = (regions["September"] - regions["August"]).idxmin()

figure, axes = plt.subplots(figsize=(16, 9), dpi=100)
colours = ["#E0A030" if name == fallen else "#2E6B3E" for name in regions.index]
bars = axes.bar(regions.index, regions["Q3"], color=colours)
axes.bar_label(bars, [f"{value:,.0f}" for value in regions["Q3"]], fontsize=16, padding=4)
axes.set_title(f"Revenue by region, Q3 2025 (EUR); {fallen} fell most in September", fontsize=20)
axes.tick_params(labelsize=16)
axes.set_yticks([])
for side in ("top", "right", "left"):
    axes.spines[side].set_visible(False)
figure.savefig("output/q3_regions.png", facecolor="white")
print(fallen, regions["Q3"].round(2).to_dict())
