"""Which events become messages, and what a channel is sent of them; the server does the sending."""

import asyncio
import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from prefect.server.events.actions import CallWebhook
from prefect.server.events.schemas.automations import Automation, EventTrigger, Firing
from prefect.server.events.schemas.automations import TriggeredAction as Triggered
from prefect.server.events.schemas.events import ReceivedEvent

from flows.config import Settings
from flows.notices.channels import Channel, automations
from flows.notices.settings import Kind
from flows.notices.wording import failed_night, waiting_review

UI = "http://127.0.0.1:4711"
WEBHOOK, MAIL = Channel(uuid4(), is_webhook=True), Channel(uuid4(), is_webhook=False)


def received(event, resource, related=(), payload=None):
    now = datetime.now(UTC)
    return ReceivedEvent(
        id=uuid4(),
        occurred=now,
        received=now,
        event=event,
        resource=resource,
        related=list(related),
        payload=payload or {},
    )


def told(notice):
    """The event that carries a notice."""
    payload = {"subject": notice.subject, "text": notice.text}
    return received(notice.event, {"prefect.resource.id": "nightshift.one"}, payload=payload)


def crashed(deployment, *tags):
    """The event of a flow run whose process died."""
    resource = {
        "prefect.resource.id": "prefect.flow-run.0a1b",
        "prefect.resource.name": "20261122-020000-abc",
    }
    related = [
        {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{t}"} for t in tags
    ]
    related.append(
        {
            "prefect.resource.role": "deployment",
            "prefect.resource.id": "prefect.deployment.1",
            "prefect.resource.name": deployment,
        }
    )
    return received("prefect.flow-run.Crashed", resource, related)


def installed(**notifications):
    """The automations as the server reads them."""
    settings = Settings(notifications=notifications)
    made = automations(settings, [WEBHOOK, MAIL], UI)
    return [Automation(id=uuid4(), **one.model_dump(mode="json", exclude={"id"})) for one in made]


def sent(event, found):
    """What each action of the automations that the event triggers would send."""
    messages = []
    for automation in found:
        trigger = automation.trigger
        assert isinstance(trigger, EventTrigger)
        covers = trigger.covers_resources(event.resource, event.related)
        if not (covers and trigger.expects(event.event)):
            continue
        firing = Firing(
            trigger=trigger,
            trigger_states={"Triggered"},
            triggered=event.occurred,
            triggering_labels={},
            triggering_event=event,
        )
        for index, action in enumerate(automation.actions):
            acting = Triggered(
                automation=automation,
                firing=firing,
                triggered=event.occurred,
                triggering_labels={},
                triggering_event=event,
                action=action,
                action_index=index,
            )
            is_webhook = isinstance(action, CallWebhook)
            texts = [action.payload] if is_webhook else [action.subject, action.body]
            messages.append(asyncio.run(action._render(texts, acting)))
    return messages


def test_a_notice_goes_to_every_channel_as_it_was_worded(home):
    notice = failed_night("tonight", 'said "no" & \\ {{ event.id }} <b>\x1b', f"{UI}/x")
    (payload,), (subject, body) = sent(told(notice), installed())
    assert json.loads(payload) == {"text": notice.text}
    assert (subject, body) == (notice.subject, notice.text)


@pytest.mark.parametrize(("deployment", "noun"), [("nightly", "Night"), ("refresh", "Refresh")])
def test_a_crash_which_cannot_tell_of_itself_is_told_with_a_link(home, deployment, noun):
    (payload,), (subject, _body) = sent(crashed(deployment, "nightshift", "blue"), installed())
    text = json.loads(payload)["text"]
    assert text.startswith(f"{noun} 20261122-020000-abc has crashed")
    assert text.endswith(f"\n{UI}/v2/runs/flow-run/0a1b")
    assert "20261122-020000-abc" in subject


@pytest.mark.parametrize(
    "event", [crashed("stage-score", "nightshift"), crashed("nightly", "blue"), crashed("nightly")]
)
def test_crashes_of_single_stages_and_of_other_teams_are_not_told(home, event):
    assert sent(event, installed()) == []


def test_only_what_the_settings_name_is_told(home):
    review = told(waiting_review("r", "office", 2, None))
    assert len(sent(review, installed(about=["review"]))) == 2
    assert sent(review, installed(about=["regression", "failed_night"])) == []
    names = [one.name for one in installed(about=["failed_night", "review"])]
    assert names == [
        f"nightshift-tell-{Kind.FAILED_NIGHT}",
        f"nightshift-tell-{Kind.FAILED_NIGHT}-crash",
        f"nightshift-tell-{Kind.REVIEW}",
    ]
