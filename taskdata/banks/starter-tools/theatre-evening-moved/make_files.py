"""Write the rules, the answers and the bookings of this task: `python make_files.py`.

`--expected` prints the truth.
"""

import sys
from datetime import UTC, datetime
from decimal import Decimal
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from pathlib import Path

from taskdata.banks.making import blocks_of, document_of, save_office

HERE = Path(__file__).parent
WRITTEN = datetime(2026, 11, 4, 9, tzinfo=UTC)
ADDRESS = "boxoffice@tinmoon.example"
NOON = datetime(2026, 11, 8, 12, tzinfo=UTC)
CANCELLED, PLACES = 3, 60
DAYS = {5: "21 November", 6: "28 November"}
PERFORMANCES = ((1, 31, 10), (2, 7, 11), (3, 14, 11), (5, 21, 11), (6, 28, 11))
GUESTS = (
    (301, "Anke Brandt", "anke@brandt-anke.example", 2, 18),
    (302, "Bo Dahl", "bo.dahl@brevet.example", 4, 18),
    (303, "Clara Ek", "clara.ek@sundpost.example", 3, 12),
    (304, "Deniz Fuchs", "deniz.fuchs@brevet.example", 2, 18),
    (305, "Eva Gran", "eva.gran@brevet.example", 5, 12),
    (306, "Finn Hauge", "finn.hauge@sundpost.example", 1, 18),
    (307, "Gita Iyer", "gita.iyer@brevet.example", 2, 18),
    (308, "Henrik Jahn", "henrik@jahn-henrik.example", 4, 18),
    (309, "Ida Kron", "ida.kron@sundpost.example", 2, 12),
    (310, "Jens Lie", "jens.lie@sundpost.example", 3, 18),
    (311, "Kari Lie", "kari.lie@sundpost.example", 2, 18),
    (312, "Lars Moe", "lars.moe@sundpost.example", 6, 12),
    (313, "Mona Ness", "mona.ness@brevet.example", 2, 15),
    (314, "Olav Pihl", "olav.pihl@sundpost.example", 1, 18),
)
OTHERS = (
    (118, 2, "School choir", "choir@school.example", 24, 9),
    (402, 5, "Rowing club", "club@rowing.example", 12, 15),
    (403, 5, "Ada Quist", "ada.quist@brevet.example", 2, 18),
    (406, 5, "Book circle", "circle@books.example", 9, 15),
    (407, 5, "Class 7b", "7b@school.example", 17, 9),
    (501, 6, "Harbour office", "office@harbour.example", 20, 15),
    (502, 6, "Per Rud", "per.rud@sundpost.example", 2, 18),
    (505, 6, "Class 9a", "9a@school.example", 22, 9),
    (508, 6, "Siri Tofte", "siri.tofte@brevet.example", 5, 18),
)
WISHES = {
    303: (5, 6), 312: (6,), 305: (5, 6), 310: (6, 5), 302: (5, 6), 308: (5, 6), 311: (6,),
    301: (), 307: (6, 5), 306: (5, 6), 313: (5, 6),
}  # fmt: skip
"""What the answers that count ask for, in the order in which they are served."""


def answers() -> list[tuple[str, datetime, str, str]]:
    """Return sender, time, subject and text of each answer."""
    found = []
    for answer in (HERE / "texts" / "answers.txt").read_text(encoding="utf-8").split("\n====\n"):
        sender, date, subject, text = answer.split("\n", 3)
        at = datetime.strptime(date, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
        found.append((sender, at, subject, text.strip()))
    return found


def served() -> dict[int, int | None]:
    """Return the new performance of each booking, None for those that are paid back."""
    numbers = {guest[2]: guest[0] for guest in GUESTS}
    last = {numbers[parseaddr(a[0])[1]]: a[1] for a in answers() if a[1] <= NOON}
    assert sorted(last, key=lambda number: last[number]) == list(WISHES)
    free = {day: PLACES - sum(row[4] for row in OTHERS if row[1] == day) for day in DAYS}
    silent = {guest[0]: tuple(DAYS) for guest in GUESTS if guest[0] not in WISHES}
    places, given = {guest[0]: guest[3] for guest in GUESTS}, {}
    for number, wishes in {**WISHES, **silent}.items():
        given[number] = next((day for day in wishes if free[day] >= places[number]), None)
        if given[number]:
            free[given[number]] -= places[number]
    return dict(sorted(given.items()))


def expected() -> None:
    """Print what tables, mails and lists must say."""
    given, paid = served(), Decimal(0)
    for number, _, mail, places, price in GUESTS:
        back = Decimal(places * price)
        paid += 0 if given[number] else back
        new = f"New evening: {DAYS[given[number]]}, 19:30." if given[number] else ""
        text = new or f"We pay back {back:.2f} euros."
        subject = f'"The Tin Moon: booking {number}"'
        print(f'- [{mail}, {subject}, "Places: {places}. {text}"]')
        print(f"  {number}: {given[number] or f'refunded {back:.2f}'}")
    print("paid back", paid)
    for day, name in DAYS.items():
        print(name)
        rows = [(g[0], g[1], g[3]) for g in GUESTS if given[g[0]] == day]
        rows += [(o[0], o[2], o[4]) for o in OTHERS if o[1] == day]
        for row in sorted(rows):
            print(f"- [{row[0]}, {row[1]}, {row[2]}]")
        print("total", sum(row[2] for row in rows))


def sql() -> str:
    """Return the statements that fill the tables."""
    days = [f"({n}, '2026-{m:02d}-{d:02d} 19:30', {PLACES})" for n, d, m in PERFORMANCES]
    rows = [(g[0], CANCELLED, *g[1:]) for g in GUESTS] + list(OTHERS)
    booked = [f"({b}, {p}, '{n}', '{m}', {c}, {e}, 'booked')" for b, p, n, m, c, e in sorted(rows)]
    return inserts("performances", days) + inserts("bookings", booked)


def inserts(table: str, rows: list[str]) -> str:
    """Return a statement that inserts the rows."""
    lines = ",\n    ".join(rows)
    return f"INSERT INTO {table} VALUES\n    {lines};\n"


def main() -> None:
    """Write `files/` and what the services begin with."""
    rules = document_of(blocks_of(HERE / "texts" / "box_office_rules.md"))
    save_office(rules, HERE / "files" / "box_office_rules.docx", WRITTEN)
    data = HERE / "services" / "theatre" / "02_data.sql"
    data.write_text(sql(), encoding="utf-8", newline="")
    for number, (sender, at, subject, text) in enumerate(answers(), start=1):
        message = EmailMessage(policy=SMTP)
        message["From"], message["To"], message["Subject"] = sender, ADDRESS, subject
        message["Date"] = format_datetime(at)
        message["Message-ID"] = f"<{at:%Y%m%d%H%M}.{number}@tinmoon.example>"
        message.set_content(text + "\n")
        folder = HERE / "services" / "post" / ADDRESS / "INBOX"
        (folder / f"{number:02d}.eml").write_bytes(message.as_bytes())


if __name__ == "__main__":
    expected() if "--expected" in sys.argv else main()
