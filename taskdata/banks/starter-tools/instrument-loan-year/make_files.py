"""Write the files and the database of this task: `python make_files.py`.

`--expected` prints the truth.
"""

import random
import sys
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from taskdata.banks.making import blocks_of, document_of, save_office, write_csv

HERE = Path(__file__).parent
WRITTEN = datetime(2026, 6, 30, 8, tzinfo=UTC)
CLOSING = date(2026, 6, 30)
FREE, RATE, LIMIT, OWING = 7, Decimal("0.80"), Decimal("40.00"), Decimal("10.00")
FAMILIES = {
    "strings": ("violin", "viola", "cello"),
    "woodwind": ("flute", "clarinet", "oboe"),
    "brass": ("trumpet", "horn", "trombone"),
}
FIRST = ("Aino", "Bela", "Cem", "Dora", "Elif", "Finn", "Greta", "Hugo", "Ines", "Jonas", "Kaja",
         "Levi", "Mina", "Nils", "Olga", "Pia")  # fmt: skip
LAST = ("Berg", "Costa", "Demir", "Ekman", "Falk", "Grande", "Holm", "Ivers", "Jansen", "Keller",
        "Lund", "Moreau", "Novak", "Ortiz")  # fmt: skip
RELABELLED = ((17, 117), (23, 123), (31, 131))
WORKSHOP = (
    (4, "2026-06-11", "bow rehaired, fine again", "ready"),
    (9, "2026-06-12", "crack in the bell, on the bench", "repair"),
    (23, "2026-06-12", "neck broken, not worth it", "retired"),
    (12, "2026-06-15", "pads leak, waiting for parts", "repair"),
    (131, "2026-06-16", "valves stuck, on the bench", "repair"),
    (17, "2026-06-18", "new bridge, on the bench", "repair"),
    (12, "2026-06-22", "new pads, fine again", "ready"),
    (20, "2026-06-24", "slide bent beyond mending", "retired"),
    (31, "2026-06-25", "valves free, fine again", "ready"),
)


def made() -> tuple[list, list, list]:
    """Return members, instruments and loans; the same ones every time."""
    chance = random.Random(20260630)
    names = [(f, last) for last in LAST for f in FIRST]
    chance.shuffle(names)
    members = []
    for number in range(1, 29):
        born = date(1960, 1, 1) + timedelta(chance.randrange(17_500))
        if number % 3 == 0:
            born = date(2008, 7, 1) + timedelta(chance.randrange(1500))
        members.append((200 + number, " ".join(names[number]), born, number in (5, 14, 22)))
    # Born so that the eighteenth birthday falls between the due date and the return.
    members[8] = (209, members[8][1], date(2008, 2, 20), False)
    instruments = []
    for number in range(1, 37):
        family = list(FAMILIES)[number % 3]
        kind = FAMILIES[family][number // 3 % 3]
        state = "repair" if number in (4, 12) else "ready"
        instruments.append((dict(RELABELLED).get(number, number), kind, family, state))
    loans = []
    for number in range(1, 61):
        out = date(2025, 9, 1) + timedelta(chance.randrange(150))
        due = out + timedelta(chance.choice((90, 120, 150)))
        late = chance.choice((-12, -3, 0, 0, 4, 7, 8, 11, 15, 22, 33, 48, 64, 90))
        back = due + timedelta(late)
        if number % 13 == 0 or back > CLOSING + timedelta(20):
            back = None
        member = members[chance.randrange(len(members))][0]
        loans.append((1000 + number, member, chance.choice(instruments)[0], out, due, back))
    loans[6] = (1007, 209, 8, date(2025, 11, 1), date(2026, 2, 10), date(2026, 3, 12))
    loans[30] = (1031, 203, 5, date(2026, 2, 1), date(2026, 6, 12), date(2026, 7, 4))
    return members, instruments, loans


def fee(loan: tuple, member: tuple) -> tuple[int, Decimal]:
    """Return the days late and the amount."""
    due, back = loan[4], loan[5]
    days = (min(back or CLOSING, CLOSING) - due).days
    amount = min(max(days - FREE, 0) * RATE, LIMIT)
    born = member[2]
    if date(born.year + 18, born.month, born.day) > due:
        amount /= 2
    return max(days, 0), Decimal(0) if member[3] else amount


def expected() -> None:
    """Print what the tables and lists must say."""
    members, instruments, loans = made()
    by_number = {member[0]: member for member in members}
    family = {i[0]: i[2] for i in instruments}
    owed, families = defaultdict(list), defaultdict(list)
    for loan in loans:
        days, amount = fee(loan, by_number[loan[1]])
        if amount:
            print(f"- [{loan[0]}, {days}, {amount:.2f}]")
            owed[loan[1]].append(amount)
            families[family[loan[2]]].append(amount)
    print("loans", sum(map(len, owed.values())), "sum", sum(map(sum, owed.values())))
    listed = [(m, len(a), sum(a)) for m, a in owed.items() if sum(a) >= OWING]
    for number, count, amount in sorted(listed, key=lambda row: -row[2]):
        print(f"- [{number}, {by_number[number][1]}, {count}, {amount:.2f}]")
    print("listed", sum(row[2] for row in listed))
    for name, amounts in families.items():
        print(f"- [{name}, {len(amounts)}, {sum(amounts):.2f}]")


def sql(value: object) -> str:
    """Return a value as SQL writes it."""
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool | int) else f"'{value}'"


def inserts(table: str, rows: list[tuple]) -> str:
    """Return a statement that inserts the rows."""
    lines = ",\n    ".join("(" + ", ".join(map(sql, row)) + ")" for row in rows)
    return f"INSERT INTO {table} VALUES\n    {lines};\n"


def main() -> None:
    """Write `files/` and the data of the database."""
    members, instruments, loans = made()
    tables = {
        "members": members,
        "instruments": instruments,
        "relabelled": list(RELABELLED),
        "loans": loans,
    }
    text = "".join(inserts(table, rows) for table, rows in tables.items())
    (HERE / "services" / "school" / "02_data.sql").write_text(text, encoding="utf-8", newline="")
    rules = document_of(blocks_of(HERE / "texts" / "loan_rules.md"))
    save_office(rules, HERE / "files" / "loan_rules.docx", WRITTEN)
    rows = [("number", "date", "note"), *(row[:3] for row in WORKSHOP)]
    write_csv(HERE / "files" / "workshop_report.csv", rows, ";")


if __name__ == "__main__":
    expected() if "--expected" in sys.argv else main()
