"""Write the input picture of this task: `python make_files.py`."""

from pathlib import Path

from PIL import Image, ImageDraw

FILES = Path(__file__).parent / "files"
SIZE = (800, 500)
SKY, SEA, QUAY, BAR = "#BFD9E8", "#3E6F8E", "#8C7B6B", "#1F2A33"
SUN, BENCH, MAST = "#F2C14E", "#5A3A22", "#EDEDED"


def bench() -> Image.Image:
    """Return the picture: a bench on the quay, and below it an empty bar for the caption."""
    picture = Image.new("RGB", SIZE, SKY)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 180, 800, 300), fill=SEA)
    draw.rectangle((0, 300, 800, 420), fill=QUAY)
    draw.rectangle((0, 420, 800, 500), fill=BAR)
    draw.ellipse((620, 40, 700, 120), fill=SUN)
    draw.polygon(((120, 235), (260, 235), (235, 265), (145, 265)), fill=MAST)
    draw.line((190, 100, 190, 235), fill=MAST, width=6)
    draw.rectangle((420, 305, 640, 325), fill=BENCH)
    draw.rectangle((420, 345, 640, 360), fill=BENCH)
    for left in (430, 620):
        draw.rectangle((left, 325, left + 10, 395), fill=BENCH)
    return picture


if __name__ == "__main__":
    bench().save(FILES / "bench.png", optimize=True)
