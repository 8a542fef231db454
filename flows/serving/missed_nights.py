"""Nights that were due while nothing was served: they are left out, or the latest one runs."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from prefect import get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.schedules import CronSchedule
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ObjectNotFound
from prefect.server.schemas.schedules import CronSchedule as Calendar
from prefect.states import Scheduled

_logger = logging.getLogger(__name__)

NIGHTLY = "nightly_evaluation/nightly"

_LONGEST = timedelta(days=31)
"""Further back nobody looks for the latest night."""

_BEGUN = [state for state in StateType if state is not StateType.SCHEDULED]


def latest_missed_night(now: datetime) -> datetime | None:
    """Return when the latest night was due that nobody began, None if none was missed.

    Must be asked before the deployments are registered again, for that forgets the schedule that
    held, and the flow runs that it had inserted.
    """
    with get_client(sync_client=True) as api:
        try:
            nightly = api.read_deployment_by_name(NIGHTLY)
        except ObjectNotFound:
            return None
        since = max(filter(None, [nightly.created, _latest_begun(api, nightly.id), now - _LONGEST]))
    schedules = [one.schedule for one in nightly.schedules]
    return latest_due([one for one in schedules if isinstance(one, CronSchedule)], since, now)


def latest_due(schedules: list[CronSchedule], since: datetime, now: datetime) -> datetime | None:
    """Return the latest time after `since`, and not after `now`, at which a schedule was due."""
    dates = []
    for schedule in schedules:
        calendar = Calendar(cron=schedule.cron, timezone=schedule.timezone, day_or=schedule.day_or)
        dates += asyncio.run(calendar.get_dates(start=since + timedelta(seconds=1), end=now))
    return max((date.astimezone(UTC) for date in dates), default=None)


def _latest_begun(api: Any, deployment_id: UUID) -> datetime | None:
    runs = api.read_flow_runs(
        deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment_id])),
        flow_run_filter=FlowRunFilter(
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=_BEGUN))
        ),
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
        limit=1,
    )
    return runs[0].expected_start_time if runs else None


def catch_up(due: datetime) -> None:
    """Have the night that was due then run now, under its own id; once, however often asked."""
    with get_client(sync_client=True) as api:
        nightly = api.read_deployment_by_name(NIGHTLY)
        api.create_flow_run_from_deployment(
            nightly.id,
            state=Scheduled(scheduled_time=due),
            idempotency_key=f"catch-up:{due:%Y%m%dT%H%M%S}",
        )
    _logger.warning("the night that was due %s was missed and runs now", f"{due:%Y-%m-%d %H:%M %Z}")
