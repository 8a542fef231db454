"""What `nightshift serve` serves: the night, the refresh of a bank, and every stage by itself."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from prefect import get_client
from prefect.automations import Automation
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterTags,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import (
    ConcurrencyLimitConfig,
    ConcurrencyLimitStrategy,
    State,
    StateType,
)
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.runner import RunnerDeployment
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.exceptions import ObjectNotFound, TerminationSignal
from prefect.runner import Runner
from prefect.settings import get_current_settings
from prefect.states import Crashed
from prefect.types.entrypoint import EntrypointType

from flows.banks.arriving import arrival_trigger, watch_inbox
from flows.banks.refresh import refresh_task_bank
from flows.banks.stages import REFRESH_FLOWS
from flows.config import Settings, bank_refreshed_on_arrival
from flows.nightly import nightly_evaluation
from flows.notices.channels import install_notifications
from flows.serving.missed_nights import catch_up, latest_missed_night
from flows.serving.prefect_server import TAG, ui_url
from flows.serving.schedule import nightly_schedule
from flows.stage_flows import STAGE_FLOWS
from flows.stage_names import deployment_of
from flows.upkeep.scheduled import prune_flow

_logger = logging.getLogger(__name__)

_ZOMBIES = "nightshift-crash-zombie-runs"
# One may be late or lost on its way to the server.
_HEARTBEATS_MISSED = 3
_ENDINGS = ("Completed", "Failed", "Cancelled", "Crashed")
# The last heartbeat may be heard after the end; then the retry must not be crashed for its silence.
_BEGINNINGS = ("AwaitingRetry", "Pending")
# Stages that people run again while nights and refreshes are at work.
_STAGES_BY_HAND = 4


def serve_deployments(settings: Settings) -> None:
    """Serve the nightly deployment and one per stage until interrupted.

    Runs that an earlier, killed server left behind are marked crashed first, so that Retry in the
    UI can take them up.
    """
    # First: of the runs that the sweep marks, people are told.
    install_notifications(settings, ui_url(str(get_current_settings().api.url)))
    swept = sweep_orphans()
    if swept:
        _logger.warning("%d orphaned flow runs marked crashed", swept)
    install_heartbeat_automation()
    missed = latest_missed_night(datetime.now(UTC)) if settings.missed_nights == "latest" else None
    runner = Runner(limit=runs_at_once(settings))
    for deployment in deployments(settings):
        runner.add_deployment(deployment)
    if missed is not None:
        catch_up(missed)
    # Not earlier: an event for which no trigger is there yet starts nothing.
    bank = bank_refreshed_on_arrival(settings)
    if bank is not None:
        watch_inbox(settings.inbox, bank)
    try:
        asyncio.run(runner.start())
    except (KeyboardInterrupt, TerminationSignal) as exc:
        _logger.info("%s: no longer served", type(exc).__name__)


def runs_at_once(settings: Settings) -> int:
    """Return how many flow runs may have a process at a time.

    A night that waits for its stage is one of them, so each needs a second place for the stage:
    with fewer, nights would wait for stages that wait for a place.
    """
    places = 2 * (settings.nights_at_once + settings.refreshes_at_once) + _STAGES_BY_HAND
    return places + settings.retention.says_something


def _at_once(settings: Settings, limit: int) -> ConcurrencyLimitConfig:
    strategy = {
        "wait": ConcurrencyLimitStrategy.ENQUEUE,
        "skip": ConcurrencyLimitStrategy.CANCEL_NEW,
    }
    return ConcurrencyLimitConfig(limit=limit, collision_strategy=strategy[settings.when_busy])


def deployments(settings: Settings) -> list[RunnerDeployment]:
    """Return the deployments: `nightly` on its schedule, `refresh`, and each of their stages."""
    night: Any = nightly_evaluation.to_deployment(
        "nightly",
        schedule=nightly_schedule(settings.schedule, settings.schedule_timezone),
        concurrency_limit=_at_once(settings, settings.nights_at_once),
        tags=[TAG],
        entrypoint_type=EntrypointType.MODULE_PATH,
        description="The whole nightly evaluation.",
    )
    stages: list[Any] = [
        stage.to_deployment(
            deployment_of(name),
            tags=[TAG],
            entrypoint_type=EntrypointType.MODULE_PATH,
            description=stage.description,
        )
        for name, stage in (STAGE_FLOWS | REFRESH_FLOWS).items()
    ]
    refresh: Any = refresh_task_bank.to_deployment(
        "refresh",
        tags=[TAG],
        parameters={"changes": {"review": "wait"}},
        triggers=[] if bank_refreshed_on_arrival(settings) is None else [arrival_trigger()],
        concurrency_limit=_at_once(settings, settings.refreshes_at_once),
        entrypoint_type=EntrypointType.MODULE_PATH,
        description="From seeds to a reviewed release of a task bank.",
    )
    return [night, refresh, *stages, *_upkeep(settings)]


def _upkeep(settings: Settings) -> list[Any]:
    """Return the deployment that removes old runs, where a rule says which are old."""
    if not settings.retention.says_something:
        return []
    when = nightly_schedule(settings.retention.schedule, settings.schedule_timezone)
    deployment: Any = prune_flow.to_deployment(
        "prune",
        schedule=when,
        concurrency_limit=1,
        tags=[TAG],
        entrypoint_type=EntrypointType.MODULE_PATH,
        description="Removes old runs, by the rules of [retention].",
    )
    return [deployment]


def sweep_orphans() -> int:
    """Mark flow runs of our deployments whose process is gone as crashed; return how many.

    One runner owns these deployments, so before it starts serving none of their runs can be alive.
    One that is paused for a review has a process as well, and without it no form has any effect.
    """
    unfinished = FlowRunFilterStateType(
        any_=[StateType.RUNNING, StateType.PENDING, StateType.CANCELLING, StateType.PAUSED]
    )
    with get_client(sync_client=True) as api:
        orphans = api.read_flow_runs(
            deployment_filter=DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG])),
            flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=unfinished)),
            limit=200,
            sort=FlowRunSort.START_TIME_DESC,
        )
        for run in orphans:
            state: State[None] = Crashed(
                message="orphaned: the server was restarted; Retry takes it up again"
            )
            api.set_flow_run_state(run.id, state, force=True)
    return len(orphans)


def install_heartbeat_automation() -> None:
    """Have the server mark flow runs of ours as crashed when their heartbeats stop."""
    frequency = get_current_settings().flows.heartbeat_frequency
    if frequency is None:
        _logger.warning(
            "flow runs send no heartbeats: dead ones are noticed when this starts again"
        )
        return
    wanted = heartbeat_automation(frequency)
    try:
        known: Any = Automation.read(name=_ZOMBIES)
    except (ValueError, ObjectNotFound):
        installed: Any = wanted.create()
        _logger.info("heartbeat automation %s installed", installed.id)
        return
    # Changed, it forgets which flow runs it has heard of.
    if _watched(known) != _watched(wanted):
        wanted.id = known.id
        wanted.update()
        _logger.info("heartbeat automation %s changed", known.id)


def heartbeat_automation(frequency: int) -> Automation:
    """Return the automation that marks our flow runs without heartbeats as crashed.

    Args:
        frequency: Of their heartbeats, in seconds.
    """
    seconds = _HEARTBEATS_MISSED * frequency
    signs = ("heartbeat", *_ENDINGS, *_BEGINNINGS)
    return Automation(
        name=_ZOMBIES,
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={f"prefect.flow-run.{sign}" for sign in signs},
            match={"prefect.resource.id": ["prefect.flow-run.*"]},
            match_related={
                "prefect.resource.role": "tag",
                "prefect.resource.id": f"prefect.tag.{TAG}",
            },
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=seconds),
        ),
        actions=[
            ChangeFlowRunState(state=StateType.CRASHED, message=f"no heartbeat for {seconds} s")
        ],
    )


def _watched(automation: Automation) -> tuple[Any, ...]:
    trigger: Any = automation.trigger
    return trigger.within, trigger.expect, trigger.match_related.model_dump()
