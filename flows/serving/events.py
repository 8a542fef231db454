"""Events of our own on the Prefect server, which automations wait for."""

from typing import Any

import httpx
from prefect import get_client
from prefect.events.schemas.events import Event, Resource

from taskdata.errors import NightshiftError


class EventLost(NightshiftError):
    """The Prefect server did not take an event."""


def emit(event: str, resource: str, payload: dict[str, Any]) -> None:
    """Tell the Prefect server of an event, and wait until the server has taken it.

    Prefect's own `emit_event` sends in the background, and says nothing where that fails.

    Args:
        event: Its name, such as `nightshift.seeds.arrived`.
        resource: Id of what it is about.
        payload: What automations may use; without secrets, for anybody at the UI can read it.

    Raises:
        EventLost: if the server does not answer or refuses.
    """
    told = Event(event=event, resource=Resource({"prefect.resource.id": resource}), payload=payload)
    route: Any = "/events"  # the client's own list of routes lacks it
    try:
        with get_client(sync_client=True) as api:
            api.request("POST", route, json=[told.model_dump(mode="json")])
    except (httpx.HTTPError, RuntimeError) as exc:
        cause = " ".join(str(exc).split())[:300] or type(exc).__name__
        raise EventLost(f"the Prefect server did not take the event {event}: {cause}") from exc
