"""Write files/: entries, chip list and raw mat readings of a hill race, and the crew's log.

The truth is what every runner did; the files report it as timing systems and tired people do.
`python make_files.py --expected` prints what task.yaml expects and changes nothing.
"""

import random
import sys
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from taskdata.banks.making import fill_in, save_office

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
WRITTEN = datetime(2026, 6, 13, 7, 0)
RNG = random.Random(13062026)
GUNS = {"A": 36000.0, "B": 36300.0, "C": 36750.0}  # seconds of the day
WOMEN, MEN, SURNAMES, CASES = (
    line.split() for line in (TEXTS / "names.txt").read_text(encoding="utf-8").splitlines()
)
CLUBS = {"unattached": ["", "unattached", "-", "none"]}
for line in (TEXTS / "clubs.txt").read_text(encoding="utf-8").splitlines():
    club, others = line.removesuffix(")").split(" (also: ")
    CLUBS[club] = [club, club.lower(), f"{club} ", *others.split(", ")]
# Up and down in seconds: one leads without the swap, twins share a second, quiet is just in time.
TIMES = {
    "swap1": (2480.3, 1390.5), "swap2": (4105.2, 2460.9), "twin1": (3696.0, 2155.2),
    "twin2": (3727.3, 2124.5), "slow": (5700.0, 3480.0), "quiet": (5400.0, 3599.8),
    "shortcut": (2100.0, 1300.0), "manual": (3644.5, 2411.3),
}  # fmt: skip


def whole(seconds: float) -> int:
    """Cut to full seconds; all times have tenths, give or take binary rounding."""
    return round(seconds * 10) // 10


@dataclass
class Runner:
    """What one runner did; times in seconds of the day."""

    bib: int
    name: str
    sex: str
    born: date
    club: str
    wave: str
    start: float
    up: float
    down: float
    case: str = ""

    @property
    def status(self) -> str:
        by_case = {"absent1": "DNS", "absent2": "DNS", "given_up": "DNF", "lost": "DNF"}
        by_case["shortcut"] = "DSQ"
        return by_case.get(self.case) or ("OTL" if self.time > 9000 else "OK")

    @property
    def late(self) -> float:
        return self.start - GUNS[self.wave] if self.case == "no_start" else 0.0

    @property
    def time(self) -> int:
        referee = {"helper": -270, "cutter": 120}.get(self.case, 0)
        return whole(self.late + self.up + self.down) + referee

    @property
    def legs(self) -> tuple[int, int] | None:
        return None if self.case == "seen" else (whole(self.late + self.up), whole(self.down))

    @property
    def category(self) -> str:
        age = 2026 - self.born.year - ((self.born.month, self.born.day) > (6, 13))
        return self.sex + ("" if age < 40 else f"{min(60, age // 10 * 10)}")


def field_of_runners() -> list[Runner]:
    runners, names = [], set()
    for number, bib in enumerate(sorted(RNG.sample(range(101, 240), 72))):
        sex = "W" if number % 9 in (0, 2, 5, 7) else "M"
        first = RNG.choice(WOMEN if sex == "W" else MEN)
        name = RNG.choice([f"{first} {s}" for s in SURNAMES if f"{first} {s}" not in names])
        names.add(name)
        born = date(2026 - RNG.randint(19, 68), RNG.randint(1, 12), RNG.randint(1, 28))
        club, wave = RNG.choice([*CLUBS, *list(CLUBS)[1:3]]), RNG.choice("ABC")
        up = RNG.gauss(3350 if sex == "W" else 3050, 420) + 6 * max(0, 2026 - born.year - 45)
        start, down = GUNS[wave] + RNG.uniform(2, 40), up * RNG.uniform(0.52, 0.68)
        times = (round(seconds, 1) for seconds in (start, up, down))
        runners.append(Runner(bib, name, sex, born, club, wave, *times))
    chosen = RNG.sample(runners[:-2], len(CASES) - 2)
    for case, runner in zip(CASES, [*runners[-2:], *chosen], strict=True):
        runner.case = case
    by = {r.case: r for r in runners if r.case}
    for case, (up, down) in TIMES.items():
        by[case].up, by[case].down = up, down
    by["helper"].up, by["birthday"].born = 2750.4, date(1986, 6, 13)
    by["manual"].wave, by["manual"].start = "A", 36011.2  # over the line at 11:41:07
    return runners


def readings(r: Runner, chip: str) -> list[tuple[str, float, str]]:
    """Mat, second of the day on that mat's clock and chip, of everything the mats heard."""
    heard, nowhere = [], ("lost", "absent1", "absent2")
    if r.status != "DNS" and r.case != "no_start":
        before = [r.start - RNG.uniform(1, 9) for _ in range(RNG.randint(0, 3))]
        tests = [34200 + RNG.uniform(0, 1500)] if RNG.random() < 0.25 else []
        heard = [("START", s, chip) for s in [*tests, *before, r.start]]
    top, finish = r.start + r.up, r.start + r.up + r.down
    if r.case not in ("seen", "shortcut", *nowhere):
        heard += [("TOP", top - 108 + d, chip) for d in (0, RNG.uniform(0.6, 4))]
    if r.case not in ("manual", *nowhere):
        heard += [("FINISH", finish + d, chip) for d in (0, RNG.uniform(1, 9), RNG.uniform(9, 20))]
    if r.case in ("bag1", "bag2", "manual"):
        heard += [("FINISH", 46830 + RNG.uniform(0, 900), chip) for _ in range(2)]
    elif r.case not in nowhere and RNG.random() < 0.1:
        heard.append(("FINISH", 34300 + RNG.uniform(0, 900), chip))
    return heard


def clock(second: float) -> str:
    minutes, seconds = divmod(round(second, 1), 60)
    return f"{int(minutes // 60):02d}:{int(minutes % 60):02d}:{seconds:04.1f}"


def write_readings(runners: list[Runner]) -> None:
    numbers = RNG.sample(range(100, 899), len(runners))
    chips = {r.bib: f"C{n}" for r, n in zip(runners, numbers, strict=True)}
    rows = ["bib;chip", *(f"{bib};{chip}" for bib, chip in chips.items())]
    (FILES / "chips.csv").write_bytes(("\r\n".join(rows) + "\r\n").encode())
    by = {r.case: r.bib for r in runners if r.case}
    one, two = by["swap1"], by["swap2"]
    worn = chips | {one: chips[two], two: chips[one], by["spare"]: "C901"}
    heard = [h for r in runners if r.case != "withdrawn" for h in readings(r, worn[r.bib])]
    heard.append(("FINISH", 46900.0, chips[by["withdrawn"]]))
    heard.sort(key=lambda h: (h[0] == "TOP", h[1]))
    rows = [f"{mat},{clock(second)},{chip},-{RNG.randint(48, 79)}" for mat, second, chip in heard]
    text = "\n".join(["mat,clock,chip,rssi", *rows, ""])
    (FILES / "mat_readings.csv").write_text(text, encoding="utf-8", newline="")


def write_entries(runners: list[Runner]) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Entries"
    book.create_sheet("Late")
    for page in book:
        page.append(["Bib", "First name", "Surname", "W/M", "Born", "Club", "Wave", "Remark"])
    for r in runners:
        born = r.born if RNG.random() < 0.5 else f"{r.born:%d.%m.%Y}"
        first, last = r.name.split(" ")
        first = RNG.choice([first, f"{first} ", first.upper()])
        sex = RNG.choice([r.sex, r.sex, r.sex.lower(), {"W": "F", "M": "M"}[r.sex]])
        remark = "withdrawn, paid back" if r.case == "withdrawn" else None
        page = book["Late" if r.case in ("late1", "late2") else "Entries"]
        page.append([r.bib, first, last, sex, born, RNG.choice(CLUBS[r.club]), r.wave, remark])
    save_office(book, FILES / "entries.xlsx", WRITTEN)


def print_expected(runners: list[Runner]) -> None:
    entered = [r for r in runners if r.case != "withdrawn"]
    ranked = sorted((r for r in entered if r.status == "OK"), key=lambda r: (r.time, r.bib))
    for r in [*ranked, *(r for r in entered if r.status != "OK")]:
        place = 1 + sum(o.time < r.time for o in ranked) if r.status == "OK" else None
        times = [str(timedelta(seconds=s)) for s in (r.time, *(r.legs or ()))]
        print([place, r.bib, r.name, r.club, r.category, r.status, *times], r.case)
    for c in ("W", "M", "W40", "M40", "W50", "M50", "W60", "M60"):
        print(
            [c, *(f"{r.name} {timedelta(seconds=r.time)}" for r in ranked if r.category == c)][:4]
        )
    for club in list(CLUBS)[1:]:
        for sex in "WM":
            times = [r.time for r in ranked if (r.club, r.sex) == (club, sex)][:3]
            print(club, sex, timedelta(seconds=sum(times)) if len(times) == 3 else "no team")
    for leg, sex in ((0, "W"), (0, "M"), (1, "W"), (1, "M")):
        best = min((r for r in ranked if r.sex == sex and r.legs), key=lambda r: r.legs[leg])
        print("Climb" if leg == 0 else "Descent", best.name, timedelta(seconds=best.legs[leg]))


if __name__ == "__main__":
    field = field_of_runners()
    if "--expected" in sys.argv:
        print_expected(field)
    else:
        FILES.mkdir(exist_ok=True)
        write_readings(field)
        write_entries(field)
        cases = {r.case: r.bib for r in field if r.case}
        for name in ("race_rules.md", "clubs.txt", "crew_log.txt"):
            fill_in(TEXTS / name, FILES / name, **cases)
