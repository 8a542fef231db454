"""The refresh of a task bank as a DAG. Start reading here.

inbox -> gate seeds -> generate -> classify -> (rewrite -> validate, until clean) -> checkpoints
-> expand -> balance -> the same for what balance asked for -> gate candidates -> prove -> review
-> release.
Stages run in this process (`nightshift refresh`) or each as its own deployment (`nightshift
serve`); either way they hand over through the store, keyed by refresh.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.runtime import flow_run

from flows.banks.stages import REFRESH_FLOWS
from flows.config import load_settings, refresh_config
from flows.serving.waking import call_deployed
from flows.stage_flows import kept_model_servers
from stages.construct.intake.inbox import take_in
from stages.construct.intake.rows import Defaults
from stages.construct.releasing.review import awaiting
from stages.construct.start import start_refresh
from taskdata.schema.construct import CandidateStatus, Construction, Refresh, RefreshStatus
from taskdata.store import Store

_logger = logging.getLogger(__name__)


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
    yield RefreshCall("gate_bank", parameters={"gate": "seeds"}, works_on=Construction.GENERATE)
    yield from _making("seeds", config.max_rewrites)
    if config.expansions:
        yield RefreshCall("expand")
    if config.max_augmentations:
        yield RefreshCall("balance")
    yield from _making("more", config.max_rewrites)
    yield RefreshCall("gate_bank", parameters={"gate": "candidates"}, works_on=Construction.PROVE)
    yield RefreshCall("prove", works_on=Construction.PROVE)
    yield RefreshCall("review", works_on=Construction.REVIEW)


def _making(pass_: str, rewrites: int) -> Iterator[RefreshCall]:
    yield RefreshCall("generate", pass_, works_on=Construction.GENERATE)
    yield RefreshCall("classify", pass_, works_on=Construction.CLASSIFY)
    for attempt in range(rewrites + 1):
        name = f"{pass_}-{attempt}"
        yield RefreshCall("rewrite", name, works_on=Construction.REWRITE)
        yield RefreshCall("validate", name, works_on=Construction.VALIDATE)
    yield RefreshCall("checkpoints", pass_, works_on=Construction.CHECKPOINTS)


def _flow_run_name() -> str:
    return str(flow_run.get_parameters().get("refresh_id") or _own_refresh_id())


def _own_refresh_id() -> str:
    """Return the id of a refresh that belongs to this flow run: a retry must meet it again."""
    return f"refresh-{str(flow_run.get_id())[:13]}"


@flow(name="refresh_task_bank", flow_run_name=_flow_run_name)
def refresh_task_bank(
    config: dict[str, Any] | None = None, refresh_id: str | None = None, in_process: bool = False
) -> str:
    """Turn seeds into a new release of a bank; returns the refresh's id.

    Args:
        config: Changes to the configured defaults of a refresh (`[refresh]` in nightshift.toml).
        refresh_id: Id of the refresh to start or to carry on; None: one of this flow run's own.
        in_process: Run the stages here instead of as deployments of their own.
    """
    settings = load_settings()
    refresh_id = refresh_id or _own_refresh_id()
    store = Store.open(settings.address)
    try:
        refresh = store.find_refresh(refresh_id)
        if refresh is None:
            asked = refresh_config(settings, **(config or {}))
            _take_in(store, settings.inbox)
            refresh = start_refresh(store, asked, refresh_id)
        store.set_refresh_status(refresh_id, RefreshStatus.RUNNING)
        try:
            if in_process:
                with kept_model_servers([refresh.config.model], settings.home):
                    _walk(store, refresh, _called_here(refresh))
            else:
                _walk(store, refresh, _called_deployed(refresh))
        except Exception as exc:
            store.set_refresh_status(
                refresh_id, RefreshStatus.FAILED, f"{type(exc).__name__}: {exc}"
            )
            raise
    finally:
        store.close()
    return refresh_id


def _take_in(store: Store, inbox: Path) -> None:
    """Add the seeds that lie in the inbox; a file that cannot be read stays there, and is named."""
    report = take_in(store, inbox, Defaults())
    for error in report.errors.values():
        _logger.error("inbox: %s", error)


def _walk(store: Store, refresh: Refresh, call: Callable[[RefreshCall], None]) -> None:
    for stage in stages_of(refresh):
        if stage.works_on is None or _is_due(store, refresh.id, stage.works_on):
            call(stage)
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


def _is_due(store: Store, refresh_id: str, stage: Construction) -> bool:
    return bool(store.candidates(refresh_id, stage=stage, status=CandidateStatus.OPEN))


def _called_here(refresh: Refresh) -> Callable[[RefreshCall], None]:
    def call(stage: RefreshCall) -> None:
        REFRESH_FLOWS[stage.stage](refresh_id=refresh.id, **stage.parameters)

    return call


def _called_deployed(refresh: Refresh) -> Callable[[RefreshCall], None]:
    parent = flow_run.get_id()

    def call(stage: RefreshCall) -> None:
        call_deployed(
            f"{stage.stage}/{stage.stage}",
            key=f"{parent}:{stage.key}",
            run_name=f"{stage.key}-{refresh.id}",
            parameters={"refresh_id": refresh.id, **stage.parameters},
        )

    return call
