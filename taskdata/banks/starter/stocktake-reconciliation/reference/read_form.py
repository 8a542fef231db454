"""Read the filled bubbles of the scanned form with the help of its four corner marks."""

import json

import numpy as np
from PIL import Image

with open("input/count_form_template.json") as file:
    form = json.load(file)
scan = np.asarray(Image.open("input/aisle7_scan.jpg").convert("L"), dtype=float)
height, width = scan.shape


def find_mark(name):
    """Centre of the black square in one corner of the scan, in pixels."""
    rows = slice(0, height // 6) if "top" in name else slice(height * 5 // 6, height)
    columns = slice(0, width // 6) if "left" in name else slice(width * 5 // 6, width)
    ys, xs = np.nonzero(scan[rows, columns] < 60)
    return columns.start + np.median(xs), rows.start + np.median(ys)


# The affine map from millimetres on the sheet to pixels of the scan, from four marks.
centres = form["marks"]["centres"]
sheet = np.array([[x, y, 1] for x, y in centres.values()])
pixels = np.array([find_mark(name) for name in centres])
to_pixels, residual, *_ = np.linalg.lstsq(sheet, pixels, rcond=None)
print("marks found at", pixels.tolist(), "residual", residual.tolist())


unit = (pixels[1][0] - pixels[0][0]) / (sheet[1][0] - sheet[0][0])  # pixels per millimetre


def darkness(x, y):
    """How much darker than the paper around it a bubble is: 0 like paper, 1 black."""
    column, row = np.array([x, y, 1]) @ to_pixels
    top, left, reach = int(row), int(column), int(8 * unit)
    around = scan[max(top - reach, 0) : top + reach, max(left - reach, 0) : left + reach]
    ys, xs = np.mgrid[0 : around.shape[0], 0 : around.shape[1]]
    distance = np.hypot(xs + max(left - reach, 0) - column, ys + max(top - reach, 0) - row)
    return 1 - around[distance < 1.2 * unit].mean() / np.percentile(around, 75)


counts = {}
for row in form["rows"]:
    digits = []
    for x0 in form["bubbles"]["x_of_digit_0"].values():
        marks = [darkness(x0 + digit * form["bubbles"]["pitch"], row["y"]) for digit in range(10)]
        black = [digit for digit, mark in enumerate(marks) if mark > 0.55]
        grey = [digit for digit, mark in enumerate(marks) if 0.15 < mark <= 0.55]
        if grey:
            print(row["sku"], "rubbed out:", grey, "black:", black)
        digits += black
    assert len(digits) in (0, 3), (row, digits)
    counts[row["sku"]] = int("".join(map(str, digits))) if digits else None

print(counts, "sum", sum(count or 0 for count in counts.values()))
with open("output/aisle7.json", "w") as file:
    json.dump(counts, file)
