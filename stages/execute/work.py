"""The execute stage: which trials are due, running them, and what came of it.

Every outcome is recorded in its own transaction as soon as it is known, so whatever interrupts a
batch, finished trials stay finished and the others stay due.
"""

import asyncio
import gc
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from environments.models.limits.coordinator import Coordinator
from environments.models.limits.shared import Exchange, SharedLimiter, run_limiter
from environments.models.local.serving import local_model_server
from environments.models.paid import CallWriter
from environments.models.registry import ModelClients
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.shielding import to_the_end
from environments.tools.host.services import open_services
from stages.execute.trial import Workbench, run_trial
from taskdata.errors import BudgetExhausted
from taskdata.schema.agent import ModelSpec
from taskdata.schema.run import OutcomeStatus, Run, StageReport
from taskdata.store import Store

STAGE = "execute"
_logger = logging.getLogger(__name__)
_HOME = Path(".nightshift")


class BatchCounts(NamedTuple):
    """What one batch came to, in trials."""

    finished: int
    infrastructure_errors: int
    skipped: int
    """Had finished before."""


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of the round's trials that have no finished outcome."""
    return [trial.id for trial in store.trials_due_for_execution(run_id, round_)]


def execute_trials(
    store: Store,
    run_id: str,
    trial_ids: Sequence[str],
    endpoints: Mapping[str, Sequence[str]],
    home: Path = _HOME,
    exchange: Exchange | None = None,
) -> BatchCounts:
    """Run trials concurrently in one event loop and record each outcome as soon as it is known.

    Args:
        store: Of this process.
        run_id: The run they belong to.
        trial_ids: Those that have finished before are skipped.
        endpoints: What `local_models` yields: local model servers by model name.
        home: Where MCP servers are installed.
        exchange: Carries words to the coordinator of the run's limits; None: there are no other
            workers.

    Raises:
        Misuse: Unknown run or trial.
        StoreUnavailable: An outcome could not be recorded; its trial stays due, the others ran.
    """
    _spare_the_collector()
    run = store.run(run_id)
    limits = run_limiter(run_id, exchange or _alone(store, run))
    with limits.running():
        return asyncio.run(_execute(store, run, trial_ids, endpoints, home, limits))


def spent_usd(store: Store, run: Run) -> float:
    """Return what the run has cost before, as far as its cap on money needs to know.

    Raises:
        BudgetExhausted: There is a cap, and the price of an earlier call is unknown.
    """
    if run.config.max_usd is None:
        return 0.0
    spent = store.spent_usd(run.id)
    if spent is None:
        raise BudgetExhausted(
            f"run {run.id}: what earlier calls cost is unknown, so max_usd "
            f"({run.config.max_usd:g} USD) cannot be held; start a new run"
        )
    return spent


def _alone(store: Store, run: Run) -> Exchange:
    coordinator = Coordinator(run.config.limits, run.config.max_usd, spent_usd(store, run))
    return lambda word: coordinator.exchange(word, time.monotonic())


@cache
def _spare_the_collector() -> None:
    """Set aside, once per process, what lives as long as it: modules and their classes.

    Trials make garbage fast, and every full collection would look through all of it: a sixth of
    the CPU time of a batch.
    """
    gc.collect()
    gc.freeze()


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
    trial_ids: Sequence[str],
    endpoints: Mapping[str, Sequence[str]],
    home: Path,
    limits: SharedLimiter,
) -> BatchCounts:
    purse = None if run.config.max_usd is None else limits.purse
    at_once = run.config.trials_per_worker
    waiting, done = iter(dict.fromkeys(trial_ids)), _Done()
    with reaped(), working_folder() as folder:
        async with (
            ModelClients(limits, purse) as clients,
            open_services(run.config, clients, store) as services,
            _keeping(store) as calls,
        ):
            bench = Workbench(
                store=store,
                run=run,
                provider=sandbox_provider(run.config.sandbox),
                clients=clients,
                calls=calls,
                services=services,
                endpoints=endpoints,
                folder=folder,
                home=home,
            )
            async with bench.provider.pooled(run.id, at_once, len(trial_ids)):
                slots = range(min(at_once, len(trial_ids)))
                await asyncio.gather(*(_work_off(bench, waiting, done) for _ in slots))
    if done.first_failure is not None:
        raise done.first_failure
    return BatchCounts(
        finished=done.statuses[OutcomeStatus.FINISHED],
        infrastructure_errors=done.statuses[OutcomeStatus.INFRASTRUCTURE],
        skipped=done.statuses[None],
    )


@asynccontextmanager
async def _keeping(store: Store) -> AsyncIterator[CallWriter]:
    """Yield what keeps paid calls; however the batch ends, those that wait are stored."""
    calls = CallWriter(store)
    try:
        yield calls
    finally:
        await to_the_end(calls.close())


@dataclass
class _Done:
    """What became of the trials so far; counts only, for there may be many thousands."""

    statuses: Counter[OutcomeStatus | None] = field(default_factory=Counter)
    first_failure: Exception | None = None


async def _work_off(bench: Workbench, waiting: Iterator[str], done: _Done) -> None:
    """Take one waiting trial after the other until there is none."""
    for trial_id in waiting:
        try:
            done.statuses[await _one(bench, trial_id)] += 1
        # An outcome that cannot be recorded must not keep the other trials from running.
        except Exception as exc:  # noqa: BLE001
            _logger.warning("trial %s: not recorded: %s: %s", trial_id, type(exc).__name__, exc)
            done.first_failure = done.first_failure or exc


async def _one(bench: Workbench, trial_id: str) -> OutcomeStatus | None:
    """Run and record one trial; None if it had finished before."""
    due_now = await asyncio.to_thread(bench.store.attempt_due, trial_id)
    if due_now is None:
        return None
    outcome = await run_trial(bench, *due_now)
    await asyncio.to_thread(bench.store.record_outcome, outcome)
    _logger.info("trial %s: %s", trial_id, outcome.ending or outcome.error)
    return outcome.status
