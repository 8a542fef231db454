"""Write the input file of this task: `python make_files.py`; add `--expected` to print the truth.

The chart is drawn pixel by pixel (50 cyclists each), then made to look like a scan: tinted paper,
a fold, specks, soft edges.
"""

import random
import sys
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FILES = Path(__file__).parent / "files"
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
SEED = 4117

# Rounded to 250, as in the report.
LAST_YEAR = [3250, 3750, 6500, 9250, 12500, 14750, 15250, 13500, 11750, 8000, 4750, 3000]
THIS_YEAR = [3500, 3500, 7750, 12250, 13250, 16500, 17750, 14750, 15250, 8750, 5000, 3000]
SEASON = slice(3, 9)  # April to September
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

SIZE = (900, 560)
LEFT, RIGHT, BASE = 90, 870, 490
PER_PIXEL = 50
GROUP, BAR = 65, 22
PAPER, INK, GREY = (247, 243, 232), (58, 56, 60), (196, 192, 184)
GREEN, ORANGE = (62, 122, 84), (226, 132, 44)


def draw_chart() -> Image.Image:
    image = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(image)
    small = ImageFont.truetype(str(FONTS / "DejaVuSans.ttf"), 15)
    large = ImageFont.truetype(str(FONTS / "DejaVuSans-Bold.ttf"), 19)
    draw.text((LEFT, 18), "Fig. 7  Cyclists counted at the Mill Bridge", INK, font=large)
    for number, (colour, label) in enumerate([(GREEN, "2024"), (ORANGE, "2025")]):
        x = 700 + 90 * number
        draw.rectangle((x, 22, x + 14, 36), fill=colour)
        draw.text((x + 22, 20), label, INK, font=small)
    for step in range(5):
        y = BASE - step * 5000 // PER_PIXEL
        draw.line((LEFT, y, RIGHT, y), fill=INK if step == 0 else GREY, width=2 if step == 0 else 1)
        draw.text((LEFT - 10, y), f"{step * 5000:,}", INK, font=small, anchor="rm")
    for month, name in enumerate(MONTHS):
        x = LEFT + month * GROUP + 10
        for shift, values, colour in ((0, LAST_YEAR, GREEN), (BAR + 1, THIS_YEAR, ORANGE)):
            top = BASE - values[month] // PER_PIXEL
            draw.rectangle((x + shift, top, x + shift + BAR - 1, BASE - 1), fill=colour)
        draw.text((x + BAR, BASE + 16), name, INK, font=small, anchor="mm")
    return image


def as_scanned(image: Image.Image) -> Image.Image:
    rng = random.Random(SEED)
    image = image.filter(ImageFilter.GaussianBlur(0.7))
    draw = ImageDraw.Draw(image)
    for _ in range(260):
        x, y = rng.randrange(SIZE[0]), rng.randrange(SIZE[1])
        grey = rng.randint(90, 215)
        draw.rectangle((x, y, x + rng.randint(0, 1), y), fill=(grey, grey, grey - 8))
    fold = Image.new("L", SIZE, 0)
    ImageDraw.Draw(fold).line((447, 0, 455, SIZE[1]), fill=70, width=5)
    fold = fold.filter(ImageFilter.GaussianBlur(3))
    image.paste((120, 116, 108), mask=fold)
    return image.quantize(96, dither=Image.Dither.NONE)


def main() -> None:
    if "--expected" in sys.argv:
        gains = [b - a for a, b in zip(LAST_YEAR, THIS_YEAR, strict=True)]
        best = max(range(12), key=lambda month: gains[month])
        print("season:", sum(gains[SEASON]), "largest gain:", MONTHS[best], gains[best])
        print("whole year (not asked):", sum(gains), "months:", gains)
        return
    FILES.mkdir(exist_ok=True)
    as_scanned(draw_chart()).save(FILES / "report_page_23.png", optimize=True)


if __name__ == "__main__":
    main()
