from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.limits.headers import allowances, retry_after, span_seconds
from environments.models.limits.protocols import Allowance


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("1h2m3.5s", 3723.5),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("", None),
        ("soon", None),
        ("1s later", None),
        ("nan", None),
        ("inf", None),
    ],
)
def test_spans_as_providers_write_them(text, seconds):
    assert span_seconds(text) == (None if seconds is None else pytest.approx(seconds))


def test_retry_after_in_seconds_milliseconds_or_as_a_date():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)

    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    assert retry_after({"retry-after": later}) == pytest.approx(90, abs=2)
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert retry_after({"retry-after": "when it suits you"}) is None
    assert retry_after({}) is None


def test_without_it_the_reset_of_what_is_used_up_says_when():
    spent = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
    }

    assert retry_after(spent) == 360.0
    assert retry_after(spent | {"x-ratelimit-remaining-tokens": "1"}) is None


def test_what_openai_says_is_left():
    headers = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
    }

    assert allowances(headers) == (
        Allowance(limit=500, remaining=499, reset_seconds=0.12),
        None,
    )


def test_what_anthropic_says_is_left():
    reset = (datetime.now(UTC) + timedelta(seconds=30)).isoformat().replace("+00:00", "Z")
    headers = {
        f"anthropic-ratelimit-{what}-{field}": value
        for what, limit in (("requests", "50"), ("input-tokens", "30000"))
        for field, value in (("limit", limit), ("remaining", "10"), ("reset", reset))
    }

    requests, tokens = allowances(headers)

    assert (requests.limit, requests.remaining) == (50, 10)
    assert (tokens.limit, tokens.remaining) == (30_000, 10)
    assert requests.reset_seconds == pytest.approx(30, abs=2)


NAMES = [
    "retry-after",
    "retry-after-ms",
    *(
        f"{family}-{field}"
        for family in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
        for field in ("requests", "tokens")
    ),
    *(f"anthropic-ratelimit-requests-{field}" for field in ("limit", "remaining", "reset")),
]
values = st.one_of(st.text(max_size=40), st.floats().map(str), st.datetimes().map(str))


@given(st.dictionaries(st.sampled_from(NAMES), values))
def test_nonsense_is_no_wait_or_a_finite_one(headers):
    seconds = retry_after(headers)

    assert seconds is None or 0 <= seconds <= 7 * 86400
