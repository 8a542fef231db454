"""What is served, and who is watched: flow runs of ours, not those of others."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from prefect.server.events.schemas.automations import EventTrigger
from prefect.server.events.schemas.events import ReceivedEvent

from flows.banks.arriving import arrival_trigger
from flows.config import Settings, bank_refreshed_on_arrival
from flows.serving.deployments import deployments, heartbeat_automation, runs_at_once


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


def test_a_retry_that_follows_a_late_heartbeat_is_alive(trigger):
    """The process beat for the last time before it failed, and the server heard it afterwards."""
    assert trigger.starts_after("prefect.flow-run.heartbeat")
    assert trigger.expects("prefect.flow-run.AwaitingRetry")
    assert not trigger.expects("prefect.flow-run.Running"), "it may die after its first heartbeat"


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


REFRESHED = {"model": "compatible/scripted", "bank": "office"}


@pytest.mark.parametrize(
    ("settings", "bank"),
    [
        ({"refresh": REFRESHED}, "office"),
        ({"refresh": REFRESHED, "refresh_on_arrival": False}, None),
        ({"refresh": {"bank": "office"}}, None),  # which has no model
    ],
)
def test_seeds_that_arrive_start_a_refresh_where_one_is_configured(home, settings, bank):
    assert bank_refreshed_on_arrival(Settings(**settings)) == bank
    _night, refresh, *_ = deployments(Settings(**settings))
    assert [trigger.parameters for trigger in refresh.triggers] == [{"arrived": True}] * bool(bank)


def test_what_arrives_before_a_refresh_begins_starts_no_other_one():
    trigger = arrival_trigger()
    assert trigger.schedule_after >= trigger.within


def test_nightly_and_refresh_stand_before_every_stage(home):
    names = [deployment.name for deployment in deployments(Settings())]
    assert sorted(names)[:2] == ["nightly", "refresh"]
    assert all(name.startswith("stage-") for name in sorted(names)[2:])
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("policy", "strategy"), [("wait", "ENQUEUE"), ("skip", "CANCEL_NEW")])
def test_nights_and_refreshes_have_a_limit_of_their_own_and_stages_none(home, policy, strategy):
    night, refresh, *stages = deployments(
        Settings(nights_at_once=2, refreshes_at_once=1, when_busy=policy)
    )
    assert (night.concurrency_limit, refresh.concurrency_limit) == (2, 1)
    assert night.concurrency_options.collision_strategy == strategy
    assert refresh.concurrency_options.collision_strategy == strategy
    assert not any(stage.concurrency_limit for stage in stages)


@pytest.mark.parametrize(("nights", "refreshes"), [(1, 1), (5, 1), (3, 4)])
def test_every_night_that_waits_for_a_stage_leaves_a_place_for_it(nights, refreshes):
    settings = Settings(nights_at_once=nights, refreshes_at_once=refreshes)
    assert runs_at_once(settings) >= 2 * (nights + refreshes)
