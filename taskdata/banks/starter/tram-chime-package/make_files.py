"""Write the input files of this task: `python make_files.py`; add `--expected` to print the truth.

The levels are worked out here from the clean measurements, before the list of measurements is
spoilt with other spellings, gaps and typing errors.
"""

import csv
import json
import math
import random
import statistics
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import soundfile
from openpyxl import Workbook
from openpyxl.styles import Font, PatternFill
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from taskdata.banks.making import save_office

FILES = Path(__file__).parent / "files"
WRITTEN = datetime(2026, 3, 5, 8, 0)
SEED = 88200
RATE = 16_000
NOTE_ONSETS = (0.0, 0.45, 0.9)  # seconds after the first attack: E5, C5, G4
NOTES_HZ = (659.26, 523.25, 392.0)

# (id, name, area, clean measurements in dB(A)); None: out of service.
STOPS = [
    ("S01", "Hauptbahnhof", "commercial", [71.5, 73.0, 72.2]),
    ("S02", "Rathaus", "commercial", [66.0, 67.4]),
    ("S03", "Lindenplatz", "mixed", [61.5, 60.3, 62.1, 61.0]),
    ("S04", "Färbergasse", "residential", [52.4, 51.8]),
    ("S05", "Universität", "mixed", [63.8, 64.9, 63.0]),
    ("S06", "Alte Mühle", "residential", [55.0, 57.5]),
    ("S07", "Klinikum", "residential", []),
    ("S08", "Stadion Nord", "commercial", None),
    ("S09", "Güterhof", "commercial", [68.9, 70.3, 69.6]),
    ("S10", "Am Wehr", "residential", [49.0, 50.6, 50.1]),
    ("S11", "Messe", "commercial", [64.2, 65.2]),
    ("S12", "Kirchsteig", "residential", [58.3, 58.0, 59.4]),
    ("S13", "Technikpark", "mixed", []),
    ("S14", "Seeufer", "mixed", [56.2, 54.6]),
]
# Lines that must not count: (stop, text of the value).
BAD_VALUES = [
    ("S03", "615"),
    ("S04", "error"),
    ("S07", "n/a"),
    ("S09", "6.99"),
    ("S10", ""),
    ("S13", "0"),
    ("S14", "148,0 dB(A)"),
]


def levels() -> list[dict]:
    """Day and night level of every stop in service, by the rules of the specification."""
    in_service = [stop for stop in STOPS if stop[3] is not None]
    means = {stop[0]: statistics.fmean(stop[3]) for stop in in_service if stop[3]}
    middle = statistics.median(means.values())
    rows = []
    for stop, name, area, _ in in_service:
        day = math.floor(min(78, max(62, means.get(stop, middle) + 8)) + 0.5)
        night = day - (6 if area == "residential" else 3)
        rows.append({"id": stop, "name": name, "day_db": day, "night_db": night})
    return rows


def chime(seconds: float, onset: float, rng: np.random.Generator) -> np.ndarray:
    """A struck metal bar, three notes, as one channel with a little room noise."""
    time = np.arange(round(seconds * RATE)) / RATE
    sound = np.zeros_like(time)
    for start, pitch in zip(NOTE_ONSETS, NOTES_HZ, strict=True):
        t = np.clip(time - onset - start, 0, None)
        strike = np.where(t > 0, np.minimum(t / 0.004, 1), 0)
        for partial, weight, decay in ((1, 1.0, 0.9), (2.76, 0.25, 0.25), (5.4, 0.08, 0.08)):
            sound += weight * strike * np.exp(-t / decay) * np.sin(2 * np.pi * pitch * partial * t)
    return sound / np.abs(sound).max() + rng.normal(0, 0.0012, time.size)


def knock(sound: np.ndarray, at: float, level: float, rng: np.random.Generator) -> None:
    """Add a dull bang: a heel, a door."""
    start, length = round(at * RATE), round(0.09 * RATE)
    t = np.arange(length) / RATE
    bang = (np.sin(2 * np.pi * 95 * t) + 0.4 * rng.normal(size=length)) * np.exp(-t / 0.02)
    sound[start : start + length] += level * bang


def write_takes() -> None:
    rng = np.random.default_rng(SEED)
    seconds = 2.5

    def save(number: int, left: np.ndarray, right: np.ndarray) -> None:
        frames = np.clip(np.stack([left, right], axis=1), -1, 32767 / 32768)
        soundfile.write(FILES / f"take_{number}.wav", frames, RATE, subtype="PCM_16")

    hot = 1.6 * chime(seconds, 0.31, rng)
    save(1, hot, 0.93 * hot + rng.normal(0, 0.001, hot.size))
    swapped = 0.62 * chime(seconds, 0.38, rng)
    save(2, swapped, -0.97 * swapped + rng.normal(0, 0.001, swapped.size))
    good = 0.55 * chime(seconds, 0.46, rng)
    knock(good, 0.14, 0.16, rng)
    knock(good, 2.33, 0.45, rng)
    save(3, good, 0.9 * good + rng.normal(0, 0.001, good.size))

    time = np.arange(round(0.6 * 44_100)) / 44_100
    gate = np.minimum(1, np.minimum(time, 0.6 - time) / 0.01)
    tone = 0.8 * gate * np.sign(np.sin(2 * np.pi * 740 * time)) * 0.5
    tone += 0.4 * gate * np.sin(2 * np.pi * 740 * time)
    soundfile.write(FILES / "warning_tone.wav", tone, 44_100, subtype="PCM_16")


def write_log() -> None:
    rows = [
        ["take", "bars", "time", "remark"],
        ["1", "rosewood mallet", "10:42", "hot signal, sounds great on the monitors!"],
        ["2", "felt mallet", "10:51", "best feeling of the three, KEEPER (Jonas)"],
        [
            "3",
            "felt mallet",
            "10:58",
            "a heel before the first note, a door at the end. spare",
        ],
    ]
    with (FILES / "session_log.csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)


def write_measurements() -> None:
    rng = random.Random(SEED)
    lines = []
    for stop, _, _, values in STOPS:
        for value in values or []:
            lines.append((stop, value))
    lines += BAD_VALUES
    rng.shuffle(lines)
    with (FILES / "noise_measurements.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=";", lineterminator="\n")
        writer.writerow(["nr", "stop", "measured", "ambient noise", "by"])
        for number, (stop, value) in enumerate(lines, start=1):
            plain = value if isinstance(value, str) else f"{value:.1f}"
            if not isinstance(value, str):
                comma = plain.replace(".", ",")
                plain = rng.choice([plain, comma, f"{plain} dB", f"{comma} dB(A)", f" {comma}"])
            code = rng.choice([stop, stop.lower(), f"S-{stop[1:]}", f"S{int(stop[1:])}"])
            day = f"{rng.randint(3, 27):02d}.02.2026"
            writer.writerow([number, code, day, plain, rng.choice(["kw", "KW", "TeB", ""])])


def write_stops() -> None:
    book = Workbook()
    sheet = book.active
    sheet.title = "Line 4"
    sheet.append(["Lindenbahn, line 4: stops"])
    sheet.append(["as of 1 March 2026"])
    sheet.append([])
    sheet.append(["Stop", "Name", "Area", "Platforms", "Status"])
    for cell in sheet[4]:
        cell.font = Font(bold=True)
        cell.fill = PatternFill("solid", fgColor="D9E2EC")
    sheet["A1"].font = Font(bold=True, size=14)
    for i, (stop, name, area, values) in enumerate(STOPS):
        status = "out of service until spring 2027" if values is None else "in service"
        sheet.append([stop, name, area, 1 + (i % 3 == 0), status])
    for column, width in zip("ABCDE", (8, 20, 14, 11, 32), strict=True):
        sheet.column_dimensions[column].width = width
    save_office(book, FILES / "stops.xlsx", WRITTEN)


def write_specification() -> None:
    styles = getSampleStyleSheet()
    body, head = styles["BodyText"], styles["Heading2"]
    body.fontSize, body.leading = 10, 14

    def grid(rows: list[list[str]], widths: list[float]) -> Table:
        table = Table([[Paragraph(cell, body) for cell in row] for row in rows], widths)
        table.setStyle(
            TableStyle(
                [
                    ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
                    ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#D9E2EC")),
                    ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ]
            )
        )
        return table

    story = [
        Paragraph("Audio signals on line 4", styles["Title"]),
        Paragraph("Delivery specification TC-4, issue 2, 12 January 2026", body),
        Paragraph("1. Choice of the take", head),
        Paragraph(
            "Stop loudspeakers and vehicles are mono. A take is usable if (a) nowhere more than "
            "three samples in a row stand at full scale, in either channel, and (b) its level does "
            "not fall by more than 6 dB against the left channel alone when both channels are "
            "averaged into one. If several takes are usable, the one with the lowest number is "
            "used; if the session log thinks otherwise, these rules win.",
            body,
        ),
        Paragraph("2. Signals", head),
        grid(
            [
                ["", "Station signal", "Vehicle signal"],
                ["File", "chime_station.wav", "chime_vehicle.wav"],
                [
                    "Content",
                    "the chime",
                    "chime, pause of 0.50 s, chime again, pause of 0.40 s, "
                    "warning tone in full (0.60 s)",
                ],
                ["Length", "1.80 s", "5.10 s"],
                ["Format", "WAV, 16 bit, mono, 16 kHz", "WAV, 16 bit, mono, 11.025 kHz"],
                ["Highest peak", "-3 dBFS", "-3 dBFS"],
            ],
            [28 * mm, 60 * mm, 80 * mm],
        ),
        Spacer(1, 4 * mm),
        Paragraph(
            "The chime starts with the attack of its first note: no more than 10 ms of lead-in, no "
            "noises of the room before it. It is 1.80 s long in both signals, and its last 0.30 s "
            "fade to nothing in a straight line. Pauses are true digital silence. In the vehicle "
            "signal chime and warning tone are set to the same peak. Levels of the files are "
            "measured on the finished file, after any conversion.",
            body,
        ),
        PageBreak(),
        Paragraph("3. Levels at the stops", head),
        Paragraph(
            "The ambient noise of a stop is the mean of its valid measurements. Values that are "
            "not numbers, or lie outside 30 to 110 dB(A), are errors and do not count. A stop "
            "without a valid measurement is given the median of the ambient noise of the stops "
            "that have one. Stops out of service are left out of everything.",
            body,
        ),
        Paragraph(
            "Day level = ambient noise + 8 dB, at least 62 dB and at most 78 dB, then rounded to "
            "whole dB (halves up). Night level, from 21:00 = day level - 6 dB in residential "
            "areas, - 3 dB elsewhere; the lower limit does not apply at night.",
            body,
        ),
        Paragraph("4. playback.json", head),
        Paragraph(
            "One object. <b>take</b>: number of the take used. <b>files</b>: a list, station "
            "signal first, of objects with <b>name</b>, <b>seconds</b>, <b>sample_rate</b> (Hz), "
            "<b>channels</b> and <b>peak_dbfs</b> (one decimal). <b>stops</b>: a list in order "
            "of stop of objects with <b>id</b> (as S01), <b>name</b>, <b>day_db</b>, "
            "<b>night_db</b>; "
            "levels are numbers.",
            body,
        ),
        Paragraph("5. Cue sheet", head),
        Paragraph(
            "A Word document for the operators, cue_sheet.docx, with the title 'Cue sheet line 4' "
            "and the headings 'Signals', 'Levels by stop' and 'Source and edits', in this order. "
            "Signals: when each signal is played and what it consists of. Levels by stop: a table "
            "Stop, Name, Day (dB), Night (dB). Source and edits: which take was used, why the "
            "others were not, and everything that was done to it. The footer carries the document "
            "number: the specification's with the issue now in force, written like 'TC-4/1'.",
            body,
        ),
    ]
    document = SimpleDocTemplate(
        str(FILES / "delivery_specification.pdf"),
        pagesize=A4,
        title="Delivery specification TC-4",
        invariant=1,
    )
    document.build(story)


def write_note() -> None:
    (FILES / "change_note.txt").write_text(
        """Change note to TC-4, issue 2
Lindenbahn vehicle engineering, 27 February 2026

The new on-board units play 8 kHz only. Chapter 2 of the specification is therefore changed for the
VEHICLE signal: sample rate 8 kHz (was 11.025 kHz), highest peak -6 dBFS (was -3 dBFS; the small
loudspeakers distort). Still 16 bit, mono. The station signal stays as it is.

With this note the specification becomes issue 3.

When they are played, for the cue sheet:
 - station signal: before every spoken announcement on the platform
 - vehicle signal: in the vehicle, before announcements of disruptions and diversions only
""",
        encoding="utf-8",
    )


def main() -> None:
    if "--expected" in sys.argv:
        print(json.dumps({"take": 3, "stops": levels()}, ensure_ascii=False, indent=1))
        return
    FILES.mkdir(exist_ok=True)
    write_takes()
    write_log()
    write_measurements()
    write_stops()
    write_specification()
    write_note()


if __name__ == "__main__":
    main()
