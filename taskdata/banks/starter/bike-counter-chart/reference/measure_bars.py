"""Heights of the bars in steps of 250 cyclists, from the scan alone."""

import numpy as np
from PIL import Image

STEP = 5000  # between two lines of the grid
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

page = np.asarray(Image.open("input/report_page_23.png").convert("RGB")).astype(int)
red, green, blue = page[..., 0], page[..., 1], page[..., 2]
body = slice(60, None)  # below title and legend
is_green = (green - red > 25) & (green - blue > 15)
is_orange = (red - blue > 90) & (red - green > 50)
is_grid = (abs(red - blue) < 40) & (red > 150) & (red < 225)


def bars(mask: np.ndarray) -> list[tuple[int, int]]:
    """Middle column and height of every block of columns that has much of the colour."""
    full = mask[body].sum(axis=0)
    columns = np.flatnonzero(full > 30)
    blocks = np.split(columns, np.flatnonzero(np.diff(columns) > 2) + 1)
    return [(int(b.mean()), int(np.median(full[b]))) for b in blocks if b.size > 10]


rows = np.flatnonzero(is_grid[body, 60:].mean(axis=1) > 0.25)
lines = [int(group.mean()) for group in np.split(rows, np.flatnonzero(np.diff(rows) > 3) + 1)]
per_pixel = STEP / np.median(np.diff(lines))
print("grid lines at", lines, "so one pixel is", per_pixel, "cyclists")

found = {}
for year, mask in (("2024", is_green), ("2025", is_orange)):
    heights = [height for _, height in bars(mask)]
    found[year] = [round(h * per_pixel / 250) * 250 for h in heights]
    print(year, dict(zip(MONTHS, found[year], strict=True)))
for month, old, new in zip(MONTHS, found["2024"], found["2025"], strict=True):
    print(month, new - old)
