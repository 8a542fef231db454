"""The execute stage: which trials are due, running them, and what came of it.

Every outcome is recorded in its own transaction as soon as it is known, so whatever interrupts a
batch, finished trials stay finished and the others stay due.
"""

import asyncio
import gc
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from environments.models.limits.coordinator import Coordinator, Exchange
from environments.models.limits.limiter import ProcessLimiter, run_limiter
from environments.models.local.serving import local_model_server
from environments.models.money.shared_budget import spent_usd
from environments.models.record.recorder import CallRecorder
from environments.models.registry import ModelClients
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from environments.tools.host.services import open_services
from stages.execute.dialogue.journal import Journal
from stages.execute.outcome import outcome_of, totals
from stages.execute.slots.backlog import Backlog, Deal, Holder, holding
from stages.execute.slots.backlog import by_provider as by_agents_provider
from stages.execute.slots.filling import keep_filled, run_loop
from stages.execute.trial import run_trial
from stages.execute.worker_context import Due, WorkerContext
from taskdata.schema.agent import ModelSpec
from taskdata.schema.run import OutcomeStatus, Run, StageReport
from taskdata.store import Store
from taskdata.version import code_version

STAGE = "execute"
_logger = logging.getLogger(__name__)
_HOME = Path(".nightshift")
_COLLECT_AFTER = (5_000, 5, 5)
"""The collector's thresholds: with its own it looks at the trials in flight all the time, and with
higher ones the garbage of those that have ended piles up (`benchmarks/throughput.py --soak`)."""


class BatchCounts(NamedTuple):
    """What one batch came to, in trials."""

    finished: int
    infrastructure_errors: int
    skipped: int
    """Had finished before."""


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of the round's trials that have no finished outcome."""
    return [trial.id for trial in store.trials_due_for_execution(run_id, round_)]


def by_provider(store: Store, run_id: str, trial_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the trials by the provider of their agent's model, as a backlog takes them."""
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
    deal: Deal,
    endpoints: Mapping[str, Sequence[str]],
    home: Path = _HOME,
    exchange: Exchange | None = None,
    ends_at: float = math.inf,
) -> BatchCounts:
    """Take trials from a backlog until it has none, and record each outcome once it is known.

    They run concurrently in one event loop.

    Args:
        store: Of this process.
        run_id: The run they belong to.
        deal: The way to the backlog; of its trials those that have finished before are skipped.
        endpoints: What `local_models` yields: local model servers by model name.
        home: Where MCP servers are installed.
        exchange: Carries reports to the coordinator of the run's limits; None: there are no other
            workers.
        ends_at: The stage's deadline, in seconds since the epoch: from then on nothing is begun,
            and what runs is stopped and recorded as such.

    Raises:
        Misuse: Unknown run or trial.
        StoreUnavailable: An outcome could not be recorded; its trial stays due, the others ran.
    """
    _spare_the_collector()
    run = store.run(run_id)
    if exchange is None:
        spent = spent_usd(store, run)
        exchange = Coordinator(run.config.limits, run.config.max_usd, spent).exchange
    limits = run_limiter(run_id, exchange)
    with holding(deal) as holder, limits.running():
        return run_loop(_execute(store, run, holder, endpoints, home, limits, ends_at))


@cache
def _spare_the_collector() -> None:
    """Set aside, once per process, what lives as long as it: modules and their classes.

    Trials make garbage fast, and every full collection would look through all of it: a sixth of
    the CPU time of a batch.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


@contextmanager
def local_models(
    models: Iterable[ModelSpec | None], home: Path
) -> Iterator[dict[str, tuple[str, ...]]]:
    """Serve the local ones of the named models; yield their servers' base URLs by model name.

    Each is served once per core, on one thread. Nothing is started where none is local.
    """
    copies = len(os.sched_getaffinity(0))
    local = sorted({spec.model for spec in models if spec and spec.provider == "local"})
    with ExitStack() as stack:
        yield {
            f"local/{model}": tuple(
                stack.enter_context(local_model_server(home, model)) for _ in range(copies)
            )
            for model in local
        }


def do(store: Store, run_id: str, round_: int, home: Path) -> StageReport:
    """Run the round's due trials in this process and report."""
    started = time.monotonic()
    trial_ids = due(store, run_id, round_)
    if trial_ids:
        agents = store.run(run_id).config.agents
        with local_models((agent.model for agent in agents), home) as endpoints:
            execute_trials(store, run_id, trial_ids, endpoints, home)
        store.forget_replies(run_id)
    done = report(store, run_id, round_, len(trial_ids))
    return done.model_copy(update={"seconds": time.monotonic() - started})


def record_stopped(
    store: Store, run_id: str, round_: int, trial_ids: Iterable[str], cause: str
) -> None:
    """Record why trials have come to nothing that were not begun, or not to their end.

    They are as due as before; those that failed by themselves keep the cause that they have.
    """
    failures, sandbox = store.failures(run_id, round_), store.run(run_id).config.sandbox
    for trial_id in trial_ids:
        due_now = None if trial_id in failures else store.attempt_due(trial_id)
        if due_now is None:
            continue
        facts = {
            "trial_id": trial_id,
            "attempt": due_now.number,
            "status": OutcomeStatus.INFRASTRUCTURE,
            "error": cause,
            "sandbox": sandbox,
            "code_version": code_version(),
            "started_at": datetime.now(UTC),
        }
        store.record_outcome(outcome_of(facts | totals(Journal())))


def report(store: Store, run_id: str, round_: int, were_due: int) -> StageReport:
    """Return what became of the trials that were due; `errors` of the unfinished were tried."""
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


async def _execute(
    store: Store,
    run: Run,
    holder: Holder,
    endpoints: Mapping[str, Sequence[str]],
    home: Path,
    limits: ProcessLimiter,
    ends_at: float,
) -> BatchCounts:
    at_once, done = run.config.trials_per_worker, _Done()
    seconds = ends_at - time.time()
    stops_at = asyncio.get_running_loop().time() + seconds
    first = await asyncio.to_thread(holder.next, at_once if seconds > 0 else 0)
    if not first.trial_ids and (not first.waiting or seconds <= 0):
        return done.counts
    run_budget = None if run.config.max_usd is None else limits.budget
    with reaped(), working_folder() as folder:
        async with (
            ModelClients(limits, run_budget, run.config.deadlines.attempt_seconds) as clients,
            CallRecorder(store) as calls,
            open_services(run.config, clients, calls) as services,
        ):
            worker = WorkerContext(
                store=store,
                run=run,
                provider=sandbox_provider(run.config.sandbox),
                clients=clients,
                holder=holder,
                calls=calls,
                services=services,
                endpoints=endpoints,
                folder=folder,
                home=home,
                ends_at=stops_at,
            )
            expected = len(first.trial_ids) + first.waiting
            async with worker.provider.pooled(run.id, at_once, expected):
                one = partial(_recorded, worker, done)
                await keep_filled(holder, first, at_once, stops_at, one)
    if done.first_failure is not None:
        raise done.first_failure
    return done.counts


@dataclass
class _Done:
    """What became of the trials so far; counts only, for there may be many thousands."""

    statuses: Counter[OutcomeStatus | None] = field(default_factory=Counter)
    first_failure: Exception | None = None

    @property
    def counts(self) -> BatchCounts:
        """The counts by name."""
        return BatchCounts(
            finished=self.statuses[OutcomeStatus.FINISHED],
            infrastructure_errors=self.statuses[OutcomeStatus.INFRASTRUCTURE],
            skipped=self.statuses[None],
        )


async def _recorded(worker: WorkerContext, done: _Done, trial_id: str) -> bool:
    """Run one trial; returns whether it is recorded."""
    try:
        done.statuses[await _one(worker, trial_id)] += 1
    # An outcome that cannot be recorded must not keep the other trials from running.
    except Exception as exc:  # noqa: BLE001
        _logger.warning("trial %s: not recorded: %s: %s", trial_id, type(exc).__name__, exc)
        done.first_failure = done.first_failure or exc
        return False
    return True


async def _one(worker: WorkerContext, trial_id: str) -> OutcomeStatus | None:
    """Run and record one trial; None if it had finished before."""
    attempt = await asyncio.to_thread(Due.read, worker.store, trial_id)
    if attempt is None:
        return None
    outcome = await run_trial(worker, attempt)
    await asyncio.to_thread(worker.store.record_outcome, outcome)
    _logger.info("trial %s: %s", trial_id, outcome.ending or outcome.error)
    return outcome.status
