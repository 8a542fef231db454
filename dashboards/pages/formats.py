"""How numbers are written on the page; `UNKNOWN` stands for what was not measured."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

UNKNOWN = "–"


def bank(name: str) -> str:
    """Return the name of a bank for readers: of a bank in a folder, the folder's name alone."""
    return Path(name).name or name if "/" in name else name


def banks(names: Sequence[str]) -> Sequence[str]:
    """Return the names of banks for readers; with full paths where short names would be equal."""
    called = [bank(name) for name in names]
    return called if len(set(called)) == len(set(names)) else names


def score(value: float | None) -> str:
    """Return a score of 0-10 with two decimals."""
    return UNKNOWN if value is None else f"{value:.2f}"


def share(value: float | None) -> str:
    """Return a share of 0-1 in percent; 100 % and 0 % only where they are exact."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.01 or 0.99 < value < 1:
        return f"{100 * value:.1f} %"
    return f"{100 * value:.0f} %"


def score_interval(ci95: tuple[float, float] | None) -> str:
    """Return the interval of a score, or nothing where there is none."""
    return "" if ci95 is None else f"{ci95[0]:.2f} to {ci95[1]:.2f}"


def score_range(lower: float | None, upper: float | None) -> str:
    """Return a score, or its bounds where verdicts are missing."""
    return score(lower) if lower == upper else f"{score(lower)} to {score(upper)}"


def share_interval(ci95: tuple[float, float] | None) -> str:
    """Return the interval of a share, or nothing where there is none."""
    return "" if ci95 is None else f"{share(ci95[0])} to {share(ci95[1])}"


def figure(value: float, form: str) -> str:
    """Return a number in that format; `share` is a share of 0-1."""
    return share(value) if form == "share" else format(value, form)


def figure_interval(ci95: tuple[float, float] | None, form: str) -> str:
    """Return the interval of such a number, or nothing where there is none."""
    return "" if ci95 is None else f"{figure(ci95[0], form)} to {figure(ci95[1], form)}"


def gain_interval(ci95: tuple[float, float] | None) -> str:
    """Return the interval of a difference, or nothing where there is none."""
    return "" if ci95 is None else f"{gain(ci95[0])} to {gain(ci95[1])}"


def probability(p_value: float | None) -> str:
    """Return a p-value with as many digits as it is worth."""
    if p_value is None:
        return UNKNOWN
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def gain(value: float | None) -> str:
    """Return a difference with its sign; none where it rounds to nothing."""
    if value is None:
        return UNKNOWN
    return "0.00" if abs(value) < 0.005 else f"{value:+.2f}".replace("-", "−")


def money(usd: float | None) -> str:
    """Return dollars, fine enough for cheap models."""
    if usd is None:
        return "unknown"
    return f"${usd:,.2f}" if usd == 0 or usd >= 0.1 else f"${usd:.4f}"


def count(number: float | None) -> str:
    """Return a number with thousands separated, and one decimal where it is not whole."""
    if number is None:
        return UNKNOWN
    return f"{number:,.0f}" if number == round(number) else f"{number:,.1f}"


def whole(number: float | None) -> str:
    """Return a number without decimals, thousands separated."""
    return UNKNOWN if number is None else f"{number:,.0f}"


def duration(seconds: float | None) -> str:
    """Return a length of time in the two largest units."""
    if seconds is None:
        return UNKNOWN
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left:02} min" if hours else f"{minutes} min {rest:02} s"


def size(size_bytes: int) -> str:
    """Return a file size in decimal units."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1_000:.1f} kB"
    return f"{size_bytes / 1_000_000:.1f} MB"


def when(moment: datetime | None) -> str:
    """Return a point in time to the minute, in the zone it carries (UTC in the store)."""
    return UNKNOWN if moment is None else f"{moment:%Y-%m-%d %H:%M} {moment.tzname() or ''}".strip()


def plural(number: int | None, noun: str) -> str:
    """Return `1 trial`, `2 trials`."""
    if number is None:
        return f"{UNKNOWN} {noun}s"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def words(name: str) -> str:
    """Return one of our identifiers as words: `out_of_turns` -> `out of turns`."""
    return name.replace("_", " ")


def relative(percent: float | None) -> str:
    """Return a change in percent with its sign; unknown where there was nothing to change."""
    if percent is None:
        return UNKNOWN
    return "0 %" if abs(percent) < 0.5 else f"{percent:+,.0f} %".replace("-", "−")


def cut(text: str, length: int) -> str:
    """Return `text`, or its first `length` characters and a sign that there were more."""
    return text if len(text) <= length else f"{text[:length]}…"
