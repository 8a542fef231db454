"""Write files/: fuel log, offers, rules and mails for the choice of three vans.

The expected values come from the kilometres and prices below, not from the log:
`python make_files.py --expected` prints them and changes nothing.
"""

import random
import sys
from datetime import date, datetime, timedelta
from itertools import product
from pathlib import Path

from taskdata.banks.making import blocks_of, document_of, fill_in, save_office

FILES = Path(__file__).parent / "files"
TEXTS = Path(__file__).parent / "texts"
WRITTEN = datetime(2026, 3, 30, 8, 0)
SEED = 1405
FIRST, LAST = date(2025, 4, 2), date(2026, 3, 30)
REPLACED = date(2025, 10, 9)
MILE = 1.609

# Route: van, km a year as driven, change decided, longest day, payload needed, first odometer
ROUTES = {
    "Town": (1, 14300, 0, 118, 600, 84120),
    "Coast": (2, 28900, 2300, 214, 900, 61240),
    "North": (3, 27100, -2300, 165, 780, 171530),
}
# Dealer, model, list price, kind, consumption, range on paper, payload, service, tax, residual %
OFFERS = {
    "K1": ("North Motors", "Kestrel D", 31900, "diesel", 7.4, None, 1150, 780, 412, 28),
    "K2": ("North Motors", "Pipit", 29500, "petrol", 6.9, None, 700, 690, 298, 26),
    "E1": ("Volta Haus", "Wren E", 38400, "electric", 24.5, 260, 820, 460, 60, 30),
    "E2": ("Volta Haus", "Heron E", 47200, "electric", 26.8, 410, 940, 490, 60, 33),
}
PRICES = {"diesel": 1.38, "petrol": 1.46, "electric": 0.27}
GRANTS = [6000, 3000]


def log() -> dict[str, list[tuple[date, float]]]:
    """Days and kilometres since the first reading, as driven, by route."""
    rng = random.Random(SEED)
    found = {}
    for route, (_, km, *_) in ROUTES.items():
        day, rows = FIRST, []
        while day < LAST - timedelta(5):
            wobble = rng.uniform(-0.08, 0.08) * km / 52 if rows else 0
            rows.append((day, (day - FIRST).days * km / 365 + wobble))
            day += timedelta(rng.randint(7, 13))
        found[route] = [*rows, (LAST, (LAST - FIRST).days * km / 365 + 7)]
    return found


def broken(route: str, offer: str) -> list[str]:
    _, _, _, day, needed, _ = ROUTES[route]
    distance, payload = OFFERS[offer][5:7]
    is_short = distance is not None and distance * 0.7 < day * 1.1
    return ["A"] * (payload < needed) + ["B"] * is_short


def lines(route: str, offer: str, prices: dict[str, float]) -> list[float]:
    """List price, wallbox, residual value, energy, service and tax."""
    _, _, price, kind, consumption, _, _, service, tax, residual = OFFERS[offer]
    km = ROUTES[route][1] + ROUTES[route][2]
    wallbox = 1450 if kind == "electric" else 0
    energy = round(5 * km / 100 * consumption * prices[kind], 2)
    return [price, wallbox, -price * residual / 100, energy, 5 * (service + tax)]


def extras(combination: tuple[str, ...]) -> list[tuple[float, float]]:
    """Discount and grant of each van in a combination."""
    grants, found = list(GRANTS), []
    dealers = [OFFERS[offer][0] for offer in combination]
    for offer, dealer in zip(combination, dealers, strict=True):
        grant = grants.pop(0) if OFFERS[offer][3] == "electric" and grants else 0
        found.append((-OFFERS[offer][2] * 0.04 * (dealers.count(dealer) > 1), -grant))
    return found


def totals(prices: dict[str, float]) -> list[tuple[float, tuple[str, ...]]]:
    """Every combination that keeps the rules, cheapest first."""
    found = []
    for combination in product(OFFERS, repeat=3):
        pairs = list(zip(ROUTES, combination, strict=True))
        is_kept = not any(broken(*pair) for pair in pairs)
        if is_kept and sum(OFFERS[o][3] == "electric" for o in combination) <= 2:
            basic = sum(sum(lines(*pair, prices)) for pair in pairs)
            found.append((round(basic + sum(map(sum, extras(combination))), 2), combination))
    return sorted(found)


def print_expected() -> None:
    for route, rows in log().items():
        valid = rows[:-1] if route == "Town" else rows  # the last reading was mistyped
        days = (valid[-1][0] - FIRST).days
        km, change = ROUTES[route][1:3]
        assert round(valid[-1][1] / days * 3.65) * 100 == km
        print([route, ROUTES[route][0], round(valid[-1][1]), days, km + change])
    for route, offer in product(ROUTES, OFFERS):
        cost = round(sum(lines(route, offer, PRICES)), 2)
        print([f"{route} {offer}", ", ".join(broken(route, offer)) or "yes", cost])
    found = totals(PRICES)
    print(len(found), [["-".join(c), t] for t, c in found])
    (best, chosen), (second, other) = found[:2]
    for route, offer, more in zip(ROUTES, chosen, extras(chosen), strict=True):
        row = [*lines(route, offer, PRICES), *more]
        print([route, offer, *(round(v, 2) for v in row), round(sum(row), 2)])
    print("total", best, "runner-up", other, second, "difference", round(second - best, 2))
    for kind, price in PRICES.items():
        dearer = {t[1]: t[0] for t in totals(PRICES | {kind: price + 1})}
        slope = (dearer[other] - second) - (dearer[chosen] - best)
        print(kind, "turns at", round(price - (second - best) / slope, 4) if slope else None)


def write_log() -> None:
    rng = random.Random(SEED + 1)
    rows = []
    for route, readings in log().items():
        van, start, stood = ROUTES[route][0], ROUTES[route][5], old_stood()
        for day, km in readings:
            value = round(start + (km / MILE if van == 2 else km))
            if van == 3 and day > REPLACED:
                value -= stood
            if (van, day) == (1, LAST):
                value = int(f"{value:06d}"[:2] + "0" + f"{value:06d}"[3:]) - 900  # mistyped
            shown = rng.choice([f"{value}", f"{value:,}", f"{value:,}".replace(",", " ")])
            label = rng.choice([f"van {van}", f"Van {van}", f"V{van}", f"van{van} {route}"])
            litres = f"{rng.uniform(28, 62):.1f}"
            rows.append((day, f"{day:%d.%m.%Y};{label};{shown};{litres}"))
    rows.append((date(2025, 3, 20), "20.03.2025;V1;83655;41.0"))
    rows.append((date(2026, 4, 9), "09.04.2026;V2;79540;55.2"))
    middle = rows[14]
    rows.append((middle[0] + timedelta(1), f"{middle[0] + timedelta(1):%d.%m.%Y};V1;8516;37.7"))
    rows.sort(key=lambda r: r[0])
    text = "\r\n".join(["date;van;odometer;litres", *(row for _, row in rows), ""])
    (FILES / "fuel_log.csv").write_bytes(text.encode())


def old_stood() -> int:
    """What the old odometer of van 3 showed when it was replaced."""
    return round(ROUTES["North"][5] + (REPLACED - FIRST).days * ROUTES["North"][1] / 365)


def write_offers() -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Offers"
    head = ["Code", "Dealer", "Model", "List price", "Drive", "Per 100 km (l or kWh)"]
    head += ["Range on paper km", "Payload kg", "Service a year", "Tax a year", "Residual 5 y"]
    book["Offers"].append(head)
    for code, (dealer, model, price, *rest) in OFFERS.items():
        quoted = 36900 if code == "E1" else price  # before the mail
        book["Offers"].append([code, dealer, model, quoted, *rest[:-1], f"{rest[-1]} %"])
    sheet = book.create_sheet("Routes")
    sheet.append(["Route", "Van now", "Longest day km", "Payload needed kg", "Km a year (guess)"])
    for route, (van, km, _, day, needed, _) in ROUTES.items():
        sheet.append([route, van, 168 if route == "Coast" else day, needed, round(km * 1.2, -3)])
    save_office(book, FILES / "offers.xlsx", WRITTEN)


def write_rules() -> None:
    document = document_of(blocks_of(TEXTS / "costing_rules.md"))
    save_office(document, FILES / "costing_rules.docx", WRITTEN)


if __name__ == "__main__":
    if "--expected" in sys.argv:
        print_expected()
    else:
        FILES.mkdir(exist_ok=True)
        write_log()
        write_offers()
        write_rules()
        fill_in(TEXTS / "mails.txt", FILES / "mails.txt", stood=old_stood())
