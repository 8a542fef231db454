"""Count what the class knows of each text; print glossary, gaps and coverage of the right one."""

import csv
import re
from collections import Counter

from openpyxl import load_workbook


def entry_words(entry):
    """Return the headwords of an entry of the vocabulary list."""
    plain = re.sub(r"\([^)]*\)|\bsth\.|\bsb\.", " ", entry.lower())
    parts = [" ".join(part.split()) for part in plain.split("/")]
    return {re.sub(r"^(?:to|the|a) (?=\w)", "", part) for part in parts}


known = set()
for unit, part, entry, _ in load_workbook("input/vocabulary.xlsx").active.iter_rows(
    2, values_only=True
):
    number, letter = int(re.search(r"\d", str(unit))[0]), part.strip().upper()
    done = number <= 6 and (number, letter) != (6, "B")
    if done or (number, letter) == (8, "C"):
        known |= entry_words(entry)
with open("input/word_forms.csv", encoding="utf-8", newline="") as file:
    headword = {row["form"]: row["headword"].lower() for row in csv.DictReader(file)}


def heads(text):
    return [headword.get(word, word) for word in re.findall(r"[a-z]+", text.lower())]


def read(letter):
    """Return title, running text and the number of words, known words and unknown headwords."""
    with open(f"input/text_{letter}.txt", encoding="utf-8") as file:
        title, running, names = file.read().strip().split("\n\n")
    called = set(re.findall(r"[a-z]+", names.lower()))
    words = heads(running)
    unknown = Counter(w for w in words if w not in known and w not in called)
    return title, " ".join(running.split()), len(words), len(words) - unknown.total(), unknown


texts = [read(letter) for letter in "abc"]
for title, _, count, right, _ in texts:
    print([title, count, right, round(100 * right / count, 1)])
fitting = [t for t in texts if 90 <= round(100 * t[3] / t[2], 1) <= 95]
title, running, _, _, unknown = max(fitting, key=lambda t: t[2])
print("chosen:", title)
sentences = re.findall(r"\S.*?[.?!]\"?(?=\s+[^a-z\s]|\s*$)", running)
where = {w: [n for n, s in enumerate(sentences, 1) if w in heads(s)] for w in unknown}
with open("input/dictionary.csv", encoding="utf-8", newline="") as file:
    dictionary = list(csv.DictReader(file, delimiter=";"))
for word in sorted(unknown):
    senses = [row["meaning"] for row in dictionary if row["word"] == word]
    print(word, senses, unknown[word], where[word][0])
taken = set()
for word in sorted(unknown, key=lambda w: (-unknown[w], w))[:6]:
    number = next(n for n in where[word] if n not in taken)
    taken.add(number)
    print(word, "in", number, sentences[number - 1])
