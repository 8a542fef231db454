"""Write the recording and the slides of this task: `python make_files.py`.

`--expected` prints when each call begins, its pitch and its notes.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import soundfile
from pptx import Presentation

from taskdata.banks.making import save_office

FILES = Path(__file__).parent / "files"
WRITTEN = datetime(2026, 5, 13, 7, tzinfo=UTC)
RATE, SECONDS = 16_000, 46
CALLS = (
    (4.3, 1340, 1, 0.70),
    (12.2, 820, 2, 0.60),
    (21.4, 1390, 3, 0.40),
    (31.1, 560, 2, 0.80),
    (40.2, 930, 4, 0.50),
)
"""Beginning in seconds, pitch in Hz, number of notes, largest sample."""
NOTE, PAUSE = 0.32, 0.23
SLIDES = (
    ("Voices of the marsh", ("Class 6b, lesson of 19 May", "Bring headphones")),
    (
        "The quiz",
        (
            "Three questions: the calls from the boardwalk, in the order in which we heard them",
            "call_1.mp3, call_2.mp3 and call_3.mp3, five seconds each, half a second of fade at "
            "both ends",
            "A clip begins one second before the full second at which the log has its call",
        ),
    ),
    (
        "The page quiz.html",
        (
            "Title: Who calls there?",
            "Each question: a heading Question 1, 2 or 3, a link to its clip, all five animals",
            "No solution on the page!",
        ),
    ),
    (
        "For me",
        (
            "solutions.csv: Question, Animal, Notes, Pitch (in Hz, as measured on the clip)",
            "teacher.md: heading Telling them apart, and below it a table with the columns "
            "Question, Animal and Sign; the sign is the number of notes where two cards have the "
            "same range of pitch, and the word pitch otherwise",
        ),
    ),
)


def recording() -> np.ndarray:
    """Return the sound of the walk: a murmur of reeds, and five calls."""
    sound = np.random.default_rng(20260512).normal(0, 0.0015, SECONDS * RATE)
    for start, pitch, notes, peak in CALLS:
        for note in range(notes):
            at = round((start + note * (NOTE + PAUSE)) * RATE)
            time = np.arange(round(NOTE * RATE)) / RATE
            shape = np.minimum(time / 0.008, 1) * np.exp(-time / 0.12)
            tone = np.sin(2 * np.pi * pitch * time) + 0.25 * np.sin(4 * np.pi * pitch * time)
            sound[at : at + time.size] += peak * shape * tone / np.abs(shape * tone).max()
    return sound


def main() -> None:
    """Write `files/`."""
    path = FILES / "night_walk.mp3"
    soundfile.write(path, recording(), RATE, format="MP3", compression_level=0.75)
    deck = Presentation()
    for title, lines in SLIDES:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(lines)
    save_office(deck, FILES / "lesson.pptx", WRITTEN)


if __name__ == "__main__":
    print(*CALLS, sep="\n") if "--expected" in sys.argv else main()
