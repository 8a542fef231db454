"""Write the input files of this task: `python make_files.py`, `--expected` prints the truth."""

import csv
import sys
from pathlib import Path

FILES = Path(__file__).parent / "files"

H, L, S = "Havnsund", "Lyngøy", "Storholm"
# (from, to, minutes under way, {departure: days and marks})
SAILINGS = [
    (H, L, 35, {"06:10": "1-5", "07:40": "1-7", "09:10": "1-6", "10:45": "1-7", "11:20": "6 7",
                "11:35": "1-5", "13:00": "1-7", "14:30": "1-7", "16:00": "1-7", "17:30": "1-7",
                "19:10": "1-6"}),
    (L, S, 40, {"06:55": "1-5", "08:25": "1-7", "10:00": "1-6", "12:00": "1-7", "12:40": "6 7",
                "13:50": "1-7", "15:15": "1-7", "16:45": "1-7", "18:15": "1-7"}),
    (H, S, 65, {"08:00": "1-6", "11:05": "1-5", "12:05": "6 7 x", "15:30": "1-7"}),
    (S, L, 40, {"07:05": "1-6", "09:15": "1-7", "11:10": "1-7", "13:30": "1-7", "15:20": "1-7",
                "16:40": "1-7", "17:35": "6 7", "18:20": "1-7", "19:05": "1-5"}),
    (L, H, 35, {"06:50": "1-5", "08:20": "1-7", "10:10": "1-7", "12:25": "1-7", "14:45": "1-7",
                "16:10": "1-7", "17:40": "1-5", "18:25": "6 7", "19:15": "1-7"}),
    (S, H, 65, {"09:20": "1-6", "13:40": "1-7", "16:35": "1-7", "17:30": "1-5", "17:52": "m",
                "18:05": "6 7 x", "20:00": "1-7"}),
]  # fmt: skip
CHANGE, WALK, BOARDING = 8, 12, 5
BUS, TRAIN, ON_PLATFORM = "10:40", "19:25", 10

LEGEND = """Skerry Line, summer timetable, 1 June to 31 August 2026

Days       1 = Monday ... 7 = Sunday; 1-5 = Monday to Friday, 6 7 = Saturday and Sunday
x          does not sail on 19, 20 and 21 June (midsummer)
m          sails on 19, 20 and 21 June only

Changing at Lyngøy takes 8 minutes: ships do not wait for each other.
Boarding closes 5 minutes before departure.
Havnsund: 12 minutes on foot between the quay and the bus and railway station.
Tickets on board. Dogs travel free.
"""


def clock(text: str) -> int:
    hours, minutes = text.split(":")
    return 60 * int(hours) + int(minutes)


def written(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def sails(days: str, use_marks: bool = True) -> bool:
    """Whether it sails on Saturday 20 June 2026."""
    if "m" in days:
        return use_marks
    if "x" in days and use_marks:
        return False
    return "1-5" not in days


def journeys(start: str, end: str, use_marks: bool = True, change: int = CHANGE) -> list[tuple]:
    """All (departure, arrival) in minutes, with one change at most."""
    legs = [
        (a, b, clock(departure), clock(departure) + minutes)
        for a, b, minutes, departures in SAILINGS
        for departure, days in departures.items()
        if sails(days, use_marks)
    ]
    direct = [(d, t) for a, b, d, t in legs if (a, b) == (start, end)]
    changing = [
        (d, t2)
        for a, b, d, t in legs
        if (a, b) == (start, L)
        for a2, b2, d2, t2 in legs
        if (a2, b2) == (L, end) and d2 >= t + change
    ]
    return sorted(direct + changing)


def stay(use_marks: bool = True, change: int = CHANGE) -> tuple[str, str, int]:
    earliest = clock(BUS) + WALK + BOARDING
    latest = clock(TRAIN) - ON_PLATFORM - WALK
    out = [j for j in journeys(H, S, use_marks, change) if j[0] >= earliest]
    back = [j for j in journeys(S, H, use_marks, change) if j[1] <= latest]
    arrival = min(t for _, t in out)
    leaving = max(d for d, _ in back)
    departure = max(d for d, t in out if t == arrival)
    return written(departure), written(leaving), leaving - arrival


def main() -> None:
    if "--expected" in sys.argv:
        print("right:", stay())
        print("marks x and m not heeded:", stay(use_marks=False))
        print("changes in no time:", stay(change=0))
        return
    FILES.mkdir(exist_ok=True)
    with (FILES / "skerry_line_summer_2026.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=";", lineterminator="\n")
        writer.writerow(["from", "to", "dep", "arr", "days"])
        for start, end, minutes, departures in SAILINGS:
            for departure, days in departures.items():
                writer.writerow([start, end, departure, written(clock(departure) + minutes), days])
    (FILES / "legend.txt").write_text(LEGEND, encoding="utf-8")


if __name__ == "__main__":
    main()
