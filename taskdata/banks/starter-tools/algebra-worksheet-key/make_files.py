"""Write the input files of this task: `python make_files.py`; `--expected` prints the truth."""

import random
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

FILES = Path(__file__).parent / "files"
SEED = 20261005
SIZE = (1000, 860)

SCANS = {
    "worksheet_14.png": [
        "Worksheet 14, class 9b",
        "",
        "1. For 3 adult and 2 child tickets we pay 50 euros,",
        "    for 5 adult tickets and 1 child ticket 70.50 euros.",
        "    What does each ticket cost?",
        "2. The product of two numbers is 84,",
        "    and their sum is 19. Which numbers are they?",
        "3. True or false, for whole numbers?",
        "    a) Divided by 6 a number leaves 3. Then it is odd.",
        "    b) The sum of three numbers is even.",
        "        Then all three of them are even.",
        "4. Taxi A: 3 euros and 2 euros for each kilometre.",
        "    Taxi B: 6 euros and 1.25 euros for each kilometre.",
        "    For which distance do they cost the same?",
    ],
    "ida.png": [
        "Ida, class 9b, worksheet 14",
        "",
        "1. One adult ticket costs 13 euros,",
        "    one child ticket costs 6 euros.",
        "2. The numbers are 7 and 12.",
        "3. a) true",
        "    b) true, because even and even is even",
        "4. For 4.5 kilometres",
    ],
    "jonas.png": [
        "Jonas, class 9b, worksheet 14",
        "",
        "1. An adult pays 13 euros, a child 5.50 euros.",
        "2. The numbers are 6 and 13.",
        "3. a) false",
        "    b) false",
        "4. For 4 kilometres",
    ],
}
NOTE = """# How I mark worksheet 14

| question | points |
| --- | --- |
| 1 | 4 |
| 2 | 2 |
| 3a | 1 |
| 3b | 1 |
| 4 | 2 |

- Question 1 asks for two prices; each right price earns half of the points.
- Anything else is either right, with all of its points, or wrong, with none.
- In the key, a true statement is called "proved", and a false one comes with a counterexample.
- The key shows a graph for question 4: both fares at 0, 2, 4, 6 and 8 km as lines, named Taxi A and
  Taxi B, 1200 x 800 pixels.
"""


def scan(lines: list[str], seed: int) -> Image.Image:
    rng = random.Random(seed)
    page = Image.new("L", SIZE, 250)
    pen = ImageDraw.Draw(page)
    for number, words in enumerate(lines):
        font = ImageFont.load_default(36 if number == 0 else 32)
        pen.text((60, 50 + 54 * number), words, font=font, fill=35)
    for _ in range(120):
        pen.point((rng.randrange(SIZE[0]), rng.randrange(SIZE[1])), fill=rng.randrange(120, 200))
    page = page.rotate(rng.uniform(-0.4, 0.4), Image.Resampling.BICUBIC, fillcolor=250)
    return page.filter(ImageFilter.GaussianBlur(0.6)).quantize(16)


def main() -> None:
    if "--expected" in sys.argv:
        print("adult 13, child 5.50; 7 and 12; true; false, 1 + 1 + 2 for instance; 4 km, 11 euros")
        print("Ida 2 2 1 0 0 = 5; Jonas 4 0 0 1 2 = 7")
        return
    FILES.mkdir(exist_ok=True)
    for number, (name, lines) in enumerate(SCANS.items()):
        scan(lines, SEED + number).save(FILES / name, optimize=True)
    (FILES / "marking.md").write_text(NOTE, encoding="utf-8")


if __name__ == "__main__":
    main()
