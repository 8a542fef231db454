"""Which night was missed while nothing was served."""

from datetime import UTC, datetime

import pytest
from prefect.client.schemas.schedules import CronSchedule

from flows.serving.missed_nights import latest_due


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


BERLIN = CronSchedule(cron="0 2 * * *", timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("since", "now", "due"),
    [
        ("2026-11-20T01:00", "2026-11-23T09:00", "2026-11-23T01:00"),  # three, the latest counts
        ("2026-11-22T01:00", "2026-11-23T01:00", "2026-11-23T01:00"),  # due this minute
        ("2026-11-23T01:00", "2026-11-23T09:00", None),  # begun when it was due
        ("2026-11-23T08:00", "2026-11-23T09:00", None),  # run by hand in the morning
        ("2026-07-20T00:00", "2026-07-21T09:00", "2026-07-21T00:00"),  # summer time
    ],
)
def test_the_latest_night_that_was_due_and_not_begun_was_missed(since, now, due):
    assert latest_due([BERLIN], at(since), at(now)) == (due and at(due))


def test_without_a_schedule_no_night_is_missed():
    assert latest_due([], at("2026-11-20T01:00"), at("2026-11-23T09:00")) is None
