"""What providers report about their rate limits in the headers of an answer."""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from environments.models.limits.protocols import Allowance

_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)", re.ASCII)
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_SECONDS = 7 * 86400.0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait before the next attempt; None if the answer does not say.

    Read from `retry-after-ms` or `retry-after` (seconds or a date), else from the reset time of a
    limit of which nothing is left.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (seconds := _number(headers.get(name, ""))) is not None:
            return min(max(0.0, seconds * scale), _LONGEST_SECONDS)
    with suppress(ValueError):
        return _until(parsedate_to_datetime(headers.get("retry-after", "")))
    spent = [
        allowance.reset_seconds
        for allowance in allowances(headers)
        if allowance is not None and allowance.remaining == 0
    ]
    return max(spent, default=None)


def allowances(headers: Mapping[str, str]) -> tuple[Allowance | None, Allowance | None]:
    """Return what is left of the request and token limits; None if the answer does not say."""
    if "anthropic-ratelimit-requests-limit" in headers:
        tokens = "input-tokens" if "anthropic-ratelimit-input-tokens-limit" in headers else "tokens"
        return _anthropic(headers, "requests"), _anthropic(headers, tokens)
    return _openai(headers, "requests"), _openai(headers, "tokens")


def _openai(headers: Mapping[str, str], what: str) -> Allowance | None:
    limit, remaining, reset = (
        headers.get(f"x-ratelimit-{field}-{what}", "") for field in ("limit", "remaining", "reset")
    )
    return _allowance(limit, remaining, span_seconds(reset))


def _anthropic(headers: Mapping[str, str], what: str) -> Allowance | None:
    limit, remaining, reset = (
        headers.get(f"anthropic-ratelimit-{what}-{field}", "")
        for field in ("limit", "remaining", "reset")
    )
    try:
        return _allowance(limit, remaining, _until(datetime.fromisoformat(reset)))
    except ValueError:
        return None


def _allowance(limit: str, remaining: str, reset: float | None) -> Allowance | None:
    most, left = _number(limit), _number(remaining)
    if most is None or left is None or reset is None or most <= 0:
        return None
    return Allowance(limit=most, remaining=min(max(0.0, left), most), reset_seconds=reset)


def span_seconds(text: str) -> float | None:
    """Return a duration such as `6m0s`, `20ms` or `1.5` in seconds; None if it is invalid."""
    if (seconds := _number(text)) is not None:
        return min(max(0.0, seconds), _LONGEST_SECONDS)
    parts = _SPAN.findall(text[:60])
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return min(sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts), _LONGEST_SECONDS)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(when: datetime) -> float:
    """Return the seconds until a time, read as UTC if it has no zone; at least 0."""
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return min(max(0.0, (when - datetime.now(UTC)).total_seconds()), _LONGEST_SECONDS)
