"""Write the input file of this task: `python make_files.py`, `--expected` prints the truth."""

import sys
from pathlib import Path

from taskdata.banks.making import write_csv

FILES = Path(__file__).parent / "files"

# (crop, beds, amount, unit) as the gardeners wrote them up
HARVEST = [
    ("beetroot", 2, "47.5", "kg"),
    ("tomatoes", 6, "238", "kg"),
    ("chard", 1, "33", "kg"),
    ("onions", 3, "121.5", "kg"),
    ("potatoes", 9, "412.5", "kg"),
    ("herbs", 2, "9500", "g"),
    ("radishes", 1, "14", "kg"),
    ("courgettes", 4, "196", "kg"),
    ("runner beans", 2, "48", "kg"),
]
SMALL = 0.05


def slices() -> list[tuple[str, float]]:
    kilos = {crop: float(a) / (1000 if unit == "g" else 1) for crop, _, a, unit in HARVEST}
    total = sum(kilos.values())
    shown = {crop: kg for crop, kg in kilos.items() if kg >= SMALL * total}
    largest_first = sorted(shown.items(), key=lambda item: -item[1])
    return [*largest_first, ("everything else", total - sum(shown.values()))]


def main() -> None:
    if "--expected" in sys.argv:
        total = sum(kg for _, kg in slices())
        for crop, kg in slices():
            print(f"{crop}: {kg} kg, {kg / total:.2%}")
        return
    FILES.mkdir(exist_ok=True)
    write_csv(FILES / "harvest_2025.csv", [["crop", "beds", "harvest", "unit"], *HARVEST])


if __name__ == "__main__":
    main()
