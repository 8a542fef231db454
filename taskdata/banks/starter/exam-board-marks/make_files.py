"""Write the input files of this task, or with --expected the values its checks expect.

The records below are clean; the writers make them messy. Expected values come from the clean
records, so they do not depend on anybody's parsing of the files.

    python make_files.py             # rewrites files/
    python make_files.py --expected  # prints what task.yaml expects, changes nothing
"""

import random
import sys
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from math import floor
from pathlib import Path

from taskdata.banks.making import blocks_of, document_of, fill_in, save_office

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
WRITTEN = datetime(2026, 6, 15, 8, 0)
SEED = 20985

PEOPLE = """Aaltonen, Veera|Abdi, Hodan|Almeida, João|Bakker, Sanne|Baptiste, Élodie|Brennan, Ciara
Chowdhury, Nabila|Costa, Rui|D'Angelo, Marta|Dlamini, Thabo|Eriksson, Nils|Farkas, Dóra
Fischer, Jonas|García Ruiz, Lucía|Haddad, Karim|Hoffmann, Lea|Ibrahim, Zaynab|Ivanova, Daria
Jansen, Daan|Kaplan, Ece|Kowalczyk, Zofia|Larsen, Mads|Lindqvist, Tuva|Mbeki, Naledi
Moreau, Hugo|Müller, Katharina|Nguyen, Anh Thu|Nguyen, Minh Khoa|O'Neill, Seán|Okafor, Chidi
Papadakis, Eleni|Petrov, Aleksandr|Quinn, Orla|Rossi, Giulia|Sato, Haruki|Schmidt, Emil
Silva, Beatriz|Tanaka, Yui|van der Berg, Ruben|Weber, Frieda|Yılmaz, Deniz""".replace("\n", "|")
WITHDRAWN = {"Costa, Rui": "withdrawn 2026-02-11", "Mbeki, Naledi": "Withdrawn 2026-03-02",
             "Weber, Frieda": "withdrawn 2026-01-28"}  # fmt: skip


@dataclass
class Student:
    """One clean record; a mark of None is work that is not there."""

    name: str
    number: int
    candidate: str
    group: str
    labs: list[Fraction | None]
    late: list[int]
    quizzes: list[Fraction | None]
    midterm: Fraction | None
    marker1: list[int] | None
    marker2: list[int] | None
    third: list[int] | None = None
    excused: set[str] = field(default_factory=set)
    extension: dict[int, int] = field(default_factory=dict)

    @property
    def enrolled(self) -> bool:
        return self.name not in WITHDRAWN


def spread(rng: random.Random, total: int) -> list[int]:
    """Split an exam total over five questions of at most 20 marks."""
    marks = [total // 5] * 5
    for _ in range(total - sum(marks)):
        marks[rng.choice([i for i in range(5) if marks[i] < 20])] += 1
    for _ in range(6):
        a, b = rng.sample(range(5), 2)
        if marks[a] < 19 and marks[b] > 2:
            marks[a], marks[b] = marks[a] + 1, marks[b] - 1
    return marks


def cohort() -> list[Student]:
    rng = random.Random(SEED)
    numbers = rng.sample(range(2041100, 2049900), 41)
    candidates = rng.sample(range(11, 99), 41)
    students = []
    for name, number, candidate in zip(PEOPLE.split("|"), numbers, candidates, strict=True):
        ability = min(92, max(30, rng.gauss(64, 12)))

        def mark(out_of: int, lift: float = 0, step: int = 2, ability: float = ability) -> Fraction:
            raw = min(100, max(8, rng.gauss(ability + lift, 9))) / 100 * out_of
            return Fraction(round(raw * step), step)

        exam = int(mark(100, -4, 1))
        second = min(100, max(0, exam + rng.choice([-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5])))
        students.append(
            Student(
                name, number, f"K-{candidate:03d}", rng.choice(["Tue", "Wed", "Fri"]),
                [mark(20, 8) for _ in range(4)], [0] * 4, [mark(10, 4) for _ in range(6)],
                mark(50, 0, 1), spread(rng, exam), spread(rng, second),
            )
        )  # fmt: skip
    special_cases(rng, {s.name: s for s in students})
    return students


def special_cases(rng: random.Random, by: dict[str, Student]) -> None:
    """Everything the handbook and the student office's mails have a rule for."""
    by["Abdi, Hodan"].quizzes[2] = None
    by["Abdi, Hodan"].excused = {"quiz 3"}
    by["Baptiste, Élodie"].labs[1] = None
    by["Baptiste, Élodie"].excused = {"lab 2"}
    by["Dlamini, Thabo"].midterm = None
    by["Dlamini, Thabo"].excused = {"midterm"}
    by["Haddad, Karim"].marker1 = by["Haddad, Karim"].marker2 = None
    by["Haddad, Karim"].excused = {"exam"}
    by["Sato, Haruki"].marker1 = by["Sato, Haruki"].marker2 = None
    by["Sato, Haruki"].excused = {"exam"}
    # Asked for two quizzes, was granted one.
    by["Ivanova, Daria"].quizzes[3] = by["Ivanova, Daria"].quizzes[4] = None
    by["Ivanova, Daria"].excused = {"quiz 5"}
    # Was excused, then the certificate turned out not to cover the day.
    by["Larsen, Mads"].midterm = None
    # The mail says only "Nguyen from the Wednesday group".
    by["Nguyen, Anh Thu"].group, by["Nguyen, Minh Khoa"].group = "Wed", "Fri"
    by["Nguyen, Anh Thu"].quizzes[5] = None
    by["Nguyen, Anh Thu"].excused = {"quiz 6"}
    by["Nguyen, Minh Khoa"].quizzes[5] = None
    # Marked EXC in the gradebook, but the student office knows nothing of it.
    by["Petrov, Aleksandr"].labs[2] = None
    by["Rossi, Giulia"].quizzes[0] = None
    # No-show, not excused.
    by["Quinn, Orla"].marker1 = by["Quinn, Orla"].marker2 = None
    by["Okafor, Chidi"].labs[3] = None
    by["Tanaka, Yui"].quizzes[1] = by["Tanaka, Yui"].quizzes[3] = None
    for name, lab, days in (("Bakker, Sanne", 0, 1), ("Farkas, Dóra", 2, 2), ("Kaplan, Ece", 3, 3),
                            ("Hoffmann, Lea", 1, 6), ("Silva, Beatriz", 3, 4),
                            ("Jansen, Daan", 2, 1)):  # fmt: skip
        by[name].late[lab] = days
    by["Kaplan, Ece"].extension = {3: 2}
    by["Jansen, Daan"].extension = {2: 3}
    for name, first, second, third in (
        ("Chowdhury, Nabila", 61, 72, 66),
        ("Fischer, Jonas", 55, 43, 48),
        ("Lindqvist, Tuva", 78, 69, 70),
        ("O'Neill, Seán", 38, 49, 41),
        # Exactly 8 apart, and a sample script: the third mark does not count.
        ("Moreau, Hugo", 58, 66, None),
        ("Papadakis, Eleni", 64, 70, 72),
        ("van der Berg, Ruben", 47, 44, 50),
        # Under the exam hurdle, with coursework good enough to pass.
        ("Eriksson, Nils", 33, 35, None),
        ("Schmidt, Emil", 31, 27, None),
    ):
        by[name].marker1, by[name].marker2 = spread(rng, first), spread(rng, second)
        by[name].third = spread(rng, third) if third else None
    good = by["Eriksson, Nils"]
    good.labs = [Fraction(m) for m in (17, 16, 18, 17)]
    good.quizzes, good.midterm = [Fraction(m) for m in (8, 7, 9, 8, 7, 9)], Fraction(34)


@dataclass
class Result:
    labs: Fraction
    quizzes: Fraction
    midterm: Fraction | None
    exam: Fraction | None
    exact: Fraction | None
    final: int | None
    grade: str
    flag: str


def result(s: Student) -> Result:
    """Apply the handbook to one clean record."""
    labs = []
    for i, raw in enumerate(s.labs):
        if f"lab {i + 1}" in s.excused:
            continue
        days = max(0, s.late[i] - s.extension.get(i, 0))
        labs.append(Fraction(0) if raw is None or days > 5 else max(Fraction(0), raw - 2 * days))
    quizzes = sorted(
        q or Fraction(0) for i, q in enumerate(s.quizzes) if f"quiz {i + 1}" not in s.excused
    )[1:]
    lab_pct, quiz_pct = sum(labs) / len(labs) * 5, sum(quizzes) / len(quizzes) * 10
    mid_pct = None if "midterm" in s.excused else (s.midterm or Fraction(0)) * 2
    if "exam" in s.excused:
        return Result(lab_pct, quiz_pct, mid_pct, None, None, None, "DEF", "Deferred")
    first, second = sum(s.marker1 or [0]), sum(s.marker2 or [0])
    exam = Fraction(first + second, 2)
    if abs(first - second) > 8:
        exam = Fraction(sum(s.third))
    exact = lab_pct * Fraction(20, 100) + quiz_pct * Fraction(15, 100)
    exact += exam / 2 + mid_pct * Fraction(15, 100) if mid_pct is not None else exam * 65 / 100
    final = floor(exact + Fraction(1, 2))
    if exam < 35:
        return Result(lab_pct, quiz_pct, mid_pct, exam, exact, min(final, 39), "F", "Exam hurdle")
    grade = next(
        g for g, low in (("A", 70), ("B", 60), ("C", 50), ("D", 40), ("F", 0)) if final >= low
    )
    flag = "Borderline" if any(final in (b - 2, b - 1) for b in (40, 50, 60, 70)) else ""
    return Result(lab_pct, quiz_pct, mid_pct, exam, exact, final, grade, flag)


# ---- the messy files --------------------------------------------------------------------------


def shown(value: Fraction, rng: random.Random) -> str:
    text = f"{float(value):g}"
    return text.replace(".", ",") if rng.random() < 0.35 else text


def gradebook_name(name: str, rng: random.Random) -> str:
    surname, given = name.split(", ")
    plain = name.translate(str.maketrans("áéíóúãÉóı", "aeiouaEoi")).replace("ü", "ue")
    return rng.choice(
        [name, name, f"{given} {surname}", name.upper(), plain, f" {surname},{given}", f"{name}  "]
    )


def gradebook_number(number: int, rng: random.Random) -> str:
    return rng.choice([f"S{number}", f"S{number}", f"s{number}", str(number), f"S {number}"])


def gradebook_row(s: Student, rng: random.Random, updated: str) -> list[str]:
    labs = []
    for mark, days in zip(s.labs, s.late, strict=True):
        text = "" if mark is None else shown(mark, rng)
        labs.append(f"{text} ({days}d late)" if days else text)
    row = [gradebook_number(s.number, rng), gradebook_name(s.name, rng), *labs]
    row += ["" if q is None else shown(q, rng) for q in s.quizzes]
    row += ["" if s.midterm is None else shown(s.midterm, rng)]
    row = [cell or rng.choice(["", "ABS", "abs", "-", "n/a"]) for cell in row]
    return [*row, updated]


def write_gradebook(students: list[Student]) -> None:
    rng = random.Random(SEED + 1)
    header = [f"Lab {i} /20" for i in range(1, 5)] + [f"Quiz {i} /10" for i in range(1, 7)]
    header = ["Student ID", "Student", *header, "Midterm /50", "Last updated"]
    rows, order = [], students[:]
    rng.shuffle(order)
    for s in order:
        row = gradebook_row(s, rng, f"2026-06-{rng.randint(8, 12):02d} {rng.randint(8, 17):02d}:15")
        if s.name == "Petrov, Aleksandr":
            row[4] = "EXC"
        if s.name == "Rossi, Giulia":
            row[6] = "EXC"
        if s.name == "Abdi, Hodan":
            row[8] = "EXC"
        rows.append(row)
    # Older rows of three students from an earlier import, with other marks.
    for name, at in (("Brennan, Ciara", 4), ("Kowalczyk, Zofia", 30), ("Yılmaz, Deniz", 17)):
        s = next(x for x in students if x.name == name)
        stale = gradebook_row(s, rng, "2026-05-04 09:40")
        stale[2], stale[9], stale[12] = "4", "ABS", "11"
        rows.insert(at, stale)
    rows.insert(0, ["", "    Points Possible", *["20"] * 4, *["10"] * 6, "50", ""])
    rows.append(["S0000001", "Student, Test", *["10"] * 4, *["10"] * 6, "50", "2026-01-09 08:00"])
    lines = [";".join(row) for row in [header, *rows]]
    (FILES / "gradebook_export.csv").write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n").encode())


def write_registry(students: list[Student]) -> None:
    rng = random.Random(SEED + 2)
    rows = ["Student number,Surname,Given name,Programme,Lab group,Exam candidate,Status"]
    for s in sorted(students, key=lambda x: x.number):
        surname, given = s.name.split(", ")
        programme = rng.choice(["BSc Biology", "BSc Biology", "BSc Nursing", "BSc Sport Science"])
        status = WITHDRAWN.get(s.name, "enrolled")
        rows.append(f"S{s.number},{surname},{given},{programme},{s.group},{s.candidate},{status}")
    (FILES / "registry.csv").write_text("\n".join(rows) + "\n", encoding="utf-8", newline="")


def write_exam(students: list[Student]) -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Font, PatternFill

    rng = random.Random(SEED + 3)
    book = Workbook()
    note = book.active
    note.title = "Read me"
    for line in (
        ["BIO204 Human Physiology, written exam of 3 June 2026"],
        ["Five questions, 20 marks each. Scripts are anonymous: candidate numbers only."],
        ["Totals were added up by hand while marking. If a total and the question marks do not"],
        ["agree, the question marks are right."],
        ["'Third marker' holds scripts sent to Dr Osei, and some more that she read as a sample."],
    ):
        note.append(line)
    note.column_dimensions["A"].width = 95
    sat = sorted((s for s in students if s.enrolled), key=lambda x: x.candidate)
    for title, attribute in (("Marker 1", "marker1"), ("Marker 2", "marker2")):
        sheet = book.create_sheet(title)
        sheet.append(
            [f"BIO204 - {title.lower()} ({'J. Tamm' if title[-1] == '1' else 'P. Reyes'})"]
        )
        sheet.append([])
        sheet.append(["Candidate", "Q1", "Q2", "Q3", "Q4", "Q5", "Total"])
        rows = sat[:]
        if attribute == "marker2":
            rng.shuffle(rows)
        for s in rows:
            marks = getattr(s, attribute)
            label = s.candidate if attribute == "marker1" else s.candidate.replace("K-0", "k ")
            if marks is None:
                sheet.append([label, None, None, None, None, None, "absent"])
                continue
            total = sum(marks)
            if s.name in ("Bakker, Sanne", "Ibrahim, Zaynab") and attribute == "marker1":
                total += 10
            if s.name == "García Ruiz, Lucía" and attribute == "marker2":
                total -= 9
            sheet.append([label, *marks, total])
        for cell in sheet[3]:
            cell.font = Font(bold=True)
            cell.fill = PatternFill("solid", fgColor="DDE6F0")
    third = book.create_sheet("Third marker")
    third.append(["Candidate", "Q1", "Q2", "Q3", "Q4", "Q5", "Total", "Remark"])
    for s in sorted((x for x in sat if x.third), key=lambda x: x.number):
        gap = abs(sum(s.marker1) - sum(s.marker2))
        third.append([s.candidate, *s.third, sum(s.third), "" if gap > 8 else "sample"])
    save_office(book, FILES / "exam_marks.xlsx", WRITTEN)


def write_handbook() -> None:
    document = document_of(blocks_of(TEXTS / "handbook.md"))
    save_office(document, FILES / "module_handbook.docx", WRITTEN)


def write_mails(students: list[Student]) -> None:
    by = {s.name.split(",")[0].lower(): f"S{s.number}" for s in students}
    fill_in(TEXTS / "mails.txt", FILES / "student_office_mails.txt", **by)


def print_expected(students: list[Student]) -> None:
    rows = [(s, result(s)) for s in sorted(students, key=lambda x: x.number) if s.enrolled]

    def pct(value: Fraction | None) -> str:
        return "EX" if value is None else f"{float(value):.3f}".rstrip("0").rstrip(".")

    print("component percentages")
    for s, r in rows:
        print(f"- [S{s.number}, {pct(r.labs)}, {pct(r.quizzes)}, {pct(r.midterm)}, {pct(r.exam)}]")
    print("final marks and grades")
    for s, r in rows:
        print(f"- [S{s.number}, {r.final}, {r.grade}]")
    print("flags")
    for s, r in rows:
        if r.flag:
            print(f"- [S{s.number}, {r.flag}]  # {s.name}, {r.final}, {r.grade}")
    finals = [r.final for _, r in rows if r.final is not None]
    grades = [r.grade for _, r in rows]
    passed = sum(g in "ABCD" for g in grades if g != "DEF")
    print("summary", {g: grades.count(g) for g in ("A", "B", "C", "D", "F", "DEF")})
    print(f"students {len(rows)}, with a final mark {len(finals)}, average", end=" ")
    print(f"{sum(finals) / len(finals):.4f}, pass rate {passed / len(finals) * 100:.4f}")
    print("third marker")
    for s, _ in rows:
        if s.third and abs(sum(s.marker1) - sum(s.marker2)) > 8:
            print(f"- [S{s.number}, {sum(s.marker1)}, {sum(s.marker2)}, {sum(s.third)}]")
    print("excused", [f"S{s.number}" for s, _ in rows if s.excused])
    for s, r in rows:
        near = r.exact is not None and abs(r.exact % 1 - Fraction(1, 2)) < Fraction(2, 100)
        if near and r.flag != "Exam hurdle":
            raise SystemExit(f"S{s.number} is too close to one half: change the seed")


if __name__ == "__main__":
    COHORT = cohort()
    if "--expected" in sys.argv:
        print_expected(COHORT)
    else:
        FILES.mkdir(exist_ok=True)
        write_gradebook(COHORT)
        write_registry(COHORT)
        write_exam(COHORT)
        write_handbook()
        write_mails(COHORT)
