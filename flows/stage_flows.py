"""One flow per stage: each can be run again alone, from the CLI, the Prefect UI or the night.

A stage flow opens the store, does what is due for its run and stores a report; the next stage finds
its results in the store. Running it again does only what is missing.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from prefect import Flow, flow

import stages.diagnose.labelling.work as labelling
import stages.diagnose.work as diagnosing
import stages.execute.work as executing
import stages.prepare.work as preparing
import stages.refine.work as refining
import stages.score.work as scoring
from environments.models.money.shared_budget import spent_usd
from flows import confirming, publishing
from flows.caller import caller, calling
from flows.config import Settings, load_settings
from flows.gates import hold_gate
from flows.locks import night_lock, stage_lock
from flows.notices.telling import tell_failed_gate
from flows.serving.waking import wake_parent
from flows.stage_names import stage_title
from flows.workers.clusters import client
from flows.workers.limits import coordinated
from flows.workers.runners import (
    ShiftWork,
    Spread,
    execute_shift,
    label_shift,
    run_shifts,
    score_shift,
)
from taskdata.errors import Misuse, StageFailed
from taskdata.schema.agent import ModelSpec
from taskdata.schema.deadlines import NIGHT_DEADLINE
from taskdata.schema.run import StageReport
from taskdata.store import Store


@contextmanager
def local_model_servers(
    models: Sequence[ModelSpec | None], home: Path
) -> Iterator[Mapping[str, tuple[str, ...]]]:
    """Yield the run's local model servers, or start some for this stage alone."""
    kept = caller().endpoints
    if kept is not None:
        yield kept
        return
    with executing.local_models(models, home, caller().progress.told) as endpoints:
        yield endpoints


@contextmanager
def kept_model_servers(models: Sequence[ModelSpec | None], home: Path) -> Iterator[None]:
    """Keep local model servers, and thus their prompt caches, for the stages within the block."""
    with (
        executing.local_models(models, home, caller().progress.told) as endpoints,
        calling(endpoints=endpoints),
    ):
        yield


def held(settings: Settings, run_id: str) -> AbstractContextManager[None]:
    """Hold a run, or a refresh, for one of its stages unless the caller in this process does."""
    return nullcontext() if caller().holds_run else stage_lock(settings, run_id)


def held_all_night(settings: Settings, run_id: str) -> AbstractContextManager[None]:
    """Hold a run, or a refresh, between its stages unless the caller in this process does."""
    return nullcontext() if caller().holds_run else night_lock(settings, run_id)


def _staged(run_id: str, stage: str, work: Callable[[Settings, Store], StageReport]) -> None:
    settings = load_settings()
    store = Store.open(settings.address)
    try:
        with held(settings, run_id):
            started = time.monotonic()
            report = work(settings, store)
            report = report.model_copy(update={"seconds": time.monotonic() - started})
            store.record_stage(report)
            caller().progress.ended(stage, report)
            publishing.stage_artifact(report)
        _require_done(report)
    finally:
        store.close()


def _require_agents(store: Store, run_id: str, stage: str) -> None:
    """Raise `Misuse` for a stage in which agents work where none does."""
    source = store.run(run_id).config.rescores
    if source:
        raise Misuse(f"run {run_id} scores run {source} again, so there is nothing to {stage}")


def _require_done(report: StageReport) -> None:
    """Raise `StageFailed` where trials were due and none was done, which shows the cause in the UI.

    The execute stage is exempt: its errors are recorded trial by trial, and the run goes on. So is
    a stage that the night's deadline stopped: what is finished is published.
    """
    is_exempt = report.stage.startswith("execute") or NIGHT_DEADLINE in report.note
    if report.due and not report.done and not is_exempt:
        raise StageFailed(
            f"{report.stage}: none of {report.due} trials could be done; {report.note}"
        )


@dataclass(frozen=True)
class _Shared:
    """The work of a stage that is spread over the Dask workers."""

    settings: Settings
    store: Store
    run_id: str
    stage: str
    work: ShiftWork
    stage_seconds: float
    """Until the stage's deadline."""
    night_seconds: float | None = None
    """Until the night's deadline, if it has one."""

    @property
    def seconds(self) -> float:
        """Until the stage is stopped."""
        night = self.night_seconds
        return self.stage_seconds if night is None else min(night, self.stage_seconds)

    @property
    def too_late(self) -> str:
        """The recorded cause of trials that were not done by the deadline."""
        if self.seconds < self.stage_seconds:
            return f"the stage was stopped by {NIGHT_DEADLINE}"
        return f"the stage was stopped by its deadline of {self.seconds:g} s (stage_seconds)"

    def spread(self, trials: Mapping[str, Sequence[str]], extra: dict[str, Any]) -> Spread:
        """Do the trials, given by provider, and report progress; return how it went.

        Raises:
            StageFailed: Trials were lost, other than by the deadline or by being given up.
        """
        listener, total = caller().progress, sum(len(ids) for ids in trials.values())
        listener.started(self.stage, total)
        if not total:
            return Spread(done=0, given_up={}, causes=(), was_late=False)
        run = self.store.run(self.run_id)
        workers = run.config.workers
        with (
            client(self.settings, workers) as connected,
            coordinated(
                connected, self.settings, run.id, run.config, spent_usd(self.store, run)
            ) as limits,
            publishing.progress_artifact(self.stage) as tell,
        ):

            def advanced(done: int) -> None:
                listener.advanced(self.stage, done)
                tell(100 * done / total)

            extra = extra | {"limits": limits}
            address = self.store.address
            went = run_shifts(
                connected,
                self.work,
                address,
                run.id,
                trials,
                extra,
                advanced,
                self.seconds,
                self.too_late,
            )
        lost = total - went.over
        if lost and not went.was_late:
            cause = went.causes[0] if went.causes else "their workers are gone"
            raise StageFailed(f"{self.stage}: {lost} of {total} trials were lost; {cause}")
        return went

    def noted(self, report: StageReport, went: Spread) -> StageReport:
        """Return the report of a stage that was stopped with a note that says so."""
        if not went.was_late or report.done == report.due:
            return report
        left = f"{self.too_late}; {report.due - report.done} trials are due, run it again"
        return report.model_copy(update={"note": "; ".join(filter(None, (left, report.note)))})


@flow(
    name="gate",
    flow_run_name="gate-{gate}-{run_id}",
    on_completion=[wake_parent],
    on_failure=[tell_failed_gate],
)
def gate_flow(run_id: str, gate: str) -> None:
    """Hold one gate of the run, `tasks` or `scores`; fails naming the rows that broke it."""
    _staged(
        run_id,
        f"gate {gate}",
        lambda settings, store: hold_gate(store, run_id, gate, settings.gates),
    )


@flow(name="prepare", flow_run_name="prepare-{run_id}", on_completion=[wake_parent])
def prepare_flow(run_id: str) -> None:
    """Plan the trials of the run."""
    _staged(run_id, "prepare", lambda settings, store: preparing.do(store, run_id, settings.home))


@flow(name="execute", flow_run_name="execute-{round}-{run_id}", on_completion=[wake_parent])
def execute_flow(run_id: str, round: int = 0, night_seconds_left: float | None = None) -> None:
    """Let the agents work on the trials of one refinement round that have not finished."""

    def work(settings: Settings, store: Store) -> StageReport:
        _require_agents(store, run_id, "execute")
        due = executing.due(store, run_id, round)
        config = store.run(run_id).config
        models = (
            [*(agent.model for agent in config.agents), config.user, config.critic] if due else []
        )
        shared = _Shared(
            settings,
            store,
            run_id,
            stage_title("execute", round),
            execute_shift,
            settings.stage_seconds.execute,
            night_seconds_left,
        )
        with local_model_servers(models, settings.home) as endpoints:
            extra = {"endpoints": endpoints, "home": str(settings.home.resolve())}
            went = shared.spread(executing.by_provider(store, run_id, due), extra)
        record = partial(executing.record_stopped, store, run_id, round)
        for cause, trial_ids in went.given_up.items():
            record(trial_ids, cause)
        if went.was_late:
            record(executing.due(store, run_id, round), shared.too_late)
        store.forget_replies(run_id)
        return shared.noted(executing.report(store, run_id, round, len(due)), went)

    _staged(run_id, stage_title("execute", round), work)


@flow(name="score", flow_run_name="score-{round}-{run_id}", on_completion=[wake_parent])
def score_flow(run_id: str, round: int = 0, night_seconds_left: float | None = None) -> None:
    """Score the finished trials of one refinement round that have no score."""

    def work(settings: Settings, store: Store) -> StageReport:
        due = scoring.due(store, run_id, round)
        judges = store.run(run_id).config.every_judge if due else ()
        models = [judge.model for judge in judges]
        shared = _Shared(
            settings,
            store,
            run_id,
            stage_title("score", round),
            score_shift,
            settings.stage_seconds.score,
            night_seconds_left,
        )
        with local_model_servers(models, settings.home) as endpoints:
            extra = {"endpoints": endpoints, "home": str(settings.home.resolve())}
            went = shared.spread(scoring.by_judge(store, run_id, due), extra)
        scoring.record_given_up(store, went.given_up)
        for trial_id in scoring.due(store, run_id, round) if went.was_late else ():
            store.record_scoring_error(trial_id, shared.too_late)
        return shared.noted(scoring.report(store, run_id, round, len(due)), went)

    _staged(run_id, stage_title("score", round), work)


@flow(name="diagnose", flow_run_name="diagnose-{round}-{run_id}", on_completion=[wake_parent])
def diagnose_flow(run_id: str, round: int = 0, night_seconds_left: float | None = None) -> None:
    """Say why the scored trials of one refinement round failed: by rules, then by the labeller."""

    def work(settings: Settings, store: Store) -> StageReport:
        found = diagnosing.label_by_rules(store, run_id, round)
        if found.left_open:
            _ask_labeller(settings, store, run_id, round, night_seconds_left, found.left_open)
        return diagnosing.report(store, run_id, round, found)

    _staged(run_id, stage_title("diagnose", round), work)


def _ask_labeller(
    settings: Settings,
    store: Store,
    run_id: str,
    round_: int,
    night_seconds_left: float | None,
    trial_ids: Sequence[str],
) -> None:
    """Have the workers ask the run's labeller about trials that rules have labelled."""
    config = store.run(run_id).config
    shared = _Shared(
        settings,
        store,
        run_id,
        stage_title("diagnose", round_),
        label_shift,
        settings.stage_seconds.diagnose,
        night_seconds_left,
    )
    if shared.seconds > 0:
        with local_model_servers([config.labeller], settings.home) as endpoints:
            trials = labelling.by_labeller(config, trial_ids)
            went = shared.spread(trials, {"endpoints": endpoints})
        labelling.record_given_up(store, run_id, went.given_up)
        if not went.was_late:
            return
    unasked = diagnosing.unasked_of(store, run_id, round_, trial_ids)
    late = [trial_id for trial_id, reason in unasked.items() if reason is None]
    labelling.record_given_up(store, run_id, {shared.too_late: late})


@flow(name="refine", flow_run_name="refine-{round}-{run_id}", on_completion=[wake_parent])
def refine_flow(run_id: str, round: int = 1) -> None:
    """Plan the trials of a refinement round, each with feedback on the attempt before."""

    def work(_settings: Settings, store: Store) -> StageReport:
        _require_agents(store, run_id, "refine")
        return refining.do(store, run_id, round)

    _staged(run_id, stage_title("refine", round), work)


@flow(name="confirm", flow_run_name="confirm-{run_id}", on_completion=[wake_parent])
def confirm_flow(run_id: str) -> None:
    """Plan a run that repeats what stands out in this one, where `[night] confirm` asks for it."""

    def work(settings: Settings, store: Store) -> StageReport:
        _require_agents(store, run_id, "confirm")
        return confirming.plan(store, run_id, settings.night.confirm)

    _staged(run_id, "confirm", work)


@flow(name="publish", flow_run_name="publish-{run_id}", on_completion=[wake_parent])
def publish_flow(run_id: str) -> None:
    """Publish the run's dashboard and its summary."""
    _staged(run_id, "publish", lambda settings, store: publishing.publish(settings, store, run_id))


STAGE_FLOWS: dict[str, Flow[Any, None]] = {
    "gate": gate_flow,
    "prepare": prepare_flow,
    "execute": execute_flow,
    "score": score_flow,
    "diagnose": diagnose_flow,
    "refine": refine_flow,
    "confirm": confirm_flow,
    "publish": publish_flow,
}
"""Every stage by name."""
