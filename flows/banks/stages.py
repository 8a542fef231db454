"""One flow per stage of a refresh: each can be run again alone and does only what is missing."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prefect import Flow, flow

from environments.models.local.copies import Copies
from environments.models.registry import model_client
from flows import publishing
from flows.banks.gates import hold_refresh_gate
from flows.banks.releasing import release_composition
from flows.banks.reviewing import approve_unseen, review_by_form
from flows.caller import caller
from flows.config import Settings, load_settings
from flows.notices.telling import notify_review, tell_failed_gate
from flows.serving.waking import wake_parent
from flows.stage_flows import held, local_model_servers
from stages.construct import balance, checkpoints, classify, generate, rewrite, validate
from stages.construct.atomic import expand
from stages.construct.planning import work as plan_cases
from stages.construct.proof import prove
from stages.construct.work import Connect
from stages.release.release import compose
from stages.release.review import AUTOMATIC, awaiting
from taskdata.errors import StageFailed
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import RefreshStatus
from taskdata.schema.run import StageReport
from taskdata.store import Store

Work = Callable[[Settings, Store], StageReport]
Asking = Callable[[Store, str, Connect], StageReport]
"""A stage that asks the refresh's model."""


def _staged(refresh_id: str, work: Work) -> None:
    settings = load_settings()
    store = Store.open(settings.address)
    try:
        with held(settings, refresh_id):
            started = time.monotonic()
            report = work(settings, store)
            report = report.model_copy(update={"seconds": time.monotonic() - started})
            store.record_refresh_stage(report)
            caller().progress.ended(report.stage, report)
            publishing.stage_artifact(report)
        if report.due and not report.done:
            raise StageFailed(f"{report.stage}: none of {report.due} could be done; {report.note}")
    finally:
        store.close()


@contextmanager
def _connected(settings: Settings, store: Store, refresh_id: str) -> Iterator[Connect]:
    """Yield what makes the clients of a refresh; local models are served within the block."""
    models = [model for model, _ in store.refresh(refresh_id).config.models]
    with local_model_servers(models, settings.home) as endpoints:

        def connect(spec: ModelSpec, base_url: str | None) -> Any:
            served = endpoints.get(str(spec))
            if served is None:
                return model_client(spec, base_url)
            return Copies([model_client(spec, url) for url in served])

        yield connect


def _asking(refresh_id: str, do: Asking) -> None:
    def work(settings: Settings, store: Store) -> StageReport:
        with _connected(settings, store, refresh_id) as connect:
            return do(store, refresh_id, connect)

    _staged(refresh_id, work)


@flow(
    name="gate_bank",
    flow_run_name="gate-{gate}-{refresh_id}",
    on_completion=[wake_parent],
    on_failure=[tell_failed_gate],
)
def gate_bank_flow(refresh_id: str, gate: str = "candidates") -> None:
    """Hold a gate of the refresh, `seeds` or `candidates`; rows that break it are quarantined."""
    _staged(
        refresh_id,
        lambda settings, store: hold_refresh_gate(
            store, refresh_id, gate, settings.gates, home=settings.home
        ),
    )


@flow(name="plan_cases", flow_run_name="plan-cases-{refresh_id}", on_completion=[wake_parent])
def plan_cases_flow(refresh_id: str) -> None:
    """Make planning cases of finished trials and reference solutions."""
    _asking(refresh_id, plan_cases.do)


@flow(name="generate", flow_run_name="generate-{refresh_id}", on_completion=[wake_parent])
def generate_flow(refresh_id: str) -> None:
    """Draft a task for every candidate that has none."""
    _asking(refresh_id, generate.do)


@flow(name="classify", flow_run_name="classify-{refresh_id}", on_completion=[wake_parent])
def classify_flow(refresh_id: str) -> None:
    """Say of every draft whether it is to be augmented, refined, deleted or passed."""
    _asking(refresh_id, classify.do)


@flow(name="rewrite", flow_run_name="rewrite-{refresh_id}", on_completion=[wake_parent])
def rewrite_flow(refresh_id: str) -> None:
    """Rewrite the drafts that are to be augmented, refined or repaired."""
    _asking(refresh_id, rewrite.do)


@flow(name="validate", flow_run_name="validate-{refresh_id}", on_completion=[wake_parent])
def validate_flow(refresh_id: str) -> None:
    """Hold drafts to the rules, by code and then by the model's opinion."""
    _asking(refresh_id, validate.do)


@flow(name="checkpoints", flow_run_name="checkpoints-{refresh_id}", on_completion=[wake_parent])
def checkpoints_flow(refresh_id: str) -> None:
    """Rewrite checkpoint trees where the task has changed."""
    _asking(refresh_id, checkpoints.do)


@flow(name="expand", flow_run_name="expand-{refresh_id}", on_completion=[wake_parent])
def expand_flow(refresh_id: str) -> None:
    """Make atomic tasks from atomic exemplars, their tool chains recorded by running them."""
    _asking(refresh_id, expand.do)


@flow(name="balance", flow_run_name="balance-{refresh_id}", on_completion=[wake_parent])
def balance_flow(refresh_id: str) -> None:
    """Ask for tasks that use under-represented tools."""
    _staged(refresh_id, lambda _settings, store: balance.do(store, refresh_id))


@flow(name="prove", flow_run_name="prove-{refresh_id}", on_completion=[wake_parent])
def prove_flow(refresh_id: str) -> None:
    """Run every candidate's reference solution, and the agent that does nothing, on it."""
    _asking(refresh_id, prove.do)


@flow(name="review", flow_run_name="review-{refresh_id}", on_completion=[wake_parent])
def review_flow(refresh_id: str) -> None:
    """Let a person decide: by the form of this flow run, later by the CLI, or not at all."""

    def work(_settings: Settings, store: Store) -> StageReport:
        config, waiting = store.refresh(refresh_id).config, len(awaiting(store, refresh_id))
        mode = config.review
        if mode == "auto":
            approve_unseen(store, refresh_id, AUTOMATIC)
        elif mode == "wait" and waiting:
            store.set_refresh_status(refresh_id, RefreshStatus.AWAITING_REVIEW)
            notify_review(refresh_id, config.bank, waiting)
            review_by_form(store, refresh_id)
            store.set_refresh_status(refresh_id, RefreshStatus.RUNNING)
        left = len(awaiting(store, refresh_id))
        return StageReport(
            stage="review",
            run_id=refresh_id,
            due=0,
            done=waiting - left,
            note=f"{left} wait for a decision" if left else "nobody waits",
        )

    _staged(refresh_id, work)


@flow(
    name="release",
    flow_run_name="release-{refresh_id}",
    on_completion=[wake_parent],
    on_failure=[tell_failed_gate],
)
def release_flow(refresh_id: str) -> None:
    """Release what was approved: prove the bank, hold its gate, write snapshot, notes and page."""

    def work(settings: Settings, store: Store) -> StageReport:
        refresh = store.refresh(refresh_id)
        notes = release_composition(
            settings, store, compose(store, refresh), refresh.config.sandbox
        )
        store.set_refresh_status(
            refresh_id, RefreshStatus.RELEASED, release_hash=notes.release_hash
        )
        tasks = notes.statistics.tasks
        return StageReport(
            stage="release",
            run_id=refresh_id,
            due=tasks,
            done=tasks,
            note=f"{notes.bank}@{notes.version}: {len(notes.changes)} changes",
        )

    _staged(refresh_id, work)


REFRESH_FLOWS: dict[str, Flow[Any, None]] = {
    "gate_bank": gate_bank_flow,
    "plan_cases": plan_cases_flow,
    "generate": generate_flow,
    "classify": classify_flow,
    "rewrite": rewrite_flow,
    "validate": validate_flow,
    "checkpoints": checkpoints_flow,
    "expand": expand_flow,
    "balance": balance_flow,
    "prove": prove_flow,
    "review": review_flow,
    "release": release_flow,
}
"""Every stage of a refresh by name."""
