"""Write the input files of this task: `python make_files.py`; add `--expected` to print the truth.

OpenCV draws the QR code; ffmpeg comes with imageio-ffmpeg.
"""

import subprocess
import sys
from pathlib import Path

import cv2
import imageio_ffmpeg
from PIL import Image, ImageDraw, ImageFont

FILES = Path(__file__).parent / "files"
SIZE = (480, 270)
FRAMES_PER_SECOND = 10
NAVY, WHITE, SKY, SEA, HULL = (
    (18, 40, 82),
    (245, 245, 240),
    (196, 220, 235),
    (60, 110, 140),
    (150, 40, 30),
)
CODE = "https://ferry-marta.example/safety/v2"
# (first second, end, lines of a card); without lines: the harbour, or the code
SCENES = [
    (0, 4, ["WELCOME ABOARD", "THE MARTA"]),
    (4, 9, ["84 LIFE JACKETS", "UNDER THE SEATS", "ON DECK 2"]),
    (9, 16, "harbour"),
    (16, 21, ["ASSEMBLY STATION", "ON THE FORE DECK"]),
    (21, 25, "code"),
    (25, 29, ["IN CASE OF FIRE", "RING THE BELL TWICE"]),
]
LAUNCH = (10.5, 14.5)  # seconds during which the pilot boat crosses
NOTE = """From: Ilse, nautical office
To: Communication

Since the refit the old film is wrong in places. What is true now:

- There are 96 life jackets on board. They are still under the seats on deck 2.
- The assembly station is on the aft deck.
- The fire bell is rung twice, as before, and the link behind the code is right.

Until a new film is made, wrong cards get a caption at the bottom that begins with "NEW:", for as
long as the card is shown: "NEW: 96 life jackets" and the like. Right cards get none.

For the press kit we need the crossing of the pilot boat on its own, from second 10 to second 15 of
the film, without captions.
"""


def card(lines: list[str]) -> Image.Image:
    picture = Image.new("RGB", SIZE, NAVY)
    pen = ImageDraw.Draw(picture)
    font = ImageFont.load_default(34)
    for number, words in enumerate(lines):
        left = (SIZE[0] - pen.textlength(words, font=font)) / 2
        pen.text((left, 40 + 52 * number), words, font=font, fill=WHITE)
    return picture


def harbour(second: float) -> Image.Image:
    picture = Image.new("RGB", SIZE, SKY)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 150, *SIZE), fill=SEA)
    pen.rectangle((0, 110, 60, 160), fill=(120, 100, 80))
    start, end = LAUNCH
    if start <= second < end:
        # It comes from the right and goes to the left.
        x = SIZE[0] - (SIZE[0] + 70) * (second - start) / (end - start)
        pen.polygon([(x, 168), (x + 70, 168), (x + 58, 190), (x + 12, 190)], fill=HULL)
        pen.rectangle((x + 22, 150, x + 46, 168), fill=WHITE)
    return picture


def code() -> Image.Image:
    picture = Image.new("RGB", SIZE, WHITE)
    pixels = Image.fromarray(cv2.QRCodeEncoder.create().encode(CODE))
    side = pixels.width * (220 // pixels.width)
    picture.paste(
        pixels.resize((side, side), Image.Resampling.NEAREST), ((SIZE[0] - side) // 2, 25)
    )
    return picture


def frame(second: float) -> Image.Image:
    shown = next(what for start, end, what in SCENES if start <= second < end)
    if shown == "harbour":
        return harbour(second)
    return code() if shown == "code" else card(list(shown))


def main() -> None:
    if "--expected" in sys.argv:
        print("wrong: 84 life jackets (4 to 9 s), fore deck (16 to 21 s); boat from right to left")
        print("code:", CODE)
        return
    FILES.mkdir(exist_ok=True)
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-f", "rawvideo"]
    command += ["-pix_fmt", "rgb24", "-s", "{}x{}".format(*SIZE), "-r", str(FRAMES_PER_SECOND)]
    command += ["-i", "-", "-c:v", "libx264", "-crf", "24", "-pix_fmt", "yuv420p", "-threads", "1"]
    command += ["-map_metadata", "-1", "-fflags", "+bitexact", str(FILES / "safety_film.mp4")]
    number = SCENES[-1][1] * FRAMES_PER_SECOND
    frames = (frame(n / FRAMES_PER_SECOND).tobytes() for n in range(number))
    subprocess.run(command, input=b"".join(frames), check=True)
    (FILES / "refit.txt").write_text(NOTE, encoding="utf-8")


if __name__ == "__main__":
    main()
