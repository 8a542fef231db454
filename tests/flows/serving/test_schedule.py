"""When the night begins, as Prefect reads it."""

import pytest
from pydantic import TypeAdapter, ValidationError

from flows.serving import schedule
from flows.serving.schedule import nightly_schedule
from taskdata.errors import Misuse

ZONE = TypeAdapter(schedule.TimeZone)


@pytest.mark.parametrize("cron", ["0 2 * * *", "*/15 9-17 * * mon-fri", "0 22-2 * * *", "@daily"])
def test_what_prefect_takes_is_taken_as_it_is(cron):
    assert nightly_schedule(cron, "UTC").cron == cron


@pytest.mark.parametrize("cron", ["foo bar", "60 2 * * *", "0 2 * 13 *", "", "R * * * *"])
def test_what_prefect_refuses_is_said_in_one_line(cron):
    with pytest.raises(Misuse, match=r"schedule: .*expected such as") as caught:
        nightly_schedule(cron, "UTC")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/New_York"])
def test_a_time_zone_is_taken_here_and_by_prefect(name):
    assert nightly_schedule("0 2 * * *", ZONE.validate_python(name)).timezone == name


@pytest.mark.parametrize(
    "name", ["Mars/Olympus", "Europe", "", "../../etc/passwd", "\0", "x" * 999]
)
def test_what_is_no_time_zone_is_refused(name):
    with pytest.raises(ValidationError, match="no time zone"):
        ZONE.validate_python(name)
