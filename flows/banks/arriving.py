"""Seeds that arrive start a refresh: by an event, on which the deployment `refresh` waits.

The served process looks into the inbox; `nightshift seeds add` tells it of what it has stored.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from prefect import get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterName,
    DeploymentFilterTags,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events import DeploymentEventTrigger

from flows.serving.events import EventLost, emit
from flows.serving.prefect_server import TAG
from stages.intake.inbox import is_written, waiting

_logger = logging.getLogger(__name__)

ARRIVED = "nightshift.seeds.arrived"

UNCHANGED_SECONDS = 3.0
"""A file in the inbox is whole when it has not changed for so long and nobody writes it."""

_LOOK_SECONDS = 1.0
_TOGETHER = timedelta(seconds=10)
"""What arrives within it is one refresh's."""

_AGAIN_SECONDS = 3600.0
"""A file that still lies in the inbox is announced again: its refresh may have been cancelled."""

_State = tuple[int, int, int]


def arrival_trigger() -> DeploymentEventTrigger:
    """Return the trigger by which seeds that arrive start the deployment `refresh`.

    The first event has a refresh begin when the time for more has passed, and further ones within
    this time change nothing: whatever they are about is stored by then.
    """
    return DeploymentEventTrigger(
        name="nightshift-seeds-arrived",
        description="Refreshes the bank when seeds arrive.",
        expect={ARRIVED},
        within=_TOGETHER,
        schedule_after=_TOGETHER,
        parameters={"arrived": True},
    )


def announce(bank: str, what: list[str]) -> bool:
    """Tell the Prefect server that seeds have arrived; return whether that starts a refresh.

    A refresh that has been started so and still waits for its place takes these seeds, too: then
    no other one is started.

    Args:
        bank: The bank that is refreshed.
        what: Names of the files that they are in.

    Raises:
        EventLost: if the server does not take it.
    """
    try:
        if _is_awaited():
            return False
    except (httpx.HTTPError, RuntimeError) as exc:
        raise EventLost(f"the Prefect server does not say whether a refresh waits: {exc}") from exc
    emit(ARRIVED, f"nightshift.bank.{bank}", {"files": what})
    return True


def _is_awaited() -> bool:
    scheduled = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED]))
    with get_client(sync_client=True) as api:
        runs = api.read_flow_runs(
            deployment_filter=DeploymentFilter(
                name=DeploymentFilterName(any_=["refresh"]), tags=DeploymentFilterTags(all_=[TAG])
            ),
            flow_run_filter=FlowRunFilter(state=scheduled),
            sort=FlowRunSort.START_TIME_DESC,
            limit=200,
        )
    return any(run.parameters.get("arrived") and not run.run_count for run in runs)


class InboxLook:
    """Looks into an inbox again and again, and names each file once it is whole."""

    def __init__(self, inbox: Path) -> None:
        self._inbox = inbox
        self._since: dict[Path, tuple[_State, float]] = {}
        self._told: dict[Path, tuple[_State, float]] = {}

    def arrived(self, now: float) -> list[Path]:
        """Return the files that are whole and have not been `told` of lately, as they are now.

        Args:
            now: Seconds of any clock that only goes forward.
        """
        states = {path: _state(path) for path in waiting(self._inbox)}
        self._since = {
            path: (state, since if known == state else now)
            for path, state in states.items()
            for known, since in [self._since.get(path, (state, now))]
        }
        self._told = {
            path: (state, at)
            for path, (state, at) in self._told.items()
            if states.get(path) == state and now - at < _AGAIN_SECONDS
        }
        return [
            path
            for path, (_, since) in self._since.items()
            if path not in self._told and now - since >= UNCHANGED_SECONDS and not is_written(path)
        ]

    def told(self, paths: list[Path], now: float) -> None:
        """Remember that these files, which have just arrived, have been announced."""
        self._told |= {path: (self._since[path][0], now) for path in paths}


def _state(path: Path) -> _State:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)  # a link that leads nowhere
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def watch_inbox(inbox: Path, bank: str) -> None:
    """Look into the inbox from a thread of this process, for as long as the process lives."""
    inbox.mkdir(parents=True, exist_ok=True)
    arguments: Any = (InboxLook(inbox), partial(announce, bank))
    threading.Thread(target=_watch, args=arguments, name="inbox", daemon=True).start()


def _watch(look: InboxLook, announced: Callable[[list[str]], bool]) -> None:
    while True:
        try:
            _look(look, announced)
        # One look that fails must not be the last one.
        except (EventLost, OSError) as exc:
            _logger.warning("inbox: %s; it is looked into again", exc)
        time.sleep(_LOOK_SECONDS)


def _look(look: InboxLook, announced: Callable[[list[str]], bool]) -> None:
    now = time.monotonic()
    paths = look.arrived(now)
    if not paths:
        return
    announced([path.name for path in paths])
    look.told(paths, now)
    _logger.info("inbox: %d files have arrived", len(paths))
