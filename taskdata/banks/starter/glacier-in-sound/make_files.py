"""Write the input files of this task: `python make_files.py`; prints the expected values.

The text of the concept is in sources/, mail_curator.txt in files/ is written by hand.
The true balances are drawn up first and spoilt into the log, so the expected values never pass
through any code that cleans it.
"""

import random
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from openpyxl import Workbook

from taskdata.banks.making import document_of_sections, save_office, write_csv

HERE = Path(__file__).parent
FILES = HERE / "files"
WRITTEN = datetime(2026, 4, 16, 8, 0)
YEARS = range(1986, 2026)
MISSING = (1992, 2011)  # nobody could get up there at the end of the season
# What the reanalysis takes off the balance as first measured, mm; the last two are not adopted.
ADOPTED = {2001: 110, 2002: 130, 2003: 150, 2004: 120, 2005: 140, 2006: 160, 2007: 130, 2008: 90}
DISCUSSED = {2009: 120, 2010: 100}
# Balance as first measured in mm, where it matters; the others are drawn.
SET = {1989: 640, 1993: 310, 2000: 420, 2003: -2370, 2005: 90, 2008: 70, 2010: 60, 2018: -2440}
SET |= {1991: -880, 1994: -240, 1996: -1330, 2022: -2290, 2004: -640, 2024: -1510, 2025: -1820}


def first_measured() -> dict[int, tuple[int, int]]:
    """Year: winter and summer balance as first measured, mm."""
    rng = random.Random(1986)
    found = {}
    for year in YEARS:
        winter = 10 * rng.randint(128, 236)
        annual = SET.get(year, -10 * rng.randint(12, 90) - 22 * (year - 1986))
        found[year] = (winter, annual // 10 * 10 - winter)
    return found


def balances() -> dict[int, Decimal]:
    """Year: annual balance in m that counts today."""
    measured = {y: sum(v) - ADOPTED.get(y, 0) for y, v in first_measured().items()}
    return {y: Decimal(mm) / 1000 for y, mm in measured.items() if y not in MISSING}


def expected() -> None:
    found = balances()
    most = max(abs(b) for b in found.values())
    for year, b in found.items():
        tones = (6 * b).quantize(Decimal(1), ROUND_HALF_UP)
        assert abs(6 * b % 1) != Decimal("0.5"), year
        amplitude = max(Decimal("0.8") * abs(b) / most, Decimal("0.08"))
        start = 2 + (year - YEARS[0]) / 2
        hertz = 330 * 2 ** (float(tones) / 12)
        print(f"[{year}, {b:.2f}, {tones}, {hertz:.1f}, {amplitude:.3f}]  # from {start} s")
    print("sum", sum(found.values()), "grew", sum(b > 0 for b in found.values()))


def number(mm: int, unit: str, rng: random.Random) -> str:
    if unit == "mm":
        return str(mm)
    return f"{mm / 1000:.2f}".replace(".", rng.choice(",,."))


def season(year: int, rng: random.Random) -> str:
    long = f"{year - 1}/{year if year == 2000 else f'{year % 100:02d}'}"
    return rng.choice(
        [long, long, f"{year - 1}-{year}", f"{(year - 1) % 100:02d}/{year % 100:02d}"]
    )


def write_log() -> None:
    rng = random.Random(25)
    rows = []
    for year, (winter, summer) in first_measured().items():
        unit = "mm" if year >= 2003 else "m"
        sign = -1 if year % 5 in (1, 3) else 1  # some wrote the loss of the summer without a minus
        lines = [("final", winter, sign * summer)]
        if year % 7 == 3 or year in (2003, 2018):
            lines.insert(rng.randint(0, 1), ("prel.", winter + 90, sign * (summer - 260)))
        for version, w, s in lines:
            shown = [number(w, unit, rng), number(s, unit, rng)]
            if year in MISSING:
                shown[1] = rng.choice(["", "n/a"])
            rows.append([season(year, rng), *shown, unit, version, rng.choice(["TE", "IH", "iv"])])
    rows.insert(21, ["stakes redrilled, see field book", "", "", "", "", ""])
    write_csv(
        FILES / "balance_log.csv",
        [["season", "winter", "summer", "unit", "version", "observer"], *rows],
        delimiter=";",
    )


def write_reanalysis() -> None:
    book = Workbook()
    sheet = book.active
    sheet.title = "Reanalysis 2024"
    sheet.append(["Hvitbreen, comparison of stakes with the laser survey"])
    sheet.append([])
    sheet.append(["Year", "Correction of the annual balance (m)", "Decision", "Note"])
    for year, mm in (ADOPTED | DISCUSSED).items():
        decision = "adopted" if year in ADOPTED else "under discussion"
        sheet.append([year, -mm / 1000, decision, "melt-out of stake 4" if year == 2003 else None])
    save_office(book, FILES / "reanalysis.xlsx", WRITTEN)


def write_concept() -> None:
    document = document_of_sections(HERE / "sources" / "concept.md")
    save_office(document, FILES / "concept.docx", WRITTEN)


def main() -> None:
    FILES.mkdir(exist_ok=True)
    write_log()
    write_reanalysis()
    write_concept()
    expected()


if __name__ == "__main__":
    main()
