"""Numbers as people write them, and when two numbers count as equal."""

import math
import re
from collections.abc import Iterator

_CURRENCY = r"(?:[€$£¥]|EUR|USD|GBP|CHF|JPY)"
_SIGN = r"[-+\u2212\u2013]"
_SPACES = "\u00a0\u202f\u2009 "
_GROUPED = rf"[0-9]{{1,3}}(?:[,.'’{_SPACES}][0-9]{{3}})+(?:[.,][0-9]+)?"
_PLAIN = r"[0-9]+(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]{1,3})?|[.][0-9]+"
_WRITTEN = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>{_SIGN})?\s*{_CURRENCY}?\s*(?P<sign2>{_SIGN})?\s*"
    rf"(?P<digits>{_GROUPED}|{_PLAIN})"
    rf"\s*(?P<percent>%)?\s*{_CURRENCY}?\s*(?P<percent2>%)?\s*(?P<close>\))?",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    rf"(?<![\w.,])(?P<sign>{_SIGN})?(?:{_CURRENCY}\s?)?"
    r"(?P<digits>[0-9]{1,3}(?:[,.'’][0-9]{3})+(?:[.,][0-9]+)?"
    r"|[0-9]+(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]{1,3})?)"
    rf"(?P<spaced>(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]+)?(?![0-9]))?"
    r"\s?(?P<unit>%|thousand\b|million\b|billion\b|k\b|M\b|bn\b)?"
)
_FACTORS = {"thousand": 1e3, "k": 1e3, "million": 1e6, "M": 1e6, "billion": 1e9, "bn": 1e9}
_MAX_WRITTEN = 64
_ROUNDING = 1e-9
"""Relative rounding error of decimal fractions in binary, not a tolerance of the task."""


def read_number(text: str) -> float | None:
    """Return the number that the whole of `text` writes, None if it is not just a number.

    Reads thousands separators, decimal comma or point, currency signs, a percent sign (`12 %` is
    12), accounting brackets (`(5)` is -5) and exponents. `1,234` is 1234 and `1,23` is 1.23;
    `1.234` is 1.234. The result is finite.
    """
    if len(text) > _MAX_WRITTEN:
        return None
    match = _WRITTEN.fullmatch(text.strip())
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    value = _digits(match["digits"])
    if value is None:
        return None
    sign = match["sign"] or match["sign2"] or ""
    return -value if match["open"] or sign in ("-", "\u2212", "\u2013") else value


def _digits(digits: str) -> float | None:
    digits = re.sub(rf"['’{_SPACES}]", "", digits)
    commas, points = digits.count(","), digits.count(".")
    if commas and points:
        decimal = max(",.", key=digits.rfind)
    elif commas == 1 and not re.fullmatch(r"[0-9]{1,3},[0-9]{3}", digits):
        decimal = ","
    else:
        decimal = "" if points > 1 else "."
    plain = "".join(
        "." if char == decimal else char for char in digits if char == decimal or char not in ",."
    )
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def numbers_in(text: str) -> Iterator[tuple[float, ...]]:
    """Yield, for every number in running text, the values that it may stand for.

    `1.2 million` may be 1.2 or 1200000, `1 234` may be 1 or 1234, `12 %` may be 12 or 0.12.
    """
    for match in _TOKEN.finditer(text):
        values = [_digits(match["digits"][:_MAX_WRITTEN])]
        if match["spaced"]:
            values.append(_digits((match["digits"] + match["spaced"])[:_MAX_WRITTEN]))
        unit = match["unit"]
        found = [value for value in values if value is not None]
        if unit == "%":
            found += [value / 100 for value in found]
        elif unit:
            found += [value * _FACTORS[unit] for value in found]
        if match["sign"] and match["sign"] != "+":
            found = [-value for value in found]
        if found:
            yield tuple(found)


def close(found: float, expected: float, tolerance: float) -> bool:
    """Return whether the numbers differ by at most `tolerance`, apart from binary rounding."""
    if not math.isfinite(found):
        return False
    return abs(found - expected) <= tolerance + _ROUNDING * max(1.0, abs(expected))


def plain(value: float) -> str:
    """Return the number for readers: no trailing zeros, no exponent for usual sizes."""
    return f"{value:.10g}" if abs(value) < 1e10 else f"{value:.6g}"
