"""Ctrl-C in a terminal reaches this process alone; it then ends its Dask workers at once.

A terminal sends the signal to every process in the foreground. Workers that got it as well would
each print a traceback, and would end before the scheduler could tell them to.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import LocalCluster


INTERRUPTION = frozenset({signal.SIGINT})

PRELOAD = {"distributed.worker.preload": [__name__]}
"""Dask settings with which each worker calls `dask_setup` as it starts."""

_running: list[Any] = []
"""The local clusters of this process."""

ending = threading.Event()
"""Set once the workers are being ended, so that none is started in their place."""


def dask_setup(worker: Any) -> None:
    """Leave the terminal, so that neither the worker nor its children get signals from there."""
    with suppress(PermissionError):
        os.setsid()
    # The signal was blocked while the worker started; one that came meanwhile was for the command.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTION)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def started_out_of_reach(start: "Callable[[], LocalCluster]") -> "LocalCluster":
    """Return the cluster that `start` makes in a thread where SIGINT is blocked.

    The threads and processes that the cluster starts, now or later, inherit that. An interruption
    during the start is raised once the cluster has started and was closed again.
    """
    # Whichever thread first needs the resource tracker starts it, and thereby unblocks SIGINT.
    resource_tracker.ensure_running()
    with ThreadPoolExecutor(1, initializer=_hold_back) as thread:
        starting = thread.submit(start)
        try:
            return starting.result()
        except KeyboardInterrupt:
            starting.result().close()
            raise


def _hold_back() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTION)


@contextmanager
def endable(cluster: Any) -> Iterator[None]:
    """Have `end_workers` know a local cluster for the length of the block."""
    _running.append(cluster)
    try:
        yield
    finally:
        _running.remove(cluster)
        if not _running:
            ending.clear()


def end_workers() -> None:
    """Kill the workers of this process's clusters, whatever they are doing; returns at once.

    The trials that they had finished are in the store. The processes that they had started end
    with them, or are removed by the reaper when their cluster closes.
    """
    ending.set()
    for cluster in _running:
        cluster.loop.add_callback(_end, list(cluster.workers.values()))


async def _end(nannies: list[Any]) -> None:
    # Nannies that are closing start no new worker in place of the one that was killed.
    closing = [asyncio.ensure_future(nanny.close(timeout=1)) for nanny in nannies]
    await asyncio.sleep(0)
    for pid in filter(None, (nanny.pid for nanny in nannies)):
        # Each leads a group of its own, unless it is just starting.
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)
    await asyncio.gather(*closing, return_exceptions=True)
