"""Sailings of Saturday, 20 June 2026 that reach Storholm, or Havnsund, in time."""

import pandas as pd

DAY = "2026-06-20"
CHANGE = pd.Timedelta(minutes=8)
AT_QUAY = pd.Timestamp(f"{DAY} 10:40") + pd.Timedelta(minutes=12 + 5)
LAND_BY = pd.Timestamp(f"{DAY} 19:25") - pd.Timedelta(minutes=10 + 12)

table = pd.read_csv("input/skerry_line_summer_2026.csv", sep=";", dtype=str)
for column in ("dep", "arr"):
    table[column] = pd.to_datetime(f"{DAY} " + table[column])
marks = table["days"].str.split()
on_saturday = marks.map(lambda m: bool({"1-6", "1-7", "6", "m"} & set(m)) and "x" not in m)
today = table[on_saturday]


def journeys(start: str, end: str) -> pd.DataFrame:
    direct = today[(today["from"] == start) & (today["to"] == end)]
    first = today[(today["from"] == start) & (today["to"] == "Lyngøy")]
    second = today[(today["from"] == "Lyngøy") & (today["to"] == end)]
    changing = first.merge(second, how="cross", suffixes=("", "_2"))
    changing = changing[changing["dep_2"] >= changing["arr"] + CHANGE]
    changing = changing.assign(arr=changing["arr_2"])
    return pd.concat([direct, changing])[["dep", "arr"]]


out = journeys("Havnsund", "Storholm").query("dep >= @AT_QUAY").sort_values("arr")
back = journeys("Storholm", "Havnsund").query("arr <= @LAND_BY").sort_values("dep")
show = dict.fromkeys(("dep", "arr"), "{:%H:%M}".format)
print("to the island, earliest first")
print(out.head(4).to_string(index=False, formatters=show))
print("from the island, latest last")
print(back.tail(4).to_string(index=False, formatters=show))
