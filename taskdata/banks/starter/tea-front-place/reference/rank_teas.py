"""What each tea leaves per tin sold, and how many tins are in the shop on 27 April."""

import pandas as pd

book = pd.read_excel("input/teas.xlsx", sheet_name=None, header=2)
sold = book["Spring 2025"].dropna(subset=["Price"]).set_index("Article")
stock = book["Stock"].set_index("Article")
in_time = pd.to_datetime(stock["Arriving"]) < "2026-04-27"
sold["per tin"] = sold["Price"] * (1 - sold["Returned"] / sold["Sold"]) - sold["Cost"]
sold["tins"] = stock["In the shop"] + stock["On order"].where(in_time, 0)
print(sold.sort_values("per tin", ascending=False)[["Tea", "per tin", "tins"]].round(2))
