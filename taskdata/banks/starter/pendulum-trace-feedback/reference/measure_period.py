"""Period of the swing and g, from the places where the trace goes upwards through its middle."""

import numpy as np
from PIL import Image

page = np.asarray(Image.open("input/printout.png").convert("RGB")).astype(int)
dark = page.sum(axis=2) < 300
sides = np.flatnonzero(dark.mean(axis=0) > 0.5)
edges = np.flatnonzero(dark.mean(axis=1) > 0.5)
left, right = sides.min(), sides.max()
per_second = (right - left) / 10.0

blue = (page[..., 2] - page[..., 0] > 40) & (page[..., 2] - page[..., 1] > 30)
blue = blue[edges.min() + 4 : edges.max() - 3]
columns = np.flatnonzero(blue.any(axis=0))
columns = columns[(columns > left + 2) & (columns < right - 2)]
height = np.array([-np.flatnonzero(blue[:, c]).mean() for c in columns])
seconds = (columns - left) / per_second
rest = (np.percentile(height, 99) + np.percentile(height, 1)) / 2
above = height > rest
crossings = seconds[1:][above[1:] != above[:-1]]
upward = crossings[1::2] if above[0] else crossings[::2]
print("goes through the middle at", crossings.round(2))
period = np.polyfit(np.arange(upward.size), upward, 1)[0]
print(f"{crossings.size} times, upwards {upward.size} times; period {period:.3f} s")
print(f"g = {4 * np.pi**2 * 0.58 / period**2:.2f} m/s2")
