"""Write files/: three texts, the vocabulary list of a school book, and what goes with them.

Which headword stands in which part of the book is decided below; the list then shows it the way
many teachers type. `python make_files.py --expected` prints what task.yaml expects.
"""

import csv
import random
import re
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from taskdata.banks.making import save_office

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
WRITTEN = datetime(2026, 1, 12, 8, 0)
SEED = 88
COPIED = ("department_guide.md", "note_from_ivan.txt", "dictionary.csv", "word_forms.csv")
# Headwords in parts that the class has not done, and those in no part at all.
PARTS = {
    "6B": ["rope", "current", "ferry", "asleep", "snore"],
    "7A": ["deck", "cabin", "narrow", "wheel"],
    "7B": ["railing", "lantern", "tick", "repair", "refuse", "war", "handwriting"],
    "8A": ["wonder", "scrap"],
    "8C": ["tune", "hum", "whistle"],  # the song, which they know
}
NOWHERE = "pale apprentice blush brass clockmaker fade frown screwdriver tiny".split()  # noqa: SIM905
NEVER_USED = """airport answer apple autumn bicycle castle cheese corner cousin dentist factory
garden grey hungry island kitchen lazy market neighbour orange pocket queen river shoulder spring
teacher travel umbrella village weather yellow""".split()  # noqa: SIM905
# Which meaning in the dictionary is the one of the text.
SENSES = {"cabin": 2, "current": 2, "deck": 2, "rope": 2}


def forms() -> dict[str, str]:
    with (TEXTS / "word_forms.csv").open(encoding="utf-8", newline="") as file:
        return {row["form"]: row["headword"].lower() for row in csv.DictReader(file)}


def text(letter: str) -> tuple[str, str, set[str]]:
    """Title, running text and names of a text."""
    title, running, names = (TEXTS / f"text_{letter}.txt").read_text(encoding="utf-8").split("\n\n")
    return title, running, set(re.findall(r"[a-z]+", names.lower())) - {"names"}


def headwords(running: str, names: set[str]) -> list[str]:
    """The headword of every word, empty for a name."""
    lemma = forms()
    words = re.findall(r"[a-z]+", running.lower())
    return ["" if w in names else lemma.get(w, w) for w in words]


def taught() -> dict[str, str]:
    """The part of the book of every headword in it."""
    rng = random.Random(SEED)
    parts = {word: part for part, words in PARTS.items() for word in words}
    every = {h for letter in "abc" for h in headwords(*text(letter)[1:])} - {""}
    early = [f"{unit}{part}" for unit in range(1, 7) for part in "AB" if (unit, part) != (6, "B")]
    for word in sorted((every | set(NEVER_USED)) - set(parts) - set(NOWHERE)):
        parts[word] = rng.choice(early)
    return parts


def known() -> set[str]:
    later = {word for part in ("6B", "7A", "7B", "8A") for word in PARTS[part]}
    return {"", *taught()} - later | {"asleep"}  # asleep stands in 2A as well


def sentences(running: str) -> list[str]:
    found = re.split(r"(?<=[.?!])\s+|(?<=[.?!][\"”])\s+(?=[A-Z\"])", " ".join(running.split()))
    return [s for s in found if s]


def print_expected() -> None:
    lemma = forms()
    for letter in "abc":
        title, running, names = text(letter)
        words = headwords(running, names)
        right = sum(w in known() for w in words)
        print([title, len(words), right, round(100 * right / len(words), 1)])
        print("  every part known:", sum(w in {"", *taught()} for w in words) / len(words))
        print("  without 8C:", sum(w in known() - set(PARTS["8C"]) for w in words) / len(words))
    title, running, names = text("a")
    lines = sentences(running)
    counts = Counter(w for w in headwords(running, names) if w not in known())
    with (TEXTS / "dictionary.csv").open(encoding="utf-8", newline="") as file:
        meanings = {
            (r["word"], int(r["sense"])): r["meaning"] for r in csv.DictReader(file, delimiter=";")
        }
    has = {w: [i for i, s in enumerate(lines) if w in headwords(s, names)] for w in counts}
    for word in sorted(counts):
        print([word, meanings[word, SENSES.get(word, 1)], counts[word], has[word][0] + 1])
    used: set[int] = set()
    for word in sorted(counts, key=lambda w: (-counts[w], w))[:6]:
        number = next(i for i in has[word] if i not in used)
        used.add(number)
        gap = re.sub(
            r"[A-Za-z]+",
            lambda m, w=word: "_____" if lemma.get(m[0].lower(), m[0].lower()) == w else m[0],
            lines[number],
        )
        print(word, "|", gap)


def typed(word: str, rng: random.Random) -> str:
    """An entry as one of many teachers types it."""
    spelled = {"harbour": "harbour (US: harbor)", "cold": "cold / hot", "big": "big / large"}
    inflected = [form for form, head in forms().items() if head == word]
    ways = [word, word, f"{word} ", word.capitalize()]
    if word in spelled or len(word) < 4:
        ways = [spelled.get(word, word)]
    elif any(not form.endswith("s") for form in inflected) and word not in ("they", "blanket"):
        ways += [f"to {word}", f"(to) {word}", f"to {word} sth.", f"{word} (sb.)"]
    elif inflected:
        ways += [f"the {word}", f"a {word}", f"{word} (noun)"]
    return rng.choice(ways)


def write_vocabulary() -> None:
    from openpyxl import Workbook

    rng = random.Random(SEED + 1)
    book = Workbook()
    sheet = book.active
    sheet.title = "Book 8"
    sheet.append(["Unit", "Part", "Entry", "typed by"])
    rows = [(p, w) for w, p in taught().items() if w not in ("hot", "large")] + [("2A", "asleep")]
    rows += [("3B", "mother"), ("5A", "mother"), ("7A", "boat")]
    rng.shuffle(rows)
    for part, word in sorted(rows, key=lambda r: r[0][0]):
        unit = rng.choice([int(part[0]), part[0], f"Unit {part[0]}", f"U{part[0]}"])
        sheet.append(
            [
                unit,
                rng.choice([part[1], part[1].lower()]),
                typed(word, rng),
                rng.choice(["IK", "zs", "M."]),
            ]
        )
    save_office(book, FILES / "vocabulary.xlsx", WRITTEN)


if __name__ == "__main__":
    if "--expected" in sys.argv:
        print_expected()
    else:
        FILES.mkdir(exist_ok=True)
        write_vocabulary()
        for name in (*COPIED, *(f"text_{letter}.txt" for letter in "abc")):
            (FILES / name).write_bytes((TEXTS / name).read_bytes())
