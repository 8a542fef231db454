"""What settings take for a schedule, Prefect takes, too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect.schedules import Cron
from pydantic import TypeAdapter, ValidationError

from flows.serving import schedule

CRON, ZONE = TypeAdapter(schedule.Cron), TypeAdapter(schedule.TimeZone)
WORDS = st.text(alphabet="0123456789*-/,LWR#?", min_size=1, max_size=5) | st.sampled_from(
    ["MON", "sun-sat", "Jan", "feb-DEC/2", "*/59", "7", "5-7", "0-7", "@daily"]
)


@given(st.lists(WORDS, min_size=4, max_size=6).map(" ".join))
def test_prefect_takes_whatever_is_taken_here(text):
    try:
        CRON.validate_python(text)
    except ValidationError:
        return
    Cron(text)


@pytest.mark.parametrize(
    "text", ["0 2 * * *", "*/15 9-17 * * mon-fri", "5/10 0,12 1,15 JAN *", "0 0 * * 7"]
)
def test_common_schedules_are_taken_as_they_are(text):
    assert CRON.validate_python(text) == text
    Cron(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo bar", "2 fields"),
        ("0 2 * * * *", "6 fields"),
        ("60 2 * * *", "minute '60': expected 0 to 59"),
        ("0 2 * 13 *", "month '13'"),
        ("0 2 * * mo", "day of the week 'mo'"),
        ("0 5-2 * * *", "ends before it begins"),
        ("0 */0 * * *", "hour"),
        ("0 , * * *", "hour"),
        ("0 ² * * *", "hour"),
    ],
)
def test_what_does_not_fit_is_said(text, message):
    with pytest.raises(ValidationError, match=message):
        CRON.validate_python(text)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/New_York"])
def test_a_time_zone_is_taken_here_and_by_prefect(name):
    assert Cron("0 2 * * *", timezone=ZONE.validate_python(name)).timezone == name


@pytest.mark.parametrize(
    "name", ["Mars/Olympus", "Europe", "", "../../etc/passwd", "\0", "x" * 999]
)
def test_what_is_no_time_zone_is_refused(name):
    with pytest.raises(ValidationError, match="no time zone"):
        ZONE.validate_python(name)
