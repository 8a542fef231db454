"""Dask under a stage: shifts of workers as plain futures, never a Prefect task run per trial.

In a shift a worker takes trials from the stage's backlog until there are none, and writes each to
the store itself, so its future returns nothing. When a worker is lost, other workers take the
trials that its shift had not finished.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from environments.models.keys import PAIRS_VARIABLE
from environments.models.money.prices import PRICES_VARIABLE, user_prices
from flows.workers.backlogs import HostedBacklog, hosted, take_from
from stages.workers.backlog import TakeTrials
from stages.workers.deadline import StageEnd
from taskdata.errors import StageFailed
from taskdata.store import Store, StoreAddress

_logger = logging.getLogger(__name__)

ShiftWork = Callable[[Store, str, TakeTrials, dict[str, Any]], None]
"""Take trials of a run from a backlog until it has none."""

SECONDS_TO_STOP = 240.0
"""Workers that still run this long after a stage's deadline are killed."""

_RETRIES = 2
# More than one, so that workers which join later get one. A shift without trials ends at once.
_SHIFTS_PER_WORKER = 4
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_TO_RESTART = 30.0
# A cluster that grows on demand starts its machines in less time than this.
_SECONDS_WITHOUT_WORKERS = 600.0


@dataclass(frozen=True)
class Spread:
    """How the shifts of a stage ended."""

    done: int
    """Trials that were recorded."""
    given_up: Mapping[str, Sequence[str]]
    """Trials that were given up, by cause."""
    causes: tuple[str, ...]
    """Errors of the shifts that failed."""
    was_late: bool
    """Whether the stage's deadline had come."""

    @property
    def over(self) -> int:
        """Trials that are done or given up."""
        return self.done + sum(len(ids) for ids in self.given_up.values())


def run_shifts(
    connected: Any,
    work: ShiftWork,
    address: StoreAddress,
    run_id: str,
    trials: Mapping[str, Sequence[str]],
    extra: dict[str, Any],
    advanced: Callable[[int], None],
    seconds: float,
    too_late: str,
) -> Spread:
    """Have the cluster's workers do the trials, and return how that went.

    A failed shift raises nothing here: its trials stay due, and the stage decides what that means.
    The workers get this process's environment variables for the state's folder and the prices.

    Args:
        connected: A Dask client.
        work: What a worker does.
        address: Of the store.
        run_id: The run they belong to.
        trials: Trial ids by the provider that their agents ask.
        extra: Further arguments of `work`, by name.
        advanced: Called with the number of trials that are done.
        seconds: From now until the stage's deadline. No trial is begun after it, and trials in
            flight are stopped.
        too_late: What is recorded of these.

    Raises:
        StageFailed: The cluster had no workers for `_SECONDS_WITHOUT_WORKERS`.
    """
    total, ends = sum(len(ids) for ids in trials.values()), time.monotonic() + seconds
    workers = len(connected.scheduler_info(n_workers=-1)["workers"])
    shifts = min(total, _SHIFTS_PER_WORKER * max(1, workers))
    extra = extra | {"ends": StageEnd(time.time() + seconds, too_late)}
    with hosted(connected, run_id, trials) as backlog:
        told = (work, address, run_id, backlog.address, extra, _environment())
        futures = [
            connected.submit(_shift, *told, pure=False, retries=_RETRIES) for _ in range(shifts)
        ]
        _wait(connected, futures, backlog, advanced, ends + SECONDS_TO_STOP)
        return Spread(
            done=backlog.done,
            given_up=backlog.given_up,
            causes=tuple(cause for future in futures if (cause := _cause(future)) is not None),
            was_late=time.monotonic() >= ends,
        )


def _wait(
    connected: Any,
    futures: Sequence[Any],
    backlog: HostedBacklog,
    advanced: Callable[[int], None],
    until: float,
) -> None:
    """Return once no shift is running, however long that takes while there are workers."""
    watch = _WorkerWatch(connected)
    news = threading.Event()
    for future in futures:
        future.add_done_callback(lambda _: news.set())
    while at_work := [future for future in futures if not future.done()]:
        news.wait(_SECONDS_BETWEEN_LOOKS)
        news.clear()
        advanced(backlog.done)
        watch.check()
        if time.monotonic() >= until:
            _stop(connected, at_work)
            return


@dataclass
class _WorkerWatch:
    """Watches whether the scheduler has workers."""

    connected: Any
    seen: float = field(default_factory=time.monotonic)
    is_empty: bool = False

    def check(self) -> None:
        """Look for workers.

        Raises:
            StageFailed: There were none for too long.
        """
        now, address = time.monotonic(), self.connected.scheduler.address
        if self.connected.nthreads():
            self.seen, self.is_empty = now, False
            return
        if not self.is_empty:
            _logger.warning("dask_scheduler %s has no workers", address)
            self.is_empty = True
        if now - self.seen > _SECONDS_WITHOUT_WORKERS:
            raise StageFailed(
                f"dask_scheduler {address} has had no workers for {_SECONDS_WITHOUT_WORKERS:g} s; "
                f"start some, `dask worker {address} --nthreads 1`, and run the stage again"
            )


def _stop(connected: Any, futures: Sequence[Any]) -> None:
    """Kill the workers that run these shifts; nothing else can end a thread."""
    ours = {future.key for future in futures}
    stuck = [worker for worker, keys in connected.processing().items() if ours.intersection(keys)]
    _logger.error("%d workers did not stop at the stage's deadline; they are ended", len(stuck))
    connected.cancel(list(futures), force=True)
    try:
        connected.restart_workers(stuck, timeout=_SECONDS_TO_RESTART, raise_for_error=False)
    # Workers of a scheduler that we did not start cannot be killed from here.
    except (ValueError, TimeoutError) as exc:
        _logger.error("the workers go on, and their results count: %s", exc)


def _cause(future: Any) -> str | None:
    """Return why a shift failed; None if it succeeded or was cancelled."""
    if future.status != "error":
        return None
    error = future.exception()
    _logger.error("a shift failed", exc_info=error)
    return f"{type(error).__name__}: {error}"


def _environment() -> dict[str, str]:
    """Return the environment variables that a worker takes over from this process.

    No key is among them, because workers have keys of their own; which server may be sent which
    key, this process decides.
    """
    home, prices = os.environ.get("NIGHTSHIFT_HOME") or ".nightshift", user_prices()
    return {
        "NIGHTSHIFT_HOME": str(Path(home).resolve()),
        PRICES_VARIABLE: "" if prices is None else str(prices.resolve()),
        PAIRS_VARIABLE: os.environ.get(PAIRS_VARIABLE, ""),
    }


def _shift(
    work: ShiftWork,
    address: StoreAddress,
    run_id: str,
    backlog: str,
    extra: dict[str, Any],
    environment: dict[str, str],
) -> None:
    os.environ.update(environment)
    work(_store(address), run_id, take_from(backlog), extra)


@cache
def _store(address: StoreAddress) -> Store:
    """Return this worker process's one store at that address."""
    return Store(address)


def execute_shift(store: Store, run_id: str, take: TakeTrials, extra: dict[str, Any]) -> None:
    """Execute trials.

    `extra` holds the `endpoints` of local models, the `home` of MCP servers, the address of the
    run's `limits`, and when it `ends`.
    """
    from flows.workers.limits import exchange_at
    from stages.execute.work import run_until_empty

    exchange, home = exchange_at(extra["limits"]), Path(extra["home"])
    run_until_empty(store, run_id, take, extra["endpoints"], home, exchange, extra["ends"])


def label_shift(store: Store, run_id: str, take: TakeTrials, extra: dict[str, Any]) -> None:
    """Have the run's labeller label trials.

    `extra` holds the `endpoints` for a local labeller, the address of the run's `limits`, and when
    it `ends`.
    """
    from flows.workers.limits import exchange_at
    from stages.diagnose.labelling.work import label_until_empty

    exchange = exchange_at(extra["limits"])
    label_until_empty(store, run_id, take, extra["endpoints"], exchange, extra["ends"])


def score_shift(store: Store, run_id: str, take: TakeTrials, extra: dict[str, Any]) -> None:
    """Score trials.

    `extra` holds the `endpoints` for a local judge, the `home` of this installation, the address
    of the run's `limits`, and when it `ends`.
    """
    from flows.workers.limits import exchange_at
    from stages.score.work import score_until_empty

    exchange, home = exchange_at(extra["limits"]), Path(extra["home"])
    score_until_empty(store, run_id, take, extra["endpoints"], exchange, extra["ends"], home)
