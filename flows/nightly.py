"""The nightly evaluation as a DAG. Start reading here.

select -> gate -> prepare -> execute -> score -> diagnose -> refine (feedback -> execute -> score
-> diagnose, r rounds) -> gate -> confirm (prepare -> execute -> score -> diagnose, of what stands
out) -> publish. A rescoring leaves out the gate of the tasks and whatever agents do: it prepares
copies of its source's trials. Stages run in this process (`nightshift run`) or each as its own
deployment (`nightshift serve`); either way they hand over through the store, keyed by run.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

from prefect import flow
from prefect.runtime import flow_run

from flows import publishing
from flows.caller import caller
from flows.config import Settings, as_planner, load_settings, run_config
from flows.confirming import find_confirmation, recorded
from flows.flow_runs import own_id, require_own
from flows.night_deadline import NightDeadline, left_out
from flows.notices.telling import tell_failed_night
from flows.serving.forms import AS_CONFIGURED, RunChanges
from flows.serving.waking import Service, ServiceGone
from flows.stage_flows import STAGE_FLOWS, held_all_night, kept_model_servers
from flows.stage_names import deployment_of
from flows.workers.clusters import cluster
from stages.prepare.select import select
from stages.prepare.work import require
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.store import Store

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StageCall:
    """One node of the DAG: a stage with its parameters beside the run id."""

    stage: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Name of the call, unique within a night."""
        return "-".join([self.stage, *(str(value) for value in self.parameters.values())])


def stages_of(config: RunConfig, *, confirms: bool = False) -> Iterator[StageCall]:
    """Yield the stages of a night in order; `confirm` only where a night runs anything again."""
    if config.rescores:
        yield from _rescoring(config)
        return
    yield StageCall("gate", {"gate": "tasks"})
    yield StageCall("prepare")
    for round_ in range(config.refinement_rounds + 1):
        if round_:
            yield StageCall("refine", {"round": round_})
        for stage in ("execute", "score", "diagnose"):
            yield StageCall(stage, {"round": round_})
    yield StageCall("gate", {"gate": "scores"})
    if confirms:
        yield StageCall("confirm")
    yield StageCall("publish")


def _rescoring(config: RunConfig) -> Iterator[StageCall]:
    yield StageCall("prepare")
    for round_ in range(config.refinement_rounds + 1):
        for stage in ("score", "diagnose"):
            yield StageCall(stage, {"round": round_})
    yield StageCall("gate", {"gate": "scores"})
    yield StageCall("publish")


CONFIRMING = (
    StageCall("prepare"),
    *(StageCall(stage, {"round": 0}) for stage in ("execute", "score", "diagnose")),
)
"""The stages of a confirming re-run: no gates, no refinement, and no page of its own."""


def _flow_run_name() -> str:
    return str(flow_run.get_parameters().get("run_id") or own_id())


@flow(name="nightly_evaluation", flow_run_name=_flow_run_name, on_failure=[tell_failed_night])
def nightly_evaluation(changes: RunChanges = AS_CONFIGURED, run_id: str = "") -> str:
    """Evaluate agents over a bank, from the tasks to the dashboard; returns the run's id.

    Where the caller in this process holds the run, its stages run here; else each is a deployment
    of its own.

    Args:
        changes: What differs from the configured defaults of a run (`[run]` in nightshift.toml).
        run_id: A run to carry on as it was configured; empty: a new one.
    """
    settings = load_settings()
    with ExitStack() as night:
        store = night.enter_context(closing(Store.open(settings.address)))
        night_id = store.run(run_id).id if run_id else own_id()
        night.enter_context(held_all_night(settings, night_id))
        known = store.find_run(night_id)
        if known is not None and not run_id:
            require_own(known, str(flow_run.get_id()))
        asked = known.config if known else run_config(settings, **changes.model_dump())
        require(asked)
        run = select(store, asked, night_id, flow_run.get_id(), as_planner)
        store.set_run_status(run.id, RunStatus.RUNNING)
        try:
            _walk(settings, store, run)
        # The night has not failed: it was interrupted, and can be carried on.
        except ServiceGone:
            raise
        except Exception as exc:
            store.set_run_status(run.id, RunStatus.FAILED, f"{type(exc).__name__}: {exc}")
            raise
        store.set_run_status(run.id, RunStatus.COMPLETED)
        publishing.night_artifact(store, run.id)
    return night_id


def _walk(settings: Settings, store: Store, run: Run) -> None:
    deadline = NightDeadline(settings.night_seconds)
    if not caller().holds_run:
        night, service = flow_run.get_id(), Service()

        def call_deployment(run_id: str, call: StageCall) -> None:
            again = "" if run_id == run.id else "confirm:"
            service.call(
                f"{call.stage}/{deployment_of(call.stage)}",
                key=f"{night}:{again}{call.key}",
                run_name=f"{call.key}-{run_id}",
                parameters={
                    "run_id": run_id,
                    **call.parameters,
                    **deadline.bounds(call.stage, run.config),
                },
            )

        _call_all(settings, store, run, deadline, call_deployment)
        return

    def call_here(run_id: str, call: StageCall) -> None:
        bounds = deadline.bounds(call.stage, run.config)
        STAGE_FLOWS[call.stage](run_id=run_id, **call.parameters, **bounds)

    models = [
        *(agent.model for agent in run.config.working),
        *([] if run.config.rescores else [run.config.user, run.config.critic]),
        *(judge.model for judge in run.config.every_judge),
        run.config.labeller,
    ]
    with cluster(settings, run.config.workers), kept_model_servers(models, settings.home):
        _call_all(settings, store, run, deadline, call_here)


def _call_all(
    settings: Settings,
    store: Store,
    run: Run,
    deadline: NightDeadline,
    do: Callable[[str, StageCall], None],
) -> None:
    """Do the stages of a run in order, and those of the re-run that confirms it in their place."""
    for call in stages_of(run.config, confirms=settings.night.confirm > 0):
        _call_in_time(store, run, deadline, call, do)
        again = find_confirmation(store, run.id) if call.stage == "confirm" else None
        if again is not None:
            with recorded(store, again):
                for repeated in CONFIRMING:
                    _call_in_time(store, again, deadline, repeated, do)


def _call_in_time(
    store: Store,
    run: Run,
    deadline: NightDeadline,
    call: StageCall,
    do: Callable[[str, StageCall], None],
) -> None:
    """Do one stage if the night's deadline lets it begin; else record what is left out."""
    if deadline.lets(call.stage, call.parameters, run.config):
        do(run.id, call)
        return
    report = left_out(store, run.id, call.stage, call.parameters["round"], deadline.passed)
    if report.due:
        store.record_stage(report)
        caller().progress.ended(report.stage, report)
        _logger.warning("%s: %s", report.stage, report.note)
