"""Rule on every line by the rules that count for its trip; write rulings.json."""

import json
import re
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

import pandas as pd
import pdfplumber
from docx import Document

# The tables of both sets of rules, from the documents themselves.
allowance_2023, ceiling, changed = {}, {}, {}
with pdfplumber.open("input/travel_rules_2023.pdf") as pdf:
    for page in pdf.pages:
        for head, *rows in page.extract_tables():
            if head[0] == "Country":
                allowance_2023 |= {name: Decimal(euros) for name, euros in rows}
            elif head == ["City", "EUR"]:
                ceiling |= {name: Decimal(euros) for name, euros in rows}
            elif head[0] == "City":  # Annex D replaces what it names
                changed |= {name: Decimal(now) for name, _, now in rows}
ceiling |= changed
new_rules = Document("input/travel_rules_2025.docx")
allowance_2025 = {r.cells[0].text: r.cells[1].text for r in new_rules.tables[0].rows[1:]}
allowance = {"2023": allowance_2023, "2025": {k: Decimal(v) for k, v in allowance_2025.items()}}

sheets = pd.read_excel("input/claims.xlsx", sheet_name=None)
trips = sheets["Trips"].set_index("Claim")
rates = pd.read_csv("input/exchange_rates.csv", dtype=str).set_index("currency")


def cents(value):
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def day(text):
    return date.fromisoformat(str(text)[:10])


def number(pattern, text):
    return Decimal(re.search(pattern, text)[1])


def rules_of(trip):
    """By the treasurer's note the new rules count for trips that begin in May or later."""
    return "2025" if day(trip["First day"]) >= date(2025, 5, 1) else "2023"


def hours(text):
    found = re.search(r"(\d+) h (\d+)", text)
    return int(found[1]) + int(found[2]) / 60


def in_eur(row, rules):
    if row.Currency == "EUR":
        return Decimal(str(row.Amount))
    when = row.Date if rules == "2023" else trips.loc[row.Claim, "First day"]
    return Decimal(str(row.Amount)) * Decimal(rates.loc[row.Currency, str(when)[:7]])


def rail(row, rules, amount):
    limit, share = (4, Decimal("0.6")) if rules == "2023" else (3, Decimal("0.5"))
    if "first class" in row.Details and hours(row.Details) <= limit:
        assert "other fare not on ticket" in row.Details
        amount *= share
    return amount, "3.1" if rules == "2023" else "3(1)"


def taxi(row, rules, amount):
    limit, late, clause = (25, 22, "3.3") if rules == "2023" else (30, 23, "3(3)")
    hour = int(re.search(r"(\d\d):\d\d", row.Details)[1])
    in_full = hour >= late or hour < 6
    return amount if in_full else min(amount, Decimal(limit)), clause


def hotel(row, rules, amount):
    nights = number(r"(\d+) nights", row.Details) if "3 nights" in row.Details else Decimal(2)
    city = next(name for name in ceiling if name in row.Details)
    if rules == "2023":
        return min(amount, nights * ceiling[city]), "5.1"
    return min(amount, nights * cents(ceiling[city] * Decimal("1.12"))), "5(1)"


def daily_allowance(row, rules, _):
    """First and last day in part, the country by the night, less the meals provided."""
    trip = trips.loc[row.Claim]
    first, last = day(trip["First day"]), day(trip["Last day"])
    days = [first + timedelta(n) for n in range((last - first).days + 1)]
    country_of = dict.fromkeys(days, {"T-2041": "Austria", "T-2063": "Poland"}.get(row.Claim))
    if row.Claim == "T-2057":
        country_of = {d: "France" if d < date(2025, 5, 1) else "Switzerland" for d in days}
    part, lunch, dinner = ("0.6", "0.4", "0.4") if rules == "2023" else ("0.5", "0.3", "0.3")
    total = Decimal(0)
    for d in days:
        full = allowance[rules][country_of[d]]
        value = full * (Decimal(part) if d in (first, last) else 1)
        named = [
            p for p in re.split(r"[;,] ", row.Details) if re.search(rf"\b{d.day}\b.*{d:%B}", p)
        ]
        value -= full * Decimal(lunch) * any(p.startswith("lunch") for p in named)
        value -= full * Decimal(dinner) * any("dinner" in p for p in named)
        if rules == "2025" and d != first:  # breakfast is on the hotel bill of each night
            value -= full * Decimal("0.2")
        total += max(value, Decimal(0))
    return total, "4.2" if rules == "2023" else "4(2)"


def rule(row):
    """Amount to pay and the clause that settles it."""
    trip = trips.loc[row.Claim]
    rules = rules_of(trip)
    limit, late = (90, "2.1") if rules == "2023" else (60, "2(1)")
    if (day(trip["Received"]) - day(trip["Last day"])).days > limit:
        return rules, Decimal(0), late
    amount = in_eur(row, rules)
    old = rules == "2023"
    special = {
        "Rail": rail,
        "Taxi": taxi,
        "Hotel room": hotel,
        "Hotel bill": hotel,
        "Daily allowance": daily_allowance,
    }
    if row.Item in special:
        return rules, *special[row.Item](row, rules, amount)
    nothing = Decimal(0)
    settled = {
        "Hotel breakfast": (nothing, "5.2"),
        "City tax": (amount, "5.3"),
        "Conference fee": (amount, "6.1" if old else "6(1)"),
        "Conference dinner": (nothing, "6.2") if old else (min(amount, Decimal(45)), "6(2)"),
        "Minibar": (nothing, "7.1" if old else "7(1)"),
        "Tip": (nothing, "7.1" if old else "7(1)"),
        "Data roaming": (min(amount, Decimal(10)), "7.2") if old else (nothing, "7(2)"),
    }
    if row.Item == "Private car":
        return rules, number(r"(\d+) km", row.Details) * Decimal("0.28"), "3(4)"
    if row.Item == "Parking":
        return rules, min(amount, 10 * number(r"(\d+) nights", row.Details)), "3(5)"
    return rules, *settled[row.Item]


lines, paid_by_claim = [], {}
for row in sheets["Lines"].itertuples():
    rules, paid, clause = rule(row)
    paid = cents(paid)
    paid_by_claim[row.Claim] = paid_by_claim.get(row.Claim, Decimal(0)) + paid
    line = {"line": f"{row.Claim}/{row.Line}", "paid_eur": float(paid)}
    lines.append(line | {"clause": f"{rules}-{clause}"})
    print(line, clause, row.Item, row.Amount, row.Currency)
claims = [
    {"claim": claim, "rules": rules_of(trips.loc[claim]), "paid_eur": float(paid)}
    for claim, paid in paid_by_claim.items()
]
total = float(sum(paid_by_claim.values()))
with open("output/rulings.json", "w") as file:
    json.dump({"claims": claims, "lines": lines, "total_paid_eur": total}, file, indent=2)
print(claims, total)
