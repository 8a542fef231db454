"""Write the input files of this task: `python make_files.py`; prints the expected values.

The plan's text is in sources/, mail_leyla.txt in files/ is written by hand. The visitors are
drawn up by group first and then logged the way logs are, so the expected counts never pass through
any code that cleans the exports.
"""

import csv
import math
import random
from datetime import datetime, timedelta
from pathlib import Path

from openpyxl import Workbook

from taskdata.banks.making import document_of_sections, save_office

HERE = Path(__file__).parent
FILES = HERE / "files"
WRITTEN = datetime(2026, 2, 25, 8, 0)
START, END = datetime(2026, 2, 2), datetime(2026, 2, 23)  # local time, UTC+1
OUTAGE = (datetime(2026, 2, 11), datetime(2026, 2, 13))
# Page: visitors that count, and their paid orders within seven days by plan.
COUNTED = {"A": 412, "B": 405}
PAID = {"A": {"Flex": 15, "Annual": 27, "Duo": 5}, "B": {"Flex": 12, "Annual": 47, "Duo": 5}}
MARGIN = {"Flex": 31.5, "Annual": 58.0, "Duo": 88.0}
# What must not count: visitors of A, of B, and the share of B's that order all the same.
EXCLUDED = {"bot": (35, 24, 0), "staff": (10, 27, 0.6), "both": (21, 22, 0.5)}
EXCLUDED |= {"outside": (30, 26, 0.4), "outage": (33, 40, 0.2)}
SPURIOUS = {
    "A": {"refunded": 5, "late": 6, "failed": 7},
    "B": {"refunded": 9, "late": 8, "failed": 6},
}
AGENTS = [
    "Firefox/147",
    "Chrome/144",
    "Chrome/144 Mobile",
    "Safari/19",
    "Safari/19 Mobile",
    "Edge/144",
]
BOTS = ["Googlebot/2.1", "AhrefsBot/7", "HeadlessChrome/143", "uptime-crawler", "bingbot/2.0"]
RNG = random.Random(222)


def expected() -> None:
    n = COUNTED
    x = {page: sum(plans.values()) for page, plans in PAID.items()}
    rate = {page: x[page] / n[page] for page in n}
    for page, plans in PAID.items():
        margin = sum(MARGIN[plan] * k for plan, k in plans.items())
        print(page, n[page], x[page], f"{100 * rate[page]:.2f}", margin, f"{margin / n[page]:.2f}")
    gap = rate["B"] - rate["A"]
    half = 1.96 * math.sqrt(sum(rate[p] * (1 - rate[p]) / n[p] for p in n))
    both = sum(x.values()) / sum(n.values())
    z = gap / math.sqrt(both * (1 - both) * sum(1 / n[p] for p in n))
    needed = 16 * both * (1 - both) / 0.03**2
    print(f"gap {100 * gap:.2f} from {100 * (gap - half):.2f} to {100 * (gap + half):.2f}")
    print(f"z {z:.3f} p {math.erfc(z / math.sqrt(2)):.4f} needed {needed:.0f}")
    print({k: v[0] + v[1] for k, v in EXCLUDED.items()}, "analysed", sum(n.values()))


def moment(first: datetime, end: datetime) -> datetime:
    return first + timedelta(minutes=RNG.randrange(int((end - first).total_seconds() // 60)))


def in_test() -> datetime:
    while True:
        found = moment(START, END)
        if not OUTAGE[0] <= found < OUTAGE[1]:
            return found


class Logs:
    """The two exports as they grow."""

    def __init__(self) -> None:
        self.visits: list[list[str]] = []
        self.orders: list[list[str]] = []
        self.ids = iter(RNG.sample(range(16**5), 1300))

    def visitor(self, page: str, first: datetime, kind: str = "") -> str:
        name = f"v{next(self.ids):05x}"
        agent = RNG.choice(BOTS if kind == "bot" else AGENTS)
        source = (
            "intranet" if kind == "staff" else RNG.choice(["search", "newsletter", "social", ""])
        )
        pages = [page, "B" if page == "A" else "A"] if kind == "both" else [page]
        if kind != "both" and RNG.random() < 0.2:
            pages.append(page)
        for number, shown in enumerate(pages):
            when = first + timedelta(hours=number * RNG.randint(2, 30))
            written = RNG.choice(
                [shown, shown, shown.lower(), f"{shown} ", f"page-{shown.lower()}"]
            )
            came = source if number == 0 or kind != "staff" else "search"
            stamp = (when - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:00Z")
            self.visits.append([name, stamp, written, came, agent])
        return name

    def order(
        self, name: str, first: datetime, plan: str, status: str = "paid", late: bool = False
    ) -> None:
        wait = (
            RNG.randint(10_090, 14_000) if late else RNG.randint(3, 10_070)
        )  # minutes; 7 days are 10,080
        when = (first + timedelta(minutes=wait)).strftime("%d.%m.%Y %H:%M")
        shown = RNG.choice([plan, plan, plan.upper(), f"Kinopass {plan}"])
        self.orders.append([name, when, shown, RNG.choice([status, status.capitalize()])])


def write_logs() -> None:
    logs = Logs()
    for page, count in COUNTED.items():
        firsts = [in_test() for _ in range(count - 6)]
        # Still or already 2 and 22 February here, though not in UTC.
        firsts += [START + timedelta(minutes=m) for m in (4, 21, 37)]
        firsts += [END - timedelta(minutes=m) for m in (2, 33, 58)]
        people = [(logs.visitor(page, first), first) for first in firsts]
        RNG.shuffle(people)
        for plan, bought in PAID[page].items():
            for _ in range(bought):
                name, first = people.pop()
                logs.order(name, first, plan)
                if RNG.random() < 0.1:  # changed their mind weeks later; the first order counts
                    logs.order(name, first + timedelta(days=14), RNG.choice(["Duo", "Flex"]))
        for kind, number in SPURIOUS[page].items():
            for _ in range(number):
                name, first = people.pop()
                status = "paid" if kind == "late" else kind
                logs.order(name, first, RNG.choice(list(MARGIN)), status, late=kind == "late")
    for kind, (of_a, of_b, ordering) in EXCLUDED.items():
        for page, number in (("A", of_a), ("B", of_b)):
            for k in range(number):
                first = moment(*OUTAGE) if kind == "outage" else in_test()
                if kind == "outside":
                    early = moment(START - timedelta(days=5), START)
                    first = [early, END + timedelta(minutes=5 + 11 * k)][k % 2]
                name = logs.visitor(page, first, kind)
                if RNG.random() < (ordering if page == "B" else ordering / 5):
                    logs.order(name, first, RNG.choice(["Annual", "Annual", "Flex"]))
    logs.visits += RNG.sample(logs.visits, 24)  # logged twice
    RNG.shuffle(logs.visits)
    logs.orders.sort(key=lambda row: (row[1][3:5], row[1]))
    header = ["visitor", "time", "page", "source", "agent"]
    for name, head, rows in (
        ("visits.csv", header, logs.visits),
        ("orders.csv", ["order", "visitor", "time", "plan", "status"],
         [[f"K-{4100 + n}", *row] for n, row in enumerate(logs.orders)]),
    ):  # fmt: skip
        with (FILES / name).open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *rows])


def write_plan() -> None:
    document = document_of_sections(HERE / "sources" / "test_plan.md")
    save_office(document, FILES / "test_plan.docx", WRITTEN)
    book = Workbook()
    book.active.append(["Plan", "Price EUR", "First-year margin EUR", "valid from", "valid to"])
    margins = [
        ["Flex", 12.9, 29.0, "2025-03-01", "2025-12-31"],
        ["Flex", 13.9, 31.5, "2026-01-01", None],
        ["Annual", 119, 66.0, "2025-03-01", "2026-01-31"],
        ["Annual", 119, 58.0, "2026-02-01", None],
        ["Duo", 199, 88.0, "2025-09-01", "2026-02-28"],
        ["Duo", 209, 93.0, "2026-03-01", None],
    ]
    for row in margins:
        book.active.append(row)
    save_office(book, FILES / "plans.xlsx", WRITTEN)


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    write_logs()
    write_plan()
    expected()
