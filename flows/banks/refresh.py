"""The refresh of a task bank as a DAG. Start reading here.

inbox -> gate seeds -> generate -> classify -> (rewrite -> validate, until clean) -> checkpoints
-> expand -> balance -> the same for what balance asked for
-> (gate candidates -> prove -> checkpoints, until no tree is weak) -> review -> release.
A refresh that waits for its review takes what was sent back from rewrite to review again.
A refresh with `plan_cases` makes planning cases in place of tasks:
plan cases -> gate candidates -> prove -> review -> release.
Stages run in this process (`nightshift refresh`) or each as its own deployment (`nightshift
serve`); either way they hand over through the store, keyed by refresh.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

from prefect import flow
from prefect.runtime import flow_run
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

from flows.banks.arriving import UNCHANGED_SECONDS
from flows.banks.stages import REFRESH_FLOWS
from flows.caller import caller
from flows.config import Settings, load_settings, refresh_config
from flows.flow_runs import own_id, require_own
from flows.locks import BankHeld, bank_lock
from flows.notices.telling import tell_failed_refresh
from flows.serving.forms import REFRESH_AS_CONFIGURED, RefreshChanges
from flows.serving.waking import Service, ServiceGone
from flows.stage_flows import held_all_night, kept_model_servers
from flows.stage_names import deployment_of
from quality.encoders.choosing import find_for_duplicates
from stages.construct.start import chosen_seeds, start_refresh
from stages.intake.inbox import take_in, waiting
from stages.intake.rows import Defaults
from stages.release.review import awaiting
from taskdata.schema.construct import (
    CandidateStatus,
    Construction,
    Refresh,
    RefreshConfig,
    RefreshStatus,
)
from taskdata.store import Store

_logger = logging.getLogger(__name__)

_BANK_SECONDS = 5.0
"""Between two tries to hold a bank that another refresh has."""


@dataclass(frozen=True)
class RefreshCall:
    """One node of the DAG: a stage, which pass it is, and what it works on."""

    stage: str
    pass_: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    works_on: Construction | None = None
    """Called only while some candidate is due there; None: always."""

    @property
    def key(self) -> str:
        """Name of the call, unique within a refresh."""
        return "-".join(filter(None, [self.stage, *self.parameters.values(), self.pass_]))


def stages_of(refresh: Refresh) -> Iterator[RefreshCall]:
    """Yield the stages of a refresh in order."""
    config = refresh.config
    if config.plan_cases is not None:
        yield RefreshCall("plan_cases")
        yield from _proving(0)
        yield RefreshCall("review", works_on=Construction.REVIEW)
        return
    yield RefreshCall("gate_bank", parameters={"gate": "seeds"}, works_on=Construction.GENERATE)
    yield from _making("seeds", config.max_rewrites)
    if config.expansions:
        yield RefreshCall("expand")
    if config.max_augmentations:
        yield RefreshCall("balance")
    yield from _making("more", config.max_rewrites)
    yield from _proving(config.max_rewrites)
    yield RefreshCall("review", works_on=Construction.REVIEW)


def stages_again(refresh: Refresh, turn: int) -> Iterator[RefreshCall]:
    """Yield the stages for what reviewers have sent back, in order; `turn` counts from 1."""
    config, pass_ = refresh.config, f"again-{turn}"
    if config.plan_cases is not None:
        return
    yield from _making(pass_, config.max_rewrites)
    yield from _proving(config.max_rewrites, pass_)
    yield RefreshCall("review", pass_, works_on=Construction.REVIEW)


def _making(pass_: str, rewrites: int) -> Iterator[RefreshCall]:
    yield RefreshCall("generate", pass_, works_on=Construction.GENERATE)
    yield RefreshCall("classify", pass_, works_on=Construction.CLASSIFY)
    for attempt in range(rewrites + 1):
        name = f"{pass_}-{attempt}"
        yield RefreshCall("rewrite", name, works_on=Construction.REWRITE)
        yield RefreshCall("validate", name, works_on=Construction.VALIDATE)
    yield RefreshCall("checkpoints", pass_, works_on=Construction.CHECKPOINTS)


def _proving(rewrites: int, pass_: str = "") -> Iterator[RefreshCall]:
    """Yield the proof, and for trees that it finds weak, their regeneration and another proof."""
    candidates = {"gate": "candidates"}
    for attempt in range(rewrites + 1):
        name = "-".join(filter(None, [pass_, f"proof-{attempt}" if attempt else ""]))
        if attempt:
            yield RefreshCall("checkpoints", name, works_on=Construction.CHECKPOINTS)
        yield RefreshCall("gate_bank", name, candidates, works_on=Construction.PROVE)
        yield RefreshCall("prove", name, works_on=Construction.PROVE)


def _flow_run_name() -> str:
    return str(flow_run.get_parameters().get("refresh_id") or own_id())


@flow(name="refresh_task_bank", flow_run_name=_flow_run_name, on_failure=[tell_failed_refresh])
def refresh_task_bank(
    changes: RefreshChanges = REFRESH_AS_CONFIGURED, refresh_id: str = "", arrived: bool = False
) -> str:
    """Turn seeds into a new release of a bank; returns the refresh's id, empty if there was none.

    Where the caller in this process holds the refresh, its stages run here; else each is a
    deployment of its own.

    Args:
        changes: What differs from the configured defaults (`[refresh]` in nightshift.toml).
        refresh_id: A refresh to carry on as it was configured; empty: a new one.
        arrived: Whether nothing is to be done unless there are seeds that no refresh has used.
    """
    settings = load_settings()
    with ExitStack() as night:
        store = night.enter_context(closing(Store.open(settings.address)))
        own = store.refresh(refresh_id).id if refresh_id else own_id()
        night.enter_context(held_all_night(settings, own))
        refresh = store.find_refresh(own)
        if refresh is not None and not refresh_id:
            require_own(refresh, str(flow_run.get_id()))
        asked = refresh.config if refresh else refresh_config(settings, **changes.model_dump())
        hold_bank(night, settings, asked.bank)
        if refresh is None:
            _take_in(store, settings, UNCHANGED_SECONDS)
            if arrived and not chosen_seeds(store, asked)[0]:
                _logger.info("no seed is left for bank %s: nothing to refresh", asked.bank)
                return ""
            refresh = start_refresh(store, asked, own, flow_run.get_id())
        store.set_refresh_status(own, RefreshStatus.RUNNING)
        try:
            if caller().holds_run:
                models = [model for model, _ in refresh.config.models]
                with kept_model_servers(models, settings.home):
                    walk_stages(store, refresh, _called_here(refresh))
            else:
                walk_stages(store, refresh, _called_deployed(refresh))
        except ServiceGone:
            raise
        except Exception as exc:
            store.set_refresh_status(own, RefreshStatus.FAILED, f"{type(exc).__name__}: {exc}")
            raise
    return own


def begin(settings: Settings, store: Store, config: RefreshConfig, refresh_id: str) -> Refresh:
    """Store a refresh that a command has asked for, from the seeds in the inbox too."""
    _take_in(store, settings)
    return start_refresh(store, config, refresh_id)


def hold_bank(block: ExitStack, settings: Settings, bank: str) -> None:
    """Hold the bank for the length of the block: no two refreshes of one bank are at work at once.

    A served flow run waits for the end of the refresh that has it; a command holds it already.

    Raises:
        ServiceGone: if the service ends while the flow run waits.
    """
    if caller().holds_run:
        return
    service, told = Service(), False
    while True:
        service.require_alive()
        try:
            block.enter_context(bank_lock(settings, bank))
        except BankHeld as exc:
            if not told:
                _logger.info("%s", exc)
            told = True
            time.sleep(_BANK_SECONDS)
        else:
            return


def _take_in(store: Store, settings: Settings, unchanged_seconds: float = 0.0) -> None:
    """Add the seeds that lie in the inbox; a file that cannot be read is quarantined, and named."""
    encoder = find_for_duplicates(settings.home) if any(waiting(settings.inbox)) else None
    report = take_in(
        store,
        settings.inbox,
        Defaults(),
        encoder,
        unchanged_seconds,
        safety=settings.safety,
    )
    for error in report.errors.values():
        _logger.error("inbox: %s", error)


def walk_stages(store: Store, refresh: Refresh, call: Callable[[RefreshCall], None]) -> None:
    """Call the stages that are due, as long as something can go on without a person.

    Where the refresh waits for its review, what was sent back is reviewed anew before the release.
    """
    _call_due(store, refresh, call, stages_of(refresh))
    turn = 0
    while refresh.config.review == "wait" and _goes_again(store, refresh.id, turn):
        turn += 1
        _call_due(store, refresh, call, stages_again(refresh, turn))
    if awaiting(store, refresh.id):
        store.set_refresh_status(refresh.id, RefreshStatus.AWAITING_REVIEW)
        return
    approved = store.candidates(refresh.id, status=CandidateStatus.APPROVED)
    if approved:
        call(RefreshCall("release"))
    elif store.refresh(refresh.id).release_hash is None:
        store.set_refresh_status(refresh.id, RefreshStatus.ENDED)
    else:
        store.set_refresh_status(refresh.id, RefreshStatus.RELEASED)


def _call_due(
    store: Store,
    refresh: Refresh,
    call: Callable[[RefreshCall], None],
    stages: Iterable[RefreshCall],
) -> None:
    for stage in stages:
        if stage.works_on is None or _is_due(store, refresh.id, stage.works_on):
            call(stage)


def _goes_again(store: Store, refresh_id: str, turns: int) -> bool:
    """Return whether the stages are due for what reviewers have sent back.

    What a stage could not do stays due, so there are never more turns than votes to send back.
    """
    candidates = store.candidates(refresh_id)
    sent_back = {
        candidate.id: sum(vote.decision == "send_back" for vote in store.reviews(candidate.id))
        for candidate in candidates
    }
    is_due = any(
        sent_back[candidate.id] and candidate.stage is not Construction.REVIEW
        for candidate in candidates
        if candidate.status is CandidateStatus.OPEN
    )
    return is_due and turns < sum(sent_back.values())


def _is_due(store: Store, refresh_id: str, stage: Construction) -> bool:
    return bool(store.candidates(refresh_id, stage=stage, status=CandidateStatus.OPEN))


def _called_here(refresh: Refresh) -> Callable[[RefreshCall], None]:
    def call(stage: RefreshCall) -> None:
        # Heartbeats of the refresh say that this process lives; Prefect ends those of a stage a
        # second after the stage.
        with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            REFRESH_FLOWS[stage.stage](refresh_id=refresh.id, **stage.parameters)

    return call


def _called_deployed(refresh: Refresh) -> Callable[[RefreshCall], None]:
    parent, service = flow_run.get_id(), Service()

    def call(stage: RefreshCall) -> None:
        service.call(
            f"{stage.stage}/{deployment_of(stage.stage)}",
            key=f"{parent}:{stage.key}",
            run_name=f"{stage.key}-{refresh.id}",
            parameters={"refresh_id": refresh.id, **stage.parameters},
        )

    return call
