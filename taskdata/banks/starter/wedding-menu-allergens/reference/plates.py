"""Letters of every dish as delivered and cooked, plates of every guest; writes JSON and sheet."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pdfplumber
from docx import Document

WORDS = {
    "A": r"\b(wheat|rye|barley|oats?|spelt)\b",
    "B": "shrimp|prawn|crab|crustacean",
    "C": r"\begg",
    "D": "trout|fish|anchov",
    "E": "peanut",
    "F": "soya",
    "G": r"\b(milk|cream|butter|butterfat|whey|yoghurt)\b",
    "H": "almond|hazelnut|walnut|cashew|pecan|pistachio|macadamia",
    "L": "celery|celeriac",
    "M": "mustard",
    "N": "sesame",
    "O": r"\bE22[0-8]\b",
    "P": "lupin",
}
NO_ALLERGEN = "fully refined soya oil|cocoa butter|coconut milk"


def letters_in(text):
    text = re.sub(NO_ALLERGEN, "", " ".join(text.split()), flags=re.I)
    return {letter for letter, words in WORDS.items() if re.search(words, text, re.I)}


specs = {}
with pdfplumber.open("input/product_specs.pdf") as pdf:
    for page in pdf.pages:
        for number, _, ingredients, traces in page.extract_tables()[0]:
            specs[number] = (letters_in(ingredients), letters_in(traces))

parts = {}
for paragraph in Document("input/recipes.docx").paragraphs:
    if paragraph.style.name == "Heading 2":
        current = parts.setdefault(paragraph.text.split()[0], [])
    elif paragraph.style.name == "List Bullet":
        current.append(paragraph.text)
note = Path("input/delivery_note.txt").read_text(encoding="utf-8")
came = dict(re.findall(r"^ ?\d+ +(\d{4}) +(\d{4}|----)", note, re.M))
came["6120"] = "6122"
parts["S2"] = ["2255" if part == "4120" else part for part in parts["S2"]]
parts["D2"].append("3303")


def letters_of(name):
    if name not in parts:
        return specs.get(came.get(name, name), (set(), set()))
    found = [letters_of(part) for part in parts[name]]
    contains = set().union(*(c for c, _ in found))
    return contains, set().union(*(t for _, t in found)) - contains


dishes = {name: letters_of(name) for name in parts if name[0] != "B"}
COURSES = {"starter": "S", "main": "M", "dessert": "D"}
WISHES = {"dairy": "G", "milk": "G", "coeliac": "A", "shrimp": "B", "nuts": "H", "sulphite": "O"}
WISHES |= {"egg": "C", "peanut": "E", "soya": "F", "celery": "L", "mustard": "M", "sesame": "N"}

last = {}
with open("input/guests.csv", encoding="utf-8") as table:
    for row in csv.DictReader(table, delimiter=";"):
        last[row["guest"]] = row
guests, portions, changed, apart = [], Counter(), [], []
for guest, row in sorted(last.items()):
    if row["comes"] == "cancelled":
        continue
    wrote = row["allergies"].lower()
    own = {letter for word, letter in WISHES.items() if word in wrote}
    severe = bool(re.search("severe|anaphyl|epipen|coeliac", wrote))
    plate = {"guest": guest}
    for course, initial in COURSES.items():
        wanted = row[course].strip().upper()
        menu = [wanted, *(name for name in dishes if name[0] == initial)]
        bad = {d: own & (dishes[d][0] | (dishes[d][1] if severe else set())) for d in menu}
        plate[course] = next((d for d in menu if not bad[d]), "Kitchen")
        portions[plate[course]] += 1
        if plate[course] != wanted:
            how = "contains" if own & dishes[wanted][0] else "has traces of"
            why = f"{''.join(sorted(own))}{', severe' if severe else ''}: {wanted} {how} it"
            changed.append([f"{guest} {course}", plate[course], why])
        if plate[course] == "Kitchen":
            traces = ", not even as traces" if severe else ""
            apart.append(f"{guest} {course}: no {' '.join(sorted(own))}{traces}")
    guests.append(plate)

shown = [{"dish": d, "contains": sorted(c), "traces": sorted(t)} for d, (c, t) in dishes.items()]
with open("output/allergens.json", "w", encoding="utf-8") as out:
    json.dump({"dishes": shown, "guests": guests}, out, indent=1)

sheet = Document()


def add_table(rows):
    table = sheet.add_table(0, len(rows[0]), style="Table Grid")
    for row in rows:
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = str(value)


sheet.add_heading("Portions", 1)
add_table([["Dish", "Portions"], *([d, portions[d]] for d in dishes)])
sheet.add_heading("Changed plates", 1)
add_table([["Plate", "Gets", "Because"], *changed])
sheet.add_heading("Cooked apart", 1)
for line in apart:
    sheet.add_paragraph(line, style="List Bullet")
sheet.save("output/kitchen_sheet.docx")
print(*shown, *guests, len(changed), *changed, *apart, sep="\n")
