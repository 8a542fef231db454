"""Write the input files of this task, or with --expected the values its checks expect.

Venues, people and trains below are clean records; the writers make them messy. Expected values
come from the clean records and the changes the mails bring, not from reading the files back.

    python make_files.py             # rewrites files/
    python make_files.py --expected  # prints what task.yaml expects, changes nothing
"""

import random
import sys
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from taskdata.banks.making import blocks_of, document_of, save_office

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
WRITTEN = datetime(2026, 2, 27, 8, 0)
SEED = 1871
D = Decimal
CENT = Decimal("0.01")
OFFICES = ("Norham", "Eastwick", "Calder", "Port Ellis")
WINDOWS = {"W1": date(2026, 5, 5), "W2": date(2026, 5, 11), "W3": date(2026, 5, 19)}
BUDGET = D("15900")
REQUIRED = ("Amina Rahal", "Jonas Feld", "Petra Novak")


@dataclass(frozen=True)
class Venue:
    code: str
    name: str
    town: str
    seats: int
    breakouts: int
    rooms: int
    step_free: bool
    package: D
    """Per person and day, as it is after all mails."""
    room: D
    net: bool
    tax: D
    shuttle: D
    taken: tuple[tuple[int, int], ...]
    """(month, day) on which the house is not free."""


VENUES = [
    Venue("V1", "Lindow Mill", "Lindow", 30, 3, 26, True, D("69.00"), D("104.00"), False,
          D("2.50"), D("180.00"), ((5, 6), (5, 7), (5, 8))),
    Venue("V2", "Lindow Abbey", "Lindow", 25, 4, 28, True, D("64.00"), D("98.00"), False,
          D("2.50"), D("180.00"), ((5, 5), (5, 11), (5, 12), (5, 13))),
    Venue("V3", "Marsk Lighthouse Hotel", "Marsk", 40, 5, 60, True, D("74.00"), D("121.00"),
          True, D("0"), D("95.00"), ()),
    Venue("V4", "Marsk Bay Centre", "Marsk", 32, 2, 30, True, D("52.00"), D("79.00"), False,
          D("0"), D("140.00"), ((5, 12),)),
    Venue("V5", "Tarn Lodge", "Tarn", 36, 4, 34, True, D("54.00"), D("92.00"), True,
          D("1.80"), D("260.00"), ()),
    Venue("V6", "Tarn Hall", "Tarn", 30, 3, 22, True, D("58.00"), D("88.00"), False,
          D("1.80"), D("240.00"), ((5, 20),)),
    Venue("V7", "Marsk Old Brewery", "Marsk", 28, 3, 27, True, D("66.50"), D("99.00"), False,
          D("0"), D("110.00"), ((5, 4), (5, 22))),
    Venue("V8", "Tarn Water Mill", "Tarn", 34, 4, 30, False, D("49.00"), D("81.00"), False,
          D("1.80"), D("210.00"), ()),
]  # fmt: skip

# Name, office, role, away in May (first and last day), how the list puts it, diet.
PEOPLE = [
    ("Maud Ellery", "Norham", "Managing director", None, "", ""),
    ("Amina Rahal", "Norham", "Pricing", (22, 29), "22-29 May", "halal"),
    ("Otto Brandt", "Norham", "Sales", None, "-", ""),
    ("Beatrix Lund", "Norham", "Sales", None, "none", "vegetarian"),
    ("Caspar Wirth", "Norham", "Engineering", (12, 12), "Tue 12 May (dentist, all day)", ""),
    ("Delia Osman", "Norham", "Engineering", None, "", ""),
    ("Emre Tekin", "Norham", "Engineering", (7, 8), "7/5 and 8/5", ""),
    ("Fleur Janssens", "Norham", "Design", None, "", "gluten-free"),
    ("Hal Whitcombe", "Norham", "Legal", None, "n/a", ""),
    ("Imke Sander", "Norham", "People", None, "", ""),
    ("Jonas Feld", "Eastwick", "Finance", (14, 15), "14.-15.5.", ""),
    ("Gareth Pugh", "Eastwick", "Engineering", None, "", ""),
    ("Kirsi Laine", "Eastwick", "Engineering", (18, 19), "Mon 18 and Tue 19 May", "vegetarian"),
    ("Lucian Popa", "Eastwick", "Engineering", None, "", ""),
    ("Mirela Bek", "Eastwick", "Support", None, "", ""),
    ("Nadia Sow", "Eastwick", "Support", None, "-", "halal"),
    ("Oleg Hurko", "Eastwick", "Support", (11, 15), "on leave 11-15 May", ""),
    ("Pia Gruber", "Eastwick", "Design", None, "", ""),
    ("Petra Novak", "Calder", "Product", (6, 6), "6 May (court hearing)", ""),
    ("Quentin Roux", "Calder", "Product", None, "", ""),
    ("Rada Ilic", "Calder", "Product", None, "", "vegan"),
    ("Sander Vos", "Calder", "Engineering", (10, 11), "back on Tue 12 May, away 10-11 May", ""),
    ("Tilda Berg", "Calder", "Engineering", None, "", ""),
    ("Ulf Stern", "Port Ellis", "Data", None, "", ""),
    ("Vera Kohl", "Port Ellis", "Data", (1, 4), "1-4 May", ""),
    ("Wim Aerts", "Port Ellis", "Data", None, "none", ""),
    ("Yara Nassar", "Port Ellis", "Data", None, "", "vegetarian"),
]


@dataclass(frozen=True)
class Train:
    number: str
    origin: str
    destination: str
    day: date
    departs: str
    arrives: str
    fare: D
    klass: int
    status: str


# From the offices, in their order, to each town.
MINUTES = {
    "Lindow": (95, 150, 120, 185),
    "Marsk": (140, 110, 165, 100),
    "Tarn": (175, 130, 90, 160),
}
FARES = {"Lindow": (27, 41, 33, 52), "Marsk": (39, 31, 46, 26), "Tarn": (48, 36, 24, 43)}


def clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def trains() -> list[Train]:
    rng = random.Random(SEED)
    found = []
    for town, lengths in MINUTES.items():
        for office, minutes, base in zip(OFFICES, lengths, FARES[town], strict=True):
            for window, first in WINDOWS.items():
                for back in (False, True):
                    day = first + timedelta(days=2 if back else 0)
                    ends = (town, office) if back else (office, town)
                    start = rng.randint(820, 850) if back else rng.randint(365, 385)
                    for step in range(6):
                        departs = start + step * 55 + rng.randint(-9, 9)
                        length = minutes + rng.randint(-6, 12)
                        fare = D(base * 100 + rng.randint(-6, 9) * 90) / 100
                        # The early and the late trains that the rules exclude are the cheap ones.
                        early = departs < 420 if not back else departs < 900
                        fare = fare * D("0.75") if early else fare
                        status = "runs"
                        if rng.random() < 0.12:
                            status = rng.choice(["cancelled", "replacement bus"])
                        if (town, office, window) == ("Marsk", "Calder", "W2") and not back:
                            status = "replacement bus"
                        number = f"{town[0]}{rng.randint(100, 989)}"
                        times = (clock(departs), clock(departs + length))
                        fare = fare.quantize(CENT)
                        found.append(Train(number, *ends, day, *times, fare, 2, status))
                        first_class = (fare * D("1.6")).quantize(CENT)
                        found.append(Train(number, *ends, day, *times, first_class, 1, status))
    return found


def cheapest(
    timetable: list[Train], origin: str, destination: str, day: date, back: bool
) -> Train | None:
    lowest, highest = ("15:00", "21:00") if back else ("07:00", "11:30")
    fits = [
        t
        for t in timetable
        if (t.origin, t.destination, t.day) == (origin, destination, day)
        and t.klass == 2 and t.status == "runs" and t.departs >= lowest and t.arrives <= highest
    ]  # fmt: skip
    return min(fits, key=lambda t: (t.fare, t.arrives), default=None)


# ---- the answer that a careful reader of the files arrives at ----------------------------------


@dataclass
class Option:
    venue: Venue
    window: str
    people: int
    broken: list[str]
    lines: list[tuple[str, int, D]]
    rides: dict[str, tuple[Train, Train]]
    total: D | None = None

    @property
    def code(self) -> str:
        return f"{self.venue.code}-{self.window}"

    @property
    def per_person(self) -> D:
        return self.total / self.people


def attendance(window: str) -> dict[str, list[str]]:
    """Return who comes, by office, after the changes in the mails."""
    first = WINDOWS[window].day
    coming: dict[str, list[str]] = {office: [] for office in OFFICES}
    for name, office, _, away, _, _ in PEOPLE:
        absent = away is not None and away[0] <= first + 2 and away[1] >= first
        if name != "Gareth Pugh" and not absent:
            coming[office].append(name)
    coming["Eastwick"].append("Ines Carvalho")
    return coming


def consider(venue: Venue, window: str, timetable: list[Train]) -> Option:
    first = WINDOWS[window]
    days = [first + timedelta(days=i) for i in range(3)]
    coming = attendance(window)
    everybody = [name for names in coming.values() for name in names]
    at_home = {"Beatrix Lund"} if venue.town == "Lindow" else set()
    nights = len([name for name in everybody if name not in at_home])
    rides = {}
    for office in OFFICES:
        out = cheapest(timetable, office, venue.town, days[0], back=False)
        rides[office] = out, cheapest(timetable, venue.town, office, days[2], back=True)
    lift_out = venue.code == "V5" and first <= date(2026, 5, 15)
    kept = {
        "R1": not any((d.month, d.day) in venue.taken for d in days),
        "R2": venue.seats >= len(everybody) + 2,
        "R3": venue.breakouts >= 3,
        "R4": venue.rooms >= nights,
        "R5": venue.step_free and not lift_out,
        "R6": all(out and back for out, back in rides.values()),
        "R7": all(name in everybody for name in REQUIRED),
    }
    broken = [rule for rule, holds in kept.items() if not holds]
    option = Option(venue, window, len(everybody), broken, [], rides)
    if broken:
        return option
    vat = (D("1.20"), D("1.10")) if venue.net else (D(1), D(1))
    package = (venue.package * vat[0]).quantize(CENT, ROUND_HALF_UP)
    room = (venue.room * vat[1]).quantize(CENT, ROUND_HALF_UP)
    option.lines = [
        ("Meeting package", 3 * len(everybody), package),
        ("Rooms", 2 * nights, room),
        ("City tax", 2 * nights, venue.tax),
        ("Shuttle", 2, venue.shuttle),
    ]
    for office, (out, back) in rides.items():
        riders = [n for n in coming[office] if n not in at_home and n != "Otto Brandt"]
        fare = out.fare + back.fare
        if len(riders) >= 8:
            fare = (fare * D("0.80")).quantize(CENT, ROUND_HALF_UP)
        option.lines.append((f"Train {office}", len(riders), fare))
    amount = sum(quantity * price for _, quantity, price in option.lines)
    option.lines.append(("Contingency", 1, amount * D("0.05")))
    option.total = amount * D("1.05")
    if option.total > BUDGET:
        option.broken.append("R8")
    return option


def options() -> list[Option]:
    timetable = trains()
    return [consider(venue, window, timetable) for venue in VENUES for window in WINDOWS]


# ---- the messy files ---------------------------------------------------------------------------


def write_team() -> None:
    rng = random.Random(SEED + 1)
    rows = ["name;office;role;absences May 2026;diet"]
    order = PEOPLE[:]
    rng.shuffle(order)
    for name, office, role, _, shown, diet in order:
        typed = rng.choice([office, office, office.upper(), f" {office}", office.lower()])
        rows.append(f"{name};{typed};{role};{shown};{diet}")
    (FILES / "team_list.csv").write_bytes(("\r\n".join(rows) + "\r\n").encode())


def write_trains() -> None:
    rng = random.Random(SEED + 2)
    rows = ["train,from,to,date,departs,arrives,class,fare,status"]
    timetable = trains()
    for t in timetable:
        day = rng.choice([t.day.isoformat(), t.day.isoformat(), t.day.strftime("%d/%m/%Y")])
        departs = rng.choice([t.departs, t.departs, t.departs.replace(":", ".")])
        arrives = rng.choice([t.arrives, t.arrives, t.arrives.lstrip("0")])
        fare = rng.choice([f"{t.fare}", f"EUR {t.fare}", f"{t.fare} \u20ac"])
        klass = rng.choice([str(t.klass), f"{t.klass}.", {1: "1st", 2: "2nd"}[t.klass]])
        status = rng.choice([t.status, t.status, t.status.capitalize()])
        row = ",".join(
            [t.number, t.origin, t.destination, day, departs, arrives, klass, fare, status]
        )
        rows.extend([row] * (2 if rng.random() < 0.03 else 1))
    (FILES / "train_fares.csv").write_text("\n".join(rows) + "\n", encoding="utf-8", newline="")


def write_quotes() -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Font, PatternFill

    book = Workbook()
    sheet = book.active
    sheet.title = "Quotes"
    # As they came in; two venues changed something by mail afterwards.
    quoted = [replace(v, package=D("79.00")) if v.code == "V3" else v for v in VENUES]
    labels = {
        "Code": lambda v: v.code,
        "Venue": lambda v: v.name,
        "Town (station)": lambda v: v.town,
        "Plenary, seats": lambda v: v.seats,
        "Breakout rooms": lambda v: v.breakouts,
        "Single rooms": lambda v: v.rooms,
        "Step-free": lambda v: "yes" if v.step_free else "no (three steps to the hall)",
        "Meeting package p.p. and day": lambda v: float(v.package),
        "Room p.p. and night": lambda v: float(v.room),
        "Prices are": lambda v: "net" if v.net else "incl. VAT",
        "City tax p.p. and night": lambda v: float(v.tax) if v.tax else "none",
        "Shuttle from the station, per ride": lambda v: float(v.shuttle),
    }
    for label, read in labels.items():
        sheet.append([label, *(read(v) for v in quoted)])
    sheet.append([])
    sheet.append(["All packages include lunch, dinner and coffee. Rooms include breakfast."])
    grid = book.create_sheet("Availability")
    days = [date(2026, 5, 4) + timedelta(days=i) for i in range(19)]
    grid.append(["May 2026; x = taken, opt = option held by another party, empty = free"])
    grid.append(["Venue", *(d.day for d in days)])
    for v in VENUES:
        cells = ["x" if (d.month, d.day) in v.taken else None for d in days]
        if v.code == "V2":
            cells = [None if 11 <= d.day <= 13 else c for c, d in zip(cells, days, strict=True)]
        if v.code == "V6":
            cells = ["opt" if c else None for c in cells]
        grid.append([f"{v.code} {v.name}", *cells])
    old = book.create_sheet("Quotes 2025 (old)")
    old.append(["Code", "Venue", "Package p.p. and day", "Room p.p. and night", "Budget 2025"])
    for v in VENUES[:5]:
        old.append([v.code, v.name, float(v.package) - 7, float(v.room) - 12, 17500])
    for page in book:
        for cell in (*page[1], *page["A"]):
            cell.font = Font(bold=True)
        page.column_dimensions["A"].width = 34
    for cell in grid[2]:
        cell.fill = PatternFill("solid", fgColor="E8E8E8")
    save_office(book, FILES / "venue_quotes.xlsx", WRITTEN)


def write_rules() -> None:
    document = document_of(blocks_of(TEXTS / "offsite_rules.md"))
    save_office(document, FILES / "offsite_rules.docx", WRITTEN)


def print_expected() -> None:
    found = options()
    for o in found:
        cost = f"{o.total:.2f}, {o.per_person:.2f}" if o.total else ", "
        print(f'- [{o.code}, {o.people}, {cost}, "{", ".join(o.broken) or "none"}"]')
    best = min((o for o in found if not o.broken), key=lambda o: o.per_person)
    print("recommended", best.code, best.venue.name, "left", BUDGET - best.total)
    for item, quantity, price in best.lines:
        print(f"- [{item}, {quantity}, {price:.2f}, {quantity * price:.2f}]")
    for office, (out, back) in best.rides.items():
        print(f'- [{office}, "{out.departs}", "{out.arrives}", "{back.departs}", "{back.arrives}"]')


if __name__ == "__main__":
    if "--expected" in sys.argv:
        print_expected()
    else:
        FILES.mkdir(exist_ok=True)
        write_team()
        write_trains()
        write_quotes()
        write_rules()
        (FILES / "offsite_mails.txt").write_bytes((TEXTS / "mails.txt").read_bytes())
