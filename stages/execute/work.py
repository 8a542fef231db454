"""The execute stage: which trials are due, running them, and reporting the result.

Every outcome is stored in its own transaction as soon as it is known. So if a batch is interrupted,
finished trials stay finished and the others stay due.
"""

import asyncio
import gc
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from environments.models.limits.coordinator import Exchange
from environments.models.local.files import Tell
from environments.models.local.serving import local_model_server
from environments.toolkit.services import open_services
from stages.execute.attempt import DueAttempt, ExecuteContext, OutcomeDraft
from stages.execute.dialogue.journal import Journal
from stages.execute.trial import run_trial
from stages.workers.backlog import Backlog, TakeTrials
from stages.workers.backlog import by_provider as by_agents_provider
from stages.workers.deadline import NO_DEADLINE, StageEnd
from stages.workers.shift import WorkerContext, WorkOnTrial, run_shift
from taskdata.schema.agent import ModelSpec
from taskdata.schema.run import OutcomeStatus, StageReport
from taskdata.store import Store

STAGE = "execute"
_logger = logging.getLogger(__name__)
_HOME = Path(".nightshift")
_COLLECT_AFTER = (5_000, 5, 5)
"""Thresholds of the garbage collector. With Python's defaults it scans the running trials all the
time; with higher ones the memory of finished trials grows (`benchmarks/throughput.py --soak`)."""


class BatchCounts(NamedTuple):
    """Numbers of trials in one batch, by result."""

    finished: int
    infrastructure_errors: int
    skipped: int
    """Trials that had finished before."""


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of the round's trials that have no finished outcome."""
    return [trial.id for trial in store.trials_due_for_execution(run_id, round_)]


def by_provider(store: Store, run_id: str, trial_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the trials by the provider of their agent's model, in the form for a backlog."""
    agents = {agent.name: agent for agent in store.run(run_id).config.agents}
    agent_of = {trial.id: agents[trial.agent] for trial in store.trials(run_id)}
    return by_agents_provider((trial_id, agent_of.get(trial_id)) for trial_id in trial_ids)


def execute_trials(
    store: Store,
    run_id: str,
    trial_ids: Sequence[str],
    endpoints: Mapping[str, Sequence[str]],
    home: Path = _HOME,
) -> BatchCounts:
    """Run trials concurrently in this process, which is the only worker of the run.

    The arguments and errors are those of `run_until_empty`.
    """
    backlog = Backlog.of(by_provider(store, run_id, trial_ids))
    counts = run_until_empty(store, run_id, backlog.exchange, endpoints, home)
    for cause, given_up in backlog.given_up.items():
        record_stopped(store, run_id, store.trial(given_up[0]).round, given_up, cause)
        errors = counts.infrastructure_errors + len(given_up)
        counts = counts._replace(infrastructure_errors=errors)
    return counts


def run_until_empty(
    store: Store,
    run_id: str,
    take: TakeTrials,
    endpoints: Mapping[str, Sequence[str]],
    home: Path = _HOME,
    exchange: Exchange | None = None,
    ends: StageEnd = NO_DEADLINE,
) -> BatchCounts:
    """Take trials from a backlog until it is empty, and store each outcome once it is known.

    Args:
        store: This process's store.
        run_id: The run that the trials belong to.
        take: Takes trials from the backlog; trials that have finished before are skipped.
        endpoints: What `local_models` yields: local model servers by model name.
        home: Where MCP servers are installed.
        exchange: Carries messages to the coordinator of the run's limits; None: this worker is the
            only one.
        ends: The stage's deadline, in seconds since the epoch. No trial is begun after it, and
            the trials in flight are stopped and recorded as stopped.

    Raises:
        Misuse: unknown run or trial.
        StoreUnavailable: an outcome could not be stored; its trial stays due, the others ran.
    """
    _spare_the_collector()
    run, statuses = store.run(run_id), Counter[OutcomeStatus | None]()

    @asynccontextmanager
    async def opened(worker: WorkerContext) -> AsyncIterator[WorkOnTrial]:
        async with (
            open_services(run.config, worker.clients, worker.calls) as services,
            worker.provider.pooled(run.id, run.config.trials_per_worker, worker.expected),
        ):
            shared = ExecuteContext(worker, services, endpoints, home)

            async def execute(trial_id: str) -> None:
                statuses[await _execute(shared, trial_id)] += 1

            yield execute

    slots = run.config.trials_per_worker
    run_shift(store, run, take, opened, slots=slots, exchange=exchange, ends=ends)
    return BatchCounts(
        finished=statuses[OutcomeStatus.FINISHED],
        infrastructure_errors=statuses[OutcomeStatus.INFRASTRUCTURE],
        skipped=statuses[None],
    )


@cache
def _spare_the_collector() -> None:
    """Exclude modules and classes, which live as long as the process, from garbage collection.

    Trials produce garbage fast, and every full collection would also scan the modules, which took a
    sixth of the CPU time of a batch.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


@contextmanager
def local_models(
    models: Iterable[ModelSpec | None], home: Path, tell: Tell | None = None
) -> Iterator[dict[str, tuple[str, ...]]]:
    """Serve the local models among those given; yield their servers' base URLs by model name.

    Each local model has one single-threaded server per core. `tell` is told what takes a while.
    """
    copies = len(os.sched_getaffinity(0))
    local = sorted({spec.model for spec in models if spec and spec.provider == "local"})
    with ExitStack() as stack:
        yield {
            f"local/{model}": tuple(
                stack.enter_context(local_model_server(home, model, tell)) for _ in range(copies)
            )
            for model in local
        }


def do(store: Store, run_id: str, round_: int, home: Path) -> StageReport:
    """Run the round's due trials in this process and report."""
    started = time.monotonic()
    trial_ids = due(store, run_id, round_)
    if trial_ids:
        config = store.run(run_id).config
        models = [*(agent.model for agent in config.agents), config.user, config.critic]
        with local_models(models, home) as endpoints:
            execute_trials(store, run_id, trial_ids, endpoints, home)
        store.forget_replies(run_id)
    done = report(store, run_id, round_, len(trial_ids))
    return done.model_copy(update={"seconds": time.monotonic() - started})


def record_stopped(
    store: Store, run_id: str, round_: int, trial_ids: Iterable[str], cause: str
) -> None:
    """Record the cause for trials that were not started, or were stopped before their end.

    They stay due. A trial that already has a recorded failure keeps that cause.
    """
    failures, sandbox = store.failures(run_id, round_), store.run(run_id).config.sandbox
    for trial_id in trial_ids:
        due_now = None if trial_id in failures else store.attempt_due(trial_id)
        if due_now is None:
            continue
        draft = OutcomeDraft(trial_id, due_now.number, sandbox)
        store.record_outcome(draft.failed(cause, Journal()))


def report(store: Store, run_id: str, round_: int, were_due: int) -> StageReport:
    """Return the results of the trials that were due; `errors` counts unfinished attempts."""
    unfinished = due(store, run_id, round_)
    failures = store.failures(run_id, round_)
    causes = [failures[trial_id] for trial_id in unfinished if trial_id in failures]
    return StageReport(
        stage=STAGE,
        run_id=run_id,
        round=round_,
        due=were_due,
        done=were_due - len(unfinished),
        errors=len(causes),
        note=f"first cause: {causes[0]}" if causes else "",
    )


async def _execute(shared: ExecuteContext, trial_id: str) -> OutcomeStatus | None:
    """Run one trial and store its outcome; return its status, None if it had finished before."""
    store = shared.worker.store
    due = await asyncio.to_thread(DueAttempt.read, store, trial_id)
    if due is None:
        return None
    outcome = await run_trial(shared, due)
    await asyncio.to_thread(store.record_outcome, outcome)
    _logger.info("trial %s: %s", trial_id, outcome.ending or outcome.error)
    return outcome.status
