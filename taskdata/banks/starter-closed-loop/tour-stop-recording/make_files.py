"""Write the input recording of this task: `python make_files.py`; the bytes are always the same.

Two strokes of a bell with hiss over everything, a knock before them and handling noise after them.
"""

import math
import random
import struct
import wave
from pathlib import Path

FILES = Path(__file__).parent / "files"
RATE = 8000
SECONDS = 9.0
STROKES = (1.5, 4.0)
SEED = 20260211


def samples() -> list[float]:
    """Return the recording, 1 is full scale."""
    noise = random.Random(SEED)
    found = []
    for number in range(int(SECONDS * RATE)):
        second = number / RATE
        value = 0.006 * (2 * noise.random() - 1)
        for start in STROKES:
            if start <= second < start + 2.0:
                age = second - start
                value += 0.55 * math.exp(-2.2 * age) * math.sin(2 * math.pi * 440 * age)
        if 0.5 <= second < 0.56:
            value += 0.5 * (2 * noise.random() - 1)
        if second >= 7.2:
            value += 0.25 * (2 * noise.random() - 1)
        found.append(value)
    return found


def main() -> None:
    """Write the file."""
    with wave.open(str(FILES / "bell_raw.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(b"".join(struct.pack("<h", round(32767 * s)) for s in samples()))


if __name__ == "__main__":
    main()
