"""Channels: blocks with the secret addresses, and automations that send notices to them.

The Prefect server sends, so a channel that hangs or refuses delays and fails nothing else; what
became of a notice is an event of its automation.
"""

import logging
from typing import Any
from uuid import UUID

from prefect import get_client
from prefect.automations import Automation
from prefect.blocks.notifications import SlackWebhook
from prefect.blocks.webhook import Webhook
from prefect.client.schemas.sorting import AutomationSort
from prefect.events.actions import ActionTypes, CallWebhook, SendNotification
from prefect.events.filters import AutomationFilter, AutomationFilterName
from prefect.events.schemas.automations import AutomationCore, EventTrigger
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound

from flows.config import Settings
from flows.notices.settings import Kind, mail_url, webhook_url
from flows.notices.telling import flow_run_link
from flows.notices.wording import event_of
from flows.serving.prefect_server import TAG
from taskdata.errors import Misuse

_logger = logging.getLogger(__name__)

_BEGINNING = "nightshift-tell-"
_WEBHOOK = "nightshift-webhook"
_MAIL = "nightshift-mail"

_SUBJECT = "{{ event.payload.subject }}"
_TEXT = "{{ event.payload.text }}"
_NAME = "{{ event.resource['prefect.resource.name'] }}"
_CRASHED = {Kind.FAILED_NIGHT: ("nightly", "night"), Kind.FAILED_REFRESH: ("refresh", "refresh")}
"""Deployments whose flow runs cannot tell themselves, and what one of them is called."""


class Channel:
    """Where notices go: a block of the server."""

    def __init__(self, block_id: Any, *, is_webhook: bool) -> None:
        self._block_id = block_id
        self._is_webhook = is_webhook

    def sends(self, subject: str, text: str) -> ActionTypes:
        """Return the action that sends this, given as templates."""
        if self._is_webhook:
            return CallWebhook(
                block_document_id=self._block_id, payload=f'{{"text": {_as_json(text)}}}'
            )
        return SendNotification(block_document_id=self._block_id, subject=subject, body=text)


def _as_json(template: str) -> str:
    return f"{{% filter tojson %}}{template}{{% endfilter %}}"


def install_notifications(settings: Settings, ui: str) -> int:
    """Have the server send notices as the settings say, and no longer as they once did.

    Args:
        settings: Whose `[notifications]` hold.
        ui: Address of the Prefect UI, for links.

    Returns:
        How many channels there are.

    Raises:
        Misuse: if a secret or a block that the settings name is not there.
    """
    channels = _channels(settings)
    wanted = automations(settings, channels, ui) if channels else []
    with get_client(sync_client=True) as api:
        for automation_id in _installed(api):
            api.delete_automation(automation_id)
        for automation in wanted:
            api.create_automation(AutomationCore(**automation.model_dump(exclude={"id"})))
    return len(channels)


def _installed(api: Any) -> list[UUID]:
    names = [f"{_BEGINNING}{name}" for kind in Kind for name in (kind, f"{kind}-crash")]
    ours = AutomationFilter(name=AutomationFilterName(any_=names))
    # The server refuses a filter without an order and a limit.
    found = api.read_automations(automations=ours, sort=AutomationSort.NAME_ASC, limit=200)
    return [one.id for one in found]


def _channels(settings: Settings) -> list[Channel]:
    wanted = settings.notifications
    found = []
    # All are read before one is kept: what is missing is said with nothing changed.
    webhook, mail = webhook_url(wanted), mail_url(wanted)
    for name in wanted.blocks:
        found.append(Channel(_block_id(name), is_webhook=False))
    if webhook is not None:
        block: Any = Webhook(url=webhook)
        found.append(Channel(block.save(_WEBHOOK, overwrite=True), is_webhook=True))
    else:
        _forget("webhook", _WEBHOOK)
    if mail is not None:
        # This block hands any address to Apprise, and Prefect has none for mail servers.
        letters: Any = SlackWebhook(url=mail)
        found.append(Channel(letters.save(_MAIL, overwrite=True), is_webhook=False))
    else:
        _forget("slack-webhook", _MAIL)
    return found


def _block_id(name: str) -> Any:
    kind, _, document = name.partition("/")
    with get_client(sync_client=True) as api:
        try:
            found: Any = api.read_block_document_by_name(document, kind, include_secrets=False)
        except ObjectNotFound as exc:
            raise Misuse(
                f"notifications.blocks: the Prefect server has no block {name!r}; expected "
                "TYPE/NAME of one on its page Blocks, such as pager-duty-webhook/on-call"
            ) from exc
    return found.id


def _forget(kind: str, name: str) -> None:
    """Delete a block that an earlier start has made."""
    with get_client(sync_client=True) as api:
        try:
            found: Any = api.read_block_document_by_name(name, kind, include_secrets=False)
        except ObjectNotFound:
            return
        api.delete_block_document(found.id)


def automations(settings: Settings, channels: list[Channel], ui: str) -> list[Automation]:
    """Return the automations that send every kind of notice that is wanted to every channel."""
    made = []
    for kind in settings.notifications.about:
        trigger = EventTrigger(expect={event_of(kind)})
        made.append(_automation(kind.value, trigger, channels, _SUBJECT, _TEXT))
        if kind in _CRASHED:
            deployment, noun = _CRASHED[kind]
            subject = f"Nightshift: {noun} {_NAME} has crashed"
            link = flow_run_link(ui, "{{ event.resource.id | replace('prefect.flow-run.', '') }}")
            text = f"{noun.capitalize()} {_NAME} has crashed: its process is gone. Retry in the "
            text += f"Prefect UI goes on.\n{link}"
            made.append(
                _automation(f"{kind}-crash", _crash_of(deployment), channels, subject, text)
            )
    return made


def _crash_of(deployment: str) -> EventTrigger:
    """Return the trigger for a flow run of the deployment whose process died."""
    return EventTrigger(
        expect={"prefect.flow-run.Crashed"},
        match_related=[
            ResourceSpecification(
                {
                    "prefect.resource.role": "deployment",
                    "prefect.resource.name": deployment,
                }
            ),
            ResourceSpecification(
                {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
            ),
        ],
    )


def _automation(
    name: str, trigger: EventTrigger, channels: list[Channel], subject: str, text: str
) -> Automation:
    return Automation(
        name=f"{_BEGINNING}{name}",
        trigger=trigger,
        actions=[channel.sends(subject, text) for channel in channels],
    )
