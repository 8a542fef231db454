"""Write the input files of this task: `python make_files.py`; add `--expected` to print the truth.

The trace is a damped swing around a rest position that is not the middle of the paper.
"""

import math
import sys
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FILES = Path(__file__).parent / "files"
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
SEED = 580

LENGTH_M = 0.58
PERIOD_S = 1.503
SECONDS = 10.0
LEFT, TOP, RIGHT, BOTTOM = 60, 70, 1060, 420  # the frame; 100 pixels a second
PAPER, RULES, FRAME, TRACE = (250, 248, 240), (214, 222, 214), (70, 70, 74), (38, 66, 168)

NOTE = """Logger printout, station 4, group of Matilda, Bo and Farid

The printout runs 10.0 s from the left edge of the frame to the right one.
String and ball: 58.0 cm from the hook to the middle of the ball.

What we did (Matilda):
I put a ruler on the line where the pendulum hangs at rest and counted how often the curve goes
through it. That was 13 times. 10 s : 13 = 0.77 s, so the period is T = 0.77 s.

g = 4 x pi^2 x l / T^2 = 4 x 9.87 x 0.58 m / 0.593 s^2 = 38.6 m/s^2

That's four times what the book says. Did the hook rub??
"""


def g(period: float) -> float:
    return 4 * math.pi**2 * LENGTH_M / period**2


def draw_trace() -> Image.Image:
    rng = np.random.default_rng(SEED)
    image = Image.new("RGB", (1120, 480), PAPER)
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype(str(FONTS / "DejaVuSansMono.ttf"), 16)
    for x in range(LEFT, RIGHT + 1, 50):
        draw.line((x, TOP, x, BOTTOM), fill=RULES)
    for y in range(TOP, BOTTOM + 1, 50):
        draw.line((LEFT, y, RIGHT, y), fill=RULES)
    draw.rectangle((LEFT, TOP, RIGHT, BOTTOM), outline=FRAME, width=2)
    draw.text((LEFT, 38), "CH1 angle   station 4   10.0 s / page", FRAME, font=font)
    draw.text((LEFT, BOTTOM + 14), "0.0 s", FRAME, font=font)
    draw.text((RIGHT, BOTTOM + 14), "10.0 s", FRAME, font=font, anchor="ra")
    scale = 4  # drawn large and shrunk, for a smooth line
    ink = Image.new("L", (image.width * scale, image.height * scale), 0)
    time = np.linspace(0.03, SECONDS - 0.03, 3000)
    swing = 128 * np.exp(-time / 31) * np.sin(2 * np.pi * time / PERIOD_S + 0.62)
    x = LEFT + time * (RIGHT - LEFT) / SECONDS
    y = 252 - swing + np.convolve(rng.normal(0, 2.2, time.size), np.ones(25) / 25, mode="same")
    points = [(a * scale, b * scale) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    ImageDraw.Draw(ink).line(points, fill=255, width=3 * scale, joint="curve")
    image.paste(TRACE, mask=ink.resize(image.size, Image.Resampling.BOX))
    return image.filter(ImageFilter.GaussianBlur(0.5)).quantize(64, dither=Image.Dither.NONE)


def main() -> None:
    if "--expected" in sys.argv:
        print("period", PERIOD_S, "g", g(PERIOD_S))
        print("doubling hers:", g(2 * 0.77), g(2 * 10 / 13))
        return
    FILES.mkdir(exist_ok=True)
    draw_trace().save(FILES / "printout.png", optimize=True)
    (FILES / "matilda.txt").write_text(NOTE, encoding="utf-8")


if __name__ == "__main__":
    main()
