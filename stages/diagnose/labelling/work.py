"""The part of the diagnose stage that asks a model, spread over workers like scoring.

Rules have labelled every trial before. A trial that the model cannot be asked about keeps these
labels and stays due, with the cause on record.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

from environments.models.limits.coordinator import Exchange
from environments.models.retry import is_silence
from stages.diagnose.labelling.labeller import RunLabeller
from stages.diagnose.record import Record
from stages.diagnose.stored import diagnosed, record_of
from stages.execute.attempt import cause
from stages.workers.backlog import NO_MODEL, Backlog, TakeTrials, provider_of
from stages.workers.deadline import NO_DEADLINE, StageEnd
from stages.workers.shift import WorkerContext, WorkOnTrial, run_shift
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.run import RunConfig, TrialResult
from taskdata.schema.views import RenderedDeliverable
from taskdata.store import Store

_logger = logging.getLogger(__name__)


def by_labeller(config: RunConfig, trial_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the trials by the provider that is asked about them, as a backlog takes them."""
    provider = provider_of(config.labeller, config.labeller_base_url)
    return {NO_MODEL if config.plays_back else provider: list(trial_ids)} if trial_ids else {}


def label_trials(
    store: Store,
    run_id: str,
    trial_ids: Sequence[str],
    endpoints: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Label trials in this process, which is the only worker of the run.

    The arguments and errors are those of `label_until_empty`.
    """
    backlog = Backlog.of(by_labeller(store.run(run_id).config, trial_ids))
    label_until_empty(store, run_id, backlog.exchange, endpoints or {})
    record_given_up(store, run_id, backlog.given_up)


def label_until_empty(
    store: Store,
    run_id: str,
    take: TakeTrials,
    endpoints: Mapping[str, Sequence[str]],
    exchange: Exchange | None = None,
    ends: StageEnd = NO_DEADLINE,
) -> None:
    """Have the run's labeller label trials of a backlog until it has none.

    Args:
        store: This process's store.
        run_id: The run that the trials belong to.
        take: Takes trials from the backlog; rules have labelled them.
        endpoints: Base URLs of local model servers by model, for a local labeller.
        exchange: Carries messages to the coordinator of the run's limits and money; None: this
            worker is the only one.
        ends: The stage's deadline, in seconds since the epoch: no trial is begun after it.

    Raises:
        Misuse: The run has no labeller, or it cannot be used.
        StoreUnavailable: A diagnosis could not be recorded; its trial stays due, the others went
            on.
    """
    run = store.run(run_id)

    @asynccontextmanager
    async def opened(worker: WorkerContext) -> AsyncIterator[WorkOnTrial]:
        labeller = _labeller(worker, endpoints)
        yield partial(_label, worker, labeller)

    run_shift(
        store,
        run,
        take,
        opened,
        slots=run.config.trials_per_worker,
        exchange=exchange,
        ends=ends,
    )


def record_given_up(store: Store, run_id: str, given_up: Mapping[str, Sequence[str]]) -> None:
    """Record why the model was not asked about trials that a backlog has given up, by the cause."""
    model = str(labeller_model(store.run(run_id).config))
    for reason, trial_ids in given_up.items():
        for trial_id in trial_ids:
            store.record_labelling_error(trial_id, model, reason)


def labeller_model(config: RunConfig) -> ModelSpec:
    """Return the model that labels a run's trials.

    Raises:
        Misuse: the run has none.
    """
    if config.labeller is None:
        raise Misuse("the run has no labeller; rules alone label its trials")
    return config.labeller


def _labeller(worker: WorkerContext, endpoints: Mapping[str, Sequence[str]]) -> RunLabeller:
    config = worker.run.config
    spec = labeller_model(config)
    servers = endpoints.get(str(spec))
    base_url = servers[0] if servers else config.labeller_base_url
    return RunLabeller(
        spec=spec,
        base_url=base_url,
        client=None if config.plays_back else worker.clients.get(spec, base_url),
        replies=config.replies,
        calls=worker.calls,
        store=worker.store,
    )


async def _label(worker: WorkerContext, labeller: RunLabeller, trial_id: str) -> None:
    """Label one trial and record it; what stands in the way is recorded too."""
    store = worker.store
    answered = partial(worker.holder.answered, trial_id)
    try:
        record, files = await asyncio.to_thread(_read, worker, trial_id)
        found = await labeller.label(diagnosed(record), record, files, answered)
    except StoreUnavailable:
        raise
    except Exception as exc:  # noqa: BLE001 - whatever it is, the labels of the rules stay
        if is_silence(exc):
            worker.holder.unanswered(trial_id)
        _logger.warning("trial %s: the labeller was not asked: %s", trial_id, exc)
        reason = cause(exc)
        await asyncio.to_thread(store.record_labelling_error, trial_id, str(labeller.spec), reason)
        return
    await asyncio.to_thread(store.record_diagnosis, found)


def _read(worker: WorkerContext, trial_id: str) -> tuple[Record, Sequence[RenderedDeliverable]]:
    store, trial = worker.store, worker.store.trial(trial_id)
    result = TrialResult(trial=trial, outcome=store.outcome(trial_id), score=store.score(trial_id))
    record = record_of(store, result, store.task(trial.task_hash), worker.run.config.success)
    return record, store.rendered(trial_id)
