"""Dask under a stage: batches of trials as plain futures, never a Prefect task run per trial.

Workers write each trial to the store themselves, so what a future returns is only a count, and a
batch that is lost with its worker is simply run again for what it had not finished.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from flows.config import Settings
from taskdata.store import Store, StoreAddress

log = logging.getLogger(__name__)

BatchWork = Callable[[Store, str, list[str], dict[str, Any]], int]
"""Run a batch of trials of a run; returns how many were dealt with."""

_SCHEDULER = "NIGHTSHIFT_DASK_SCHEDULER"
_RETRIES = 2
_LARGEST_BATCH = 16
_LOOPFULS = 4


@contextmanager
def cluster(settings: Settings, workers: int) -> Iterator[None]:
    """Keep one local cluster for every stage within the block, unless a scheduler is configured.

    Starting worker processes takes seconds; a night in one process pays that once.
    """
    if settings.dask_scheduler:
        yield
        return
    with _local_cluster(settings, workers) as address:
        os.environ[_SCHEDULER] = address
        try:
            yield
        finally:
            del os.environ[_SCHEDULER]


@contextmanager
def client(settings: Settings, workers: int) -> Iterator[Any]:
    """Yield a Dask client: of the configured scheduler, else of a local cluster of its own."""
    from distributed import Client

    if settings.dask_scheduler:
        with Client(settings.dask_scheduler, set_as_default=False) as connected:
            yield connected
        return
    with (
        _local_cluster(settings, workers) as address,
        Client(address, set_as_default=False) as connected,
    ):
        yield connected


@contextmanager
def _local_cluster(settings: Settings, workers: int) -> Iterator[str]:
    import dask
    from distributed import LocalCluster

    from environments.reaper.reap import reaped

    scratch = settings.home.resolve() / "dask"
    scratch.mkdir(parents=True, exist_ok=True)
    with (
        reaped(),
        dask.config.set(
            {"temporary-directory": str(scratch), "distributed.admin.tick.limit": "1h"}
        ),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.ERROR,
        ) as running,
    ):
        yield str(running.scheduler_address)


def batches(trial_ids: Sequence[str], workers: int, in_flight: int) -> list[list[str]]:
    """Deal trials into batches: small enough to balance, large enough to fill a worker's loop.

    A batch ends with its slowest trial, beside which the loop runs empty; so where there is enough
    to do, it holds several times what is in flight.

    Neighbours in the list (one agent's trials) go to different batches, so that cheap and dear
    agents mix.
    """
    if not trial_ids:
        return []
    largest = max(_LARGEST_BATCH, _LOOPFULS * in_flight)
    size = max(in_flight, min(largest, -(-len(trial_ids) // (workers * 4))))
    count = -(-len(trial_ids) // size)
    return [list(trial_ids[start::count]) for start in range(count)]


def run_batches(
    connected: Any,
    work: BatchWork,
    address: StoreAddress,
    run_id: str,
    due: Sequence[list[str]],
    extra: dict[str, Any],
    advanced: Callable[[int], None],
) -> list[str]:
    """Run `work` over all batches on the cluster; return the causes of batches that failed.

    A failed batch is not an exception here: its trials stay due, and the stage decides.
    """
    from distributed import as_completed

    futures = [
        connected.submit(
            _run_batch, work, address, run_id, batch, extra, pure=False, retries=_RETRIES
        )
        for batch in due
    ]
    causes, done = [], 0
    for future in as_completed(futures, loop=connected.loop):
        if future.status == "finished":
            done += future.result()
            advanced(done)
        else:
            error = future.exception()
            log.error("a batch of trials failed", exc_info=error)
            causes.append(f"{type(error).__name__}: {error}")
    return causes


def _run_batch(
    work: BatchWork, address: StoreAddress, run_id: str, batch: list[str], extra: dict[str, Any]
) -> int:
    return work(_store(address), run_id, batch, extra)


@cache
def _store(address: StoreAddress) -> Store:
    """Return this worker process's one store at that address."""
    return Store(address)


def execute_batch(store: Store, run_id: str, batch: list[str], extra: dict[str, Any]) -> int:
    """Execute a batch of trials.

    `extra`: `endpoints` of local models, `home` of MCP servers, `limits`: their address.
    """
    from flows.limits import exchange_at
    from stages.execute.work import execute_trials

    exchange = exchange_at(extra["limits"])
    execute_trials(store, run_id, batch, extra["endpoints"], Path(extra["home"]), exchange)
    return len(batch)


def score_batch(store: Store, run_id: str, batch: list[str], extra: dict[str, Any]) -> int:
    """Score a batch of trials; `extra`: `endpoints` for a local judge, `limits` for any."""
    from flows.limits import exchange_at
    from stages.score.work import score_trials

    score_trials(store, run_id, batch, extra["endpoints"], exchange_at(extra["limits"]))
    return len(batch)
