"""Write the input files of this task: `python make_files.py`; add `--expected` to print the truth.

Low sample rate, because the horn is low and the file is to be small.
"""

import csv
import sys
from pathlib import Path

import numpy as np
import soundfile

FILES = Path(__file__).parent / "files"
SEED = 2417
RATE = 2000
SECONDS = 46.0
HEARD_FROM = 2.7  # seconds into the recording

# (number, name, latitude, longitude, lengths of blast and silence in turn), in seconds
STATIONS = [
    ("B2404.0", "Ytre Kalven", "59 02.10 N", "10 31.75 E", "1.5 28.5"),
    ("B2405.5", "Måsskjær", "59 03.62 N", "10 27.40 E", "2.0 2.0 2.0 24.0"),
    ("B2408.0", "Gåsungane", "59 05.00 N", "10 40.18 E", "2.5 1.5 2.5 13.5"),
    ("B2410.2", "Store Ravn", "59 05.81 N", "10 22.96 E", "1.0 1.0 1.0 1.0 1.0 25.0"),
    ("B2411.0", "Lille Ravn", "59 06.07 N", "10 23.33 E", "3.0 2.0 3.0 12.0"),
    ("B2413.4", "Torbjørnskjær", "59 07.94 N", "10 36.50 E", "2.5 17.5"),
    ("B2415.0", "Flatholmen", "59 09.20 N", "10 29.07 E", "1.5 1.5 1.5 15.5"),
    ("B2417.3", "Skarvholmen", "59 10.46 N", "10 33.88 E", "2.5 1.5 2.5 15.5"),
    ("B2419.0", "Svartskjær", "59 11.33 N", "10 25.60 E", "2.5 2.5 2.5 14.5"),
    ("B2420.8", "Kongsbåen", "59 12.75 N", "10 37.21 E", "2.0 1.5 2.0 16.5"),
    ("B2422.0", "Hestesundet", "59 14.08 N", "10 30.92 E", "5.0 17.0"),
    ("B2424.6", "Nordre Tjeldet", "59 15.51 N", "10 34.45 E", "2.5 1.5 2.5 1.5 2.5 11.5"),
    ("B2426.0", "Bleikøya", "59 16.90 N", "10 28.36 E", "3.0 1.0 3.0 15.0"),
    ("B2428.2", "Vestre Sauen", "59 18.12 N", "10 39.04 E", "2.5 1.5 2.5 23.5"),
]
HEARD = 7


def phases(text: str) -> list[float]:
    return [float(part) for part in text.split()]


def recording() -> np.ndarray:
    rng = np.random.default_rng(SEED)
    time = np.arange(round(SECONDS * RATE)) / RATE
    swell = 0.5 + 0.5 * np.sin(2 * np.pi * time / 7.3 + 1.1)
    noise = np.convolve(rng.normal(size=time.size), np.ones(6) / 6, mode="same")
    sound = 0.07 * noise * (0.5 + swell)
    starts, at, lengths = [], HEARD_FROM, phases(STATIONS[HEARD][4])
    while at < SECONDS:
        for number, length in enumerate(lengths):
            if number % 2 == 0:
                starts.append((at, length))
            at += length
    for start, length in starts:
        t = time - start
        gate = np.clip(np.minimum(t / 0.06, (length - t) / 0.06), 0, 1)
        tone = sum(np.sin(2 * np.pi * 178 * k * t) / k for k in (1, 2, 3))
        sound += 0.42 * gate * tone
    # An oar on the gunwale; a gull.
    for at, pitch, length, level in ((14.1, 90, 0.12, 0.5), (33.6, 760, 0.35, 0.16)):
        t = time - at
        inside = (t >= 0) & (t < length)
        sound += inside * level * np.sin(2 * np.pi * pitch * t) * np.exp(-np.clip(t, 0, None) / 0.1)
    return np.clip(sound, -0.98, 0.98)


def main() -> None:
    if "--expected" in sys.argv:
        number, name, *place, text = STATIONS[HEARD]
        print(number, name, *place, "period", sum(phases(text)))
        return
    FILES.mkdir(exist_ok=True)
    soundfile.write(FILES / "fog_0612.wav", recording(), RATE, subtype="PCM_U8")
    with (FILES / "fog_signals.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["number", "station", "latitude", "longitude", "blasts and silences (s)"])
        for *facts, text in STATIONS:
            spoken = zip(("bl", "si") * 9, phases(text), strict=False)
            writer.writerow([*facts, " ".join(f"{kind} {length:.1f}" for kind, length in spoken)])


if __name__ == "__main__":
    main()
