"""The nightly evaluation as a DAG. Start reading here.

select -> gate -> prepare -> execute -> score -> diagnose -> refine (feedback -> execute -> score
-> diagnose, r rounds) -> gate -> publish. Stages run in this process (`nightshift run`) or each as
its own deployment (`nightshift serve`); either way they hand over through the store, keyed by run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from prefect import flow
from prefect.runtime import flow_run

from flows import publishing
from flows.config import Settings, load_settings, run_config
from flows.serving.waking import call_deployed
from flows.stage_flows import STAGE_FLOWS, kept_model_servers
from flows.workers.runners import cluster
from stages.prepare.select import select
from stages.prepare.work import require
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.store import Store


@dataclass(frozen=True)
class StageCall:
    """One node of the DAG: a stage with its parameters beside the run id."""

    stage: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Name of the call, unique within a night."""
        return "-".join([self.stage, *(str(value) for value in self.parameters.values())])


def stages_of(config: RunConfig) -> Iterator[StageCall]:
    """Yield the stages of a night in order."""
    yield StageCall("gate", {"gate": "tasks"})
    yield StageCall("prepare")
    for round_ in range(config.refinement_rounds + 1):
        if round_:
            yield StageCall("refine", {"round": round_})
        for stage in ("execute", "score", "diagnose"):
            yield StageCall(stage, {"round": round_})
    yield StageCall("gate", {"gate": "scores"})
    yield StageCall("publish")


def _flow_run_name() -> str:
    return str(flow_run.get_parameters().get("run_id") or _own_run_id())


def _own_run_id() -> str:
    """Return the id of a run that belongs to this flow run: a retry must meet it again."""
    return f"night-{str(flow_run.get_id())[:13]}"


@flow(name="nightly_evaluation", flow_run_name=_flow_run_name)
def nightly_evaluation(
    config: dict[str, Any] | None = None, run_id: str | None = None, in_process: bool = False
) -> str:
    """Evaluate agents over a bank, from the tasks to the dashboard; returns the run's id.

    Args:
        config: Changes to the configured defaults of a run (`[run]` in nightshift.toml).
        run_id: Id of the run to start or to carry on; None: one that belongs to this flow run.
        in_process: Run the stages here instead of as deployments of their own.
    """
    settings = load_settings()
    run_id = run_id or _own_run_id()
    store = Store.open(settings.address)
    try:
        known = store.find_run(run_id)
        asked = known.config if known else run_config(settings, **(config or {}))
        require(asked)
        run = select(store, asked, run_id)
        store.set_run_status(run_id, RunStatus.RUNNING)
        try:
            _walk(settings, run, in_process=in_process)
        except Exception as exc:
            store.set_run_status(run_id, RunStatus.FAILED, f"{type(exc).__name__}: {exc}")
            raise
        store.set_run_status(run_id, RunStatus.COMPLETED)
        publishing.night_artifact(store, run_id)
    finally:
        store.close()
    return run_id


def _walk(settings: Settings, run: Run, *, in_process: bool) -> None:
    if not in_process:
        night = flow_run.get_id()
        for call in stages_of(run.config):
            call_deployed(
                f"{call.stage}/{call.stage}",
                key=f"{night}:{call.key}",
                run_name=f"{call.key}-{run.id}",
                parameters={"run_id": run.id, **call.parameters},
            )
        return
    models = [*(agent.model for agent in run.config.agents), run.config.judge]
    with cluster(settings, run.config.workers), kept_model_servers(models, settings.home):
        for call in stages_of(run.config):
            STAGE_FLOWS[call.stage](run_id=run.id, **call.parameters)
