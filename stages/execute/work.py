"""The execute stage: which trials are due, running them, and what came of it.

Every outcome is recorded in its own transaction as soon as it is known, so whatever interrupts a
batch, finished trials stay finished and the others stay due.
"""

import asyncio
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from environments.models.local import local_model_server
from environments.models.registry import ModelClients
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from environments.tools.host.services import open_services
from stages.execute.trial import Workbench, run_trial
from taskdata.schema.agent import ModelSpec
from taskdata.schema.run import OutcomeStatus, StageReport
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
) -> BatchCounts:
    """Run trials concurrently in one event loop and record each outcome as soon as it is known.

    Args:
        store: Of this process.
        run_id: The run they belong to.
        trial_ids: Those that have finished before are skipped.
        endpoints: What `local_models` yields: local model servers by model name.
        home: Where MCP servers are installed.

    Raises:
        Misuse: Unknown run or trial.
        StoreUnavailable: An outcome could not be recorded; its trial stays due, the others ran.
    """
    return asyncio.run(_execute(store, run_id, trial_ids, endpoints, home))


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
    done = report(store, run_id, round_, len(trial_ids))
    return done.model_copy(update={"seconds": time.monotonic() - started})


def report(store: Store, run_id: str, round_: int, were_due: int) -> StageReport:
    """Return what became of the trials that were due; `errors` of the unfinished were tried."""
    unfinished = due(store, run_id, round_)
    causes = [
        outcome.error or "" for trial_id in unfinished if (outcome := store.outcome(trial_id))
    ]
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
    run_id: str,
    trial_ids: Sequence[str],
    endpoints: Mapping[str, Sequence[str]],
    home: Path,
) -> BatchCounts:
    run = store.run(run_id)
    slots = asyncio.Semaphore(run.config.trials_per_worker)
    with reaped(), working_folder() as folder:
        async with (
            ModelClients() as clients,
            open_services(run.config, clients, store) as services,
        ):
            bench = Workbench(
                store=store,
                run=run,
                provider=sandbox_provider(run.config.sandbox),
                clients=clients,
                services=services,
                endpoints=endpoints,
                folder=folder,
                home=home,
            )
            # Not a TaskGroup: one outcome that cannot be recorded must not cancel the other trials.
            async with bench.provider.pooled(run_id, run.config.trials_per_worker, len(trial_ids)):
                results = await asyncio.gather(
                    *(_one(bench, trial_id, slots) for trial_id in dict.fromkeys(trial_ids)),
                    return_exceptions=True,
                )
    statuses = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        statuses.append(result)
    return BatchCounts(
        finished=statuses.count(OutcomeStatus.FINISHED),
        infrastructure_errors=statuses.count(OutcomeStatus.INFRASTRUCTURE),
        skipped=statuses.count(None),
    )


async def _one(bench: Workbench, trial_id: str, slots: asyncio.Semaphore) -> OutcomeStatus | None:
    """Run and record one trial; None if it had finished before."""
    async with slots:
        known = await asyncio.to_thread(bench.store.outcome, trial_id)
        if known is not None and known.status is OutcomeStatus.FINISHED:
            return None
        trial = await asyncio.to_thread(bench.store.trial, trial_id)
        outcome = await run_trial(bench, trial)
        await asyncio.to_thread(bench.store.record_outcome, outcome)
        _logger.info("trial %s: %s", trial_id, outcome.ending or outcome.error)
        return outcome.status
