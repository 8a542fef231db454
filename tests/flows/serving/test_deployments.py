"""What is served, and who is watched: flow runs of ours, not those of others."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from prefect.server.events.schemas.automations import EventTrigger
from prefect.server.events.schemas.events import ReceivedEvent

from flows.config import Settings
from flows.serving.deployments import deployments, heartbeat_automation


def beat(*tags, event="prefect.flow-run.heartbeat"):
    """What the server hears of a flow run that has these tags."""
    return ReceivedEvent(
        id=uuid4(),
        occurred=datetime.now(UTC),
        received=datetime.now(UTC),
        event=event,
        resource={"prefect.resource.id": f"prefect.flow-run.{uuid4()}"},
        related=[
            {"prefect.resource.id": f"prefect.tag.{tag}", "prefect.resource.role": "tag"}
            for tag in tags
        ],
    )


@pytest.fixture
def trigger():
    """The trigger as the server reads it; it judges by itself."""
    made = heartbeat_automation(30).trigger
    return EventTrigger.model_validate(made.model_dump(mode="json"))


def test_flow_runs_of_other_teams_are_left_alone(trigger):
    assert trigger.covers_resources(*resources(beat("nightshift", "blue")))
    assert not trigger.covers_resources(*resources(beat("blue")))
    assert not trigger.covers_resources(*resources(beat()))


def resources(event):
    return event.resource, event.related


@pytest.mark.parametrize("frequency", [30, 180])
def test_a_flow_run_is_dead_only_once_it_has_missed_more_than_one_heartbeat(frequency):
    automation = heartbeat_automation(frequency)
    assert automation.trigger.within.total_seconds() > 2 * frequency
    (action,) = automation.actions
    assert f"{automation.trigger.within.total_seconds():g} s" in action.message


def test_the_night_begins_at_the_hour_of_its_time_zone(home):
    night, *others = deployments(Settings(schedule="0 3 * * 1-5", schedule_timezone="Asia/Tokyo"))
    (scheduled,) = night.schedules
    assert (scheduled.schedule.cron, scheduled.schedule.timezone) == ("0 3 * * 1-5", "Asia/Tokyo")
    assert not any(other.schedules for other in others)
    assert all("nightshift" in other.tags for other in (night, *others))
