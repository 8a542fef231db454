"""Write the input files of this task: `python make_files.py`; `--expected` prints the truth."""

import random
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

FILES = Path(__file__).parent / "files"
SEED = 20260518
SIZE = (900, 600)
WOOD, BOARD, INK = (72, 92, 58), (240, 233, 212), (52, 40, 30)
BLURRED = 3

APPROVED = {
    1: [
        "COPPER BROOK TRAIL",
        "Length of the round: 6.8 km",
        "Time on foot: 2 hours 15 minutes",
        "Open all year",
        "Warden: 0155 204 718",
    ],
    2: [
        "THE OLD SMELTER",
        "The chimney is 31 metres high",
        "Mill bridge 2.4 km",
        "Last bus from the mill 18:35",
        "Please keep to the path",
    ],
    3: [
        "HERON POOL",
        "The water is 9 metres deep",
        "No bathing from April to July",
        "Hide for 12 visitors",
        "Dogs on the lead",
    ],
    4: [
        "SEXTON QUARRY",
        "Slate was cut here from 1768",
        "The tramway fell to ruin in 1921",
        "Danger: loose rock above the ledge",
        "Car park 900 m",
    ],
}
# (sign, line): what the note puts in the place of the approved text
CHANGED = {(1, 4): "Closed 1 March to 15 April", (3, 4): "Hide for 8 visitors"}
# (sign, line): what was printed instead of the text now in force
MISPRINTED = {
    (1, 4): "Open all year",
    (2, 3): "Mill bridge 3.4 km",
    (2, 4): "Last bus from the mill 18:53",
    (4, 2): "Slate was cut here from 1786",
}


def wanted(sign: int, line: int) -> str:
    return CHANGED.get((sign, line), APPROVED[sign][line - 1])


def printed(sign: int, line: int) -> str:
    return MISPRINTED.get((sign, line), wanted(sign, line))


def photo(sign: int) -> Image.Image:
    rng = random.Random(SEED + sign)
    picture = Image.new("RGB", SIZE, WOOD)
    pen = ImageDraw.Draw(picture)
    for _ in range(500):
        x, y, green = rng.randrange(SIZE[0]), rng.randrange(SIZE[1]), rng.randrange(70, 130)
        pen.ellipse((x, y, x + 26, y + 10), fill=(green - 25, green, green - 40))
    pen.rectangle((70, 50, 830, 550), fill=BOARD, outline=INK, width=6)
    for number in range(5):
        font = ImageFont.load_default(46 if number == 0 else 38)
        words = printed(sign, number + 1)
        left = (SIZE[0] - pen.textlength(words, font=font)) / 2
        pen.text((left, 82 + 92 * number), words, font=font, fill=INK)
    picture = picture.rotate(rng.uniform(-0.6, 0.6), Image.Resampling.BICUBIC, fillcolor=WOOD)
    return picture.filter(ImageFilter.GaussianBlur(3.4)) if sign == BLURRED else picture


def texts() -> str:
    lines = [
        "# Copper Brook Trail: texts of the signs",
        "",
        "Approved by the board, 3 March 2026.",
        "",
    ]
    for sign, words in APPROVED.items():
        lines += [f"## Sign {sign}", ""]
        lines += [f"{number}. {text}" for number, text in enumerate(words, start=1)] + [""]
    return "\n".join(lines)


def note() -> str:
    return """From: Ragna, warden's office
Date: 21 April 2026

Two lines were changed after the board had met, and the print shop was told in time. They are in
force now and replace what the board approved:

- Sign 1, line 4: Closed 1 March to 15 April
- Sign 3, line 4: Hide for 8 visitors

About the photographs for the archive: one that is blurred (sharpness below 100 by our usual
measurement, the variance of the Laplacian) is of no use there and has to be taken again, even if
the words can just be read. How bright it is does not matter.
"""


def main() -> None:
    if "--expected" in sys.argv:
        for (sign, line), text in MISPRINTED.items():
            print(sign, line, repr(text), "instead of", repr(wanted(sign, line)))
        print("photograph to be taken again: sign", BLURRED)
        return
    FILES.mkdir(exist_ok=True)
    for sign in APPROVED:
        photo(sign).save(FILES / f"sign_{sign}.jpg", quality=72)
    (FILES / "sign_texts.md").write_text(texts(), encoding="utf-8")
    (FILES / "changes.txt").write_text(note(), encoding="utf-8")


if __name__ == "__main__":
    main()
