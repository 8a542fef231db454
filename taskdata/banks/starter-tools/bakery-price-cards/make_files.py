"""Write the input files of this task: `python make_files.py`; `--expected` prints the truth."""

import random
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

FILES = Path(__file__).parent / "files"
SEED = 20261119
SIZE = (720, 480)
WALL, TABLE, LABEL, INK = (58, 98, 140), (196, 150, 92), (250, 246, 232), (35, 30, 25)

# file: name, weight in grams, price, colour of the crust
LOAVES = {
    "bread_1.jpg": ("DARK RYE", 750, "4.80", (110, 66, 34)),
    "bread_2.jpg": ("OAT AND HONEY", 600, "4.50", (178, 122, 60)),
    "bread_3.jpg": ("FIVE SEEDS", 500, "4.40", (140, 92, 48)),
    "bread_4.jpg": ("WHITE FARMER", 800, "5.20", (205, 160, 96)),
}
BRIEF = """# Market day, 5 December

- prices.xlsx: a sheet "Prices" with the columns Bread, Weight (g), Price and Per 100 g, the
  dearest per 100 g first. Per 100 g is calculated from the two columns before it, so that it
  follows when we change a price. Beside it stands a bar chart of Per 100 g.
- The bread that is cheapest per 100 g is our offer. The town paper prints in black and white, so
  it gets offer.jpg in black and white, as large as the photograph, with "OFFER" and the price of
  the day in black letters at the bottom, in the middle. The price of the day is a tenth less than
  usual, rounded to 10 cents.
- The dearest per 100 g goes to the museum's page on old trades as heritage.png, in the brown tone
  of old photographs, without any words of ours.
"""


def photograph(name: str, weight: int, price: str, crust: tuple[int, int, int]) -> Image.Image:
    rng = random.Random(f"{SEED} {name}")
    picture = Image.new("RGB", SIZE, WALL)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 300, *SIZE), fill=TABLE)
    pen.ellipse((60, 170, 400, 390), fill=crust)
    light = tuple(min(255, part + 45) for part in crust)
    for number in range(4):
        pen.arc((100 + 66 * number, 190, 180 + 66 * number, 330), 200, 320, fill=light, width=9)
    for _ in range(60):
        x, y = rng.randrange(110, 350), rng.randrange(220, 350)
        pen.ellipse((x, y, x + 5, y + 4), fill=light)
    pen.rectangle((420, 120, 700, 300), fill=LABEL, outline=INK, width=4)
    for number, words in enumerate((name, f"{weight} g", f"{price} euros")):
        font = ImageFont.load_default(30)
        left = 560 - pen.textlength(words, font=font) / 2
        pen.text((left, 136 + 52 * number), words, font=font, fill=INK)
    return picture


def main() -> None:
    if "--expected" in sys.argv:
        for name, weight, price, _ in LOAVES.values():
            print(name, weight, price, float(price) / weight * 100)
        print("offer: dark rye at 4.30 euros; heritage: five seeds")
        return
    FILES.mkdir(exist_ok=True)
    for file, facts in LOAVES.items():
        photograph(*facts).save(FILES / file, quality=82)
    (FILES / "market_day.md").write_text(BRIEF, encoding="utf-8")


if __name__ == "__main__":
    main()
