"""Write the input files of this task: `python make_files.py`; add `--expected` to print the truth.

The text of the policy is in sources/, the mail and the brief in files/ are written by hand.
The valid answers are drawn clean and counted here; spellings, repeats, staff answers and the other
lines that must not count are added to the export afterwards.
"""

import json
import random
import statistics
import sys
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from docx import Document
from openpyxl import Workbook
from openpyxl.styles import Alignment, Font, PatternFill
from reportlab.lib.pagesizes import A4
from reportlab.platypus import SimpleDocTemplate

from taskdata.banks.making import add_table, blocks_of, save_office, story_of, write_csv

HERE = Path(__file__).parent
FILES = HERE / "files"
WRITTEN = datetime(2026, 4, 7, 8, 0)
SEED = 5188
VALID = 318

REASONS = {
    "climate": ["climate", "Climate protection", "good for the climate"],
    "packaging": ["less packaging", "Packaging", "no plastic"],
    "time": ["saves time", "Time", "quick"],
    "recipes": ["new recipes", "Recipes", "inspiration"],
    "taste": ["taste", "Tastes good"],
    "price": ["price", "value for money"],
}
SEGMENTS = {
    "busy_families": "Busy families",
    "climate_cooks": "Climate cooks",
    "budget_planners": "Budget planners",
    "everyone_else": "Everyone else",
}
# claim: (wording, share of yes, asked from the second week on only)
CLAIMS = {
    "C1": ("say that their box saves them a trip to the shop every week", 0.79, False),
    "C2": ("throw away less food since they cook with Grünkorb", 0.64, False),
    "C3": ("eat more vegetables than a year ago", 0.60, False),
    "C4": ("would miss their box if it did not come", 0.75, True),
    "C5": ("feel healthier since they cook with Grünkorb", 0.82, False),
    "C6": ("have discovered a vegetable that they did not know before", 0.68, False),
}
LAST_ANSWER = (
    "of what is then left: all but the last answer of each address (capitals and blanks in it do "
    "not matter)"
)
START = datetime(2026, 3, 9, 7, 0)
SECOND_WAVE = datetime(2026, 3, 22)


@dataclass(frozen=True)
class Answer:
    email: str
    sent: datetime
    source: str
    seconds: int
    status: str
    household: int
    minutes: int
    reasons: tuple[str, ...]
    price_matters: int
    recommend: int
    pays: float | None
    colour: str
    claims: tuple[bool | None, ...]

    @property
    def segment(self) -> str:
        if self.household >= 3 and self.minutes <= 30:
            return "busy_families"
        if {"climate", "packaging"} & set(self.reasons):
            return "climate_cooks"
        return "budget_planners" if self.price_matters >= 4 else "everyone_else"


def an_answer(rng: random.Random, email: str) -> Answer:
    sent = START + timedelta(minutes=rng.randint(0, 20 * 24 * 60 + 900))
    household = rng.choices([1, 2, 3, 4, 5], [15, 27, 22, 26, 10])[0]
    wishes = [20, 15, 34, 22, 24, 18] if household >= 3 else [26, 20, 18, 26, 22, 20]
    reasons = tuple(dict.fromkeys(rng.choices(list(REASONS), wishes, k=rng.choice([1, 2, 2, 3]))))
    return Answer(
        email=email,
        sent=sent,
        source=rng.choice(["newsletter", "newsletter", "box insert", "app"]),
        seconds=rng.randint(95, 780),
        status="complete",
        household=household,
        minutes=rng.choices([15, 20, 30, 45, 60], [8, 22, 34, 24, 12])[0],
        reasons=reasons,
        price_matters=rng.choices([1, 2, 3, 4, 5], [6, 16, 33, 28, 17])[0],
        recommend=rng.choices(range(11), [1, 1, 1, 2, 2, 5, 7, 14, 24, 23, 20])[0],
        pays=None if rng.random() < 0.07 else rng.choice(range(48, 97)) / 2,
        colour="blue",
        claims=tuple(
            None if late and sent < SECOND_WAVE else rng.random() < share
            for _, share, late in CLAIMS.values()
        ),
    )


def valid_answers() -> list[Answer]:
    rng = random.Random(SEED)
    names = ["anna", "ben", "cleo", "dario", "eva", "finn", "greta", "hugo", "ida", "jonas"]
    return [an_answer(rng, f"{rng.choice(names)}{n}@mail{n % 5}.example") for n in range(VALID)]


def share(part: int, whole: int) -> float:
    """Percent with one decimal; the data are such that it never has to round a half."""
    tenths = 1000 * part / whole
    assert abs(tenths % 1 - 0.5) > 1e-9
    return round(tenths) / 10


def expected() -> dict:
    answers = valid_answers()
    segments = []
    for key, name in SEGMENTS.items():
        mine = [answer for answer in answers if answer.segment == key]
        named = Counter(reason for answer in mine for reason in answer.reasons).most_common(2)
        assert named[0][1] > named[1][1]
        up = sum(answer.recommend >= 9 for answer in mine)
        down = sum(answer.recommend <= 6 for answer in mine)
        segments.append(
            {
                "id": key,
                "name": name,
                "size": len(mine),
                "share_pct": share(len(mine), VALID),
                "nps": share(up - down, len(mine)),
                "median_price_eur": statistics.median(a.pays for a in mine if a.pays is not None),
                "top_reason": named[0][0],
            }
        )
    claims = []
    for i, key in enumerate(CLAIMS):
        given = [answer.claims[i] for answer in answers if answer.claims[i] is not None]
        exact = 100 * sum(given) / len(given)
        assert abs(exact % 1 - 0.5) > 1e-9
        allowed = len(given) >= 150 and exact >= 60 and key != "C5"
        claims.append({"id": key, "base": len(given), "yes_pct": round(exact), "allowed": allowed})
    return {
        "base": VALID,
        "from": min(a.sent for a in answers).date().isoformat(),
        "to": max(a.sent for a in answers).date().isoformat(),
        "excluded": export()[1],
        "segments": segments,
        "claims": claims,
    }


def written(answer: Answer, rng: random.Random) -> list[str]:
    """The answer as people and the survey tool wrote it."""
    words = {1: "one", 2: "two"}
    n = answer.household
    household = rng.choice([str(n), str(n), f"{n} people", words.get(n, f" {n} ")])
    if n == 5:
        household = rng.choice(["5", "5+"])
    minutes = rng.choice(
        [str(answer.minutes), f"{answer.minutes} min", f"{answer.minutes} minutes"]
    )
    if answer.minutes in (30, 60) and rng.random() < 0.2:
        minutes = {30: "half an hour", 60: "an hour"}[answer.minutes]
    pays = ""
    if answer.pays is not None:
        point = f"{answer.pays:.2f}"
        comma = point.replace(".", ",")
        pays = rng.choice([point, comma, f"€{point}", f"{comma} €", f"ca. {comma}"])
    yes_no = {True: ["yes", "Yes", "y"], False: ["no", "No", "n"], None: [""]}
    return [
        answer.sent.strftime(rng.choice(["%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M"])),
        rng.choice([answer.email, answer.email, answer.email.upper(), f" {answer.email}"]),
        answer.source,
        str(answer.seconds),
        answer.status,
        household,
        minutes,
        rng.choice(["; ", ";", " ; "]).join(rng.choice(REASONS[r]) for r in answer.reasons),
        str(answer.price_matters),
        f"{answer.recommend}",
        pays,
        rng.choice([answer.colour, answer.colour.capitalize(), f"{answer.colour} "]),
        *(rng.choice(yes_no[claim]) for claim in answer.claims),
    ]


def export() -> tuple[list[list[str]], dict[str, int]]:
    """All lines of the export, and how many of them fall under which rule of cleaning."""
    rng = random.Random(SEED + 1)
    answers = valid_answers()
    lines = list(answers)
    excluded = {"internal": 19, "incomplete": 27, "speeder": 16, "attention": 13, "repeat": 33}
    for n in range(excluded["internal"]):
        happy = replace(an_answer(rng, f"staff{n}@gruenkorb.example"), claims=(True,) * 6)
        happy = replace(happy, recommend=10, reasons=("taste",))
        if n % 3 == 0:
            happy = replace(happy, email=f"tester{n}@mail1.example", source="internal")
        lines.append(happy)
    for n in range(excluded["incomplete"]):
        half = an_answer(rng, f"half{n}@mail2.example")
        status = rng.choice(["partial", "abandoned"])
        lines.append(replace(half, status=status, pays=None, claims=half.claims[:2] + (None,) * 4))
    for n in range(excluded["speeder"]):
        quick = an_answer(rng, f"quick{n}@mail3.example")
        lines.append(replace(quick, seconds=rng.randint(21, 89), recommend=10))
    for n in range(excluded["attention"]):
        lines.append(
            replace(an_answer(rng, f"dozy{n}@mail4.example"), colour=rng.choice(["red", "green"]))
        )
    for answer in rng.sample(answers, excluded["repeat"]):
        first = an_answer(rng, answer.email)
        lines.append(replace(first, sent=answer.sent - timedelta(minutes=rng.randint(3, 300))))
    # Somebody's last attempt that does not count: the earlier one stays valid.
    again = rng.sample([line for line in answers if line.sent.day < 25], 6)
    for answer in again:
        late = replace(an_answer(rng, answer.email), status="partial")
        lines.append(replace(late, sent=answer.sent + timedelta(minutes=40), pays=None))
    excluded["incomplete"] += len(again)
    rng.shuffle(lines)
    rows = [[f"R{1000 + i}", *written(line, rng)] for i, line in enumerate(lines)]
    return rows, excluded


def write_survey() -> None:
    header = "response_id,submitted_at,email,source,duration_s,status,Q1,Q2,Q3,Q4,Q5,Q6,Q7"
    write_csv(FILES / "survey_export.csv", [[*header.split(","), *CLAIMS], *export()[0]])


def write_codebook() -> None:
    book = Workbook()
    sheets: dict[str, list[list[str]]] = {
        "Questions": [
            ["Code", "Question", "Answer"],
            ["Q1", "How many people live in your household?", "number; 5+ counts as 5"],
            [
                "Q2",
                "How long may cooking take on a weekday?",
                "minutes; an hour is 60, half an hour 30",
            ],
            ["Q3", "Why do you order from us?", "several, separated by semicolons; see 'Reasons'"],
            ["Q4", "How much does the price matter?", "1 not at all to 5 very much"],
            ["Q5", "How likely are you to recommend us?", "0 to 10"],
            ["Q6", "What may a box for three meals cost at most?", "euros; empty: no answer"],
            ["Q7", "Please choose 'blue' here.", "attention check"],
            [
                "C1-C6",
                "Do you agree? (wordings in the wish list)",
                "empty: not asked or no answer",
            ],
        ],
        "Reasons": [
            ["Code", "Written as"],
            *([code, ", ".join(texts)] for code, texts in REASONS.items()),
        ],
        "Cleaning": [
            ["Step", "Code", "Leave out"],
            ["1", "internal", "source 'internal', or an address at gruenkorb.example"],
            ["2", "incomplete", "status other than 'complete'"],
            ["3", "speeder", "took less than 90 seconds"],
            ["4", "attention", "Q7 is not blue"],
            [
                "5",
                "repeat",
                LAST_ANSWER,
            ],
            ["", "", "A line is counted under the first step that takes it out."],
        ],
        "Segments v2": [
            ["Order", "Id", "Name", "Rule"],
            ["1", "climate_cooks", "Climate cooks", "Q3 names climate or packaging"],
            ["2", "busy_families", "Busy families", "Q1 is 4 or more"],
            ["3", "budget_planners", "Budget planners", "Q4 is 4 or 5"],
            ["4", "everyone_else", "Everyone else", "all others"],
        ],
        "Segments v3": [
            ["Order", "Id", "Name", "Rule"],
            ["1", "busy_families", "Busy families", "Q1 is 3 or more and Q2 is 30 minutes or less"],
            ["2", "climate_cooks", "Climate cooks", "Q3 names climate or packaging"],
            ["3", "budget_planners", "Budget planners", "Q4 is 4 or 5"],
            ["4", "everyone_else", "Everyone else", "all others"],
            ["", "", "", "Everybody belongs to the first segment whose rule is met."],
        ],
        "Measures": [
            ["Measure", "How"],
            ["share_pct", "part of all valid answers, percent, one decimal"],
            ["nps", "percent with Q5 of 9 or 10 less percent with 0 to 6, one decimal"],
            ["median_price_eur", "median of Q6 of those who answered it"],
            ["top_reason", "code of the reason that most people in the segment name"],
        ],
    }
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append([int(x) if x.isdigit() else x for x in row])
        for cell in sheet[1]:
            cell.font = Font(bold=True)
            cell.fill = PatternFill("solid", fgColor="DCEBD5")
        for letter, width in list(zip("ABCD", (18, 44, 44, 50), strict=True))[: len(rows[0])]:
            sheet.column_dimensions[letter].width = width
            for cell in sheet[letter]:
                cell.alignment = Alignment(wrap_text=True, vertical="top")
    del book["Sheet"]
    save_office(book, FILES / "codebook.xlsx", WRITTEN)


def write_documents() -> None:
    wishes = Document()
    wishes.add_heading("Claims we would love to use", 1)
    wishes.add_paragraph("Marketing, 31 March 2026. Wordings are agreed with the brand team.")
    worded = [[code, wording] for code, (wording, _, _) in CLAIMS.items()]
    add_table(wishes, [["Code", "... of our customers ..."], *worded])
    wishes.add_paragraph("Whatever does not pass the claims policy stays off the page, sadly.")

    boxes = Document()
    boxes.add_heading("Our boxes: product sheet", 1)
    boxes.add_paragraph("Valid from 1 October 2025. All boxes hold three vegetarian meals.")
    rows = [
        ["Box", "Portions per meal", "Price"],
        ["Solo", "1", "€21.90"],
        ["Duo", "2", "€35.90"],
        ["Family", "4", "€59.90"],
        ["Party", "6", "€84.90"],
    ]
    add_table(boxes, rows)
    boxes.add_paragraph(
        "Delivery Monday to Thursday, free from €30, otherwise €3.90. Pause or cancel until "
        "Wednesday noon of the week before."
    )
    for name, document in (("claims_wish_list.docx", wishes), ("product_sheet.docx", boxes)):
        save_office(document, FILES / name, WRITTEN)


def write_policy() -> None:
    story = story_of(blocks_of(HERE / "sources" / "claims_policy.md"))
    SimpleDocTemplate(
        str(FILES / "claims_policy.pdf"), pagesize=A4, title="Claims policy", invariant=1
    ).build(story)


def main() -> None:
    if "--expected" in sys.argv:
        print(json.dumps(expected(), ensure_ascii=False, indent=1))
        return
    FILES.mkdir(exist_ok=True)
    write_survey()
    write_codebook()
    write_documents()
    write_policy()


if __name__ == "__main__":
    main()
