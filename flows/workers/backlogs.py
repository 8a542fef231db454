"""The backlog of a stage: it lives in the Dask scheduler, and all workers take trials from it.

A worker gets the next trial as soon as it has a free slot. So a stage takes as long as its slowest
trial, not as long as the slowest of several fixed shares. When a worker is lost, other workers take
the trials that it had begun; a trial that was lost too often is given up.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flows.workers.hosting import calls_to, drop_handler
from stages.workers.backlog import Backlog, SlotGrant, SlotRequest, TakeTrials
from taskdata.errors import StageFailed


@dataclass(frozen=True)
class HostedBacklog:
    """A backlog in the scheduler, as the stage sees it."""

    address: str
    """The argument of `take_from`."""
    _connected: Any

    @property
    def done(self) -> int:
        """Trials that are recorded."""
        return int(self._connected.run_on_scheduler(_done, self.address))

    @property
    def given_up(self) -> dict[str, list[str]]:
        """Trials that were given up, by cause."""
        return dict(self._connected.run_on_scheduler(_given_up, self.address))


@contextmanager
def hosted(
    connected: Any, name: str, trials: Mapping[str, Sequence[str]]
) -> Iterator[HostedBacklog]:
    """Keep a backlog of trials in the scheduler for the length of the block.

    Args:
        connected: A Dask client.
        name: The id of the run.
        trials: Trial ids by the provider that their agents ask.
    """
    address = f"nightshift_backlog_{name}"
    connected.run_on_scheduler(_begin, address, trials)
    try:
        yield HostedBacklog(address, connected)
    finally:
        drop_handler(connected, _end, address)


def take_from(address: str) -> TakeTrials:
    """Return how this Dask worker takes trials from the backlog at `address`."""
    return calls_to(address, SlotGrant)


def _begin(address: str, trials: Mapping[str, Sequence[str]], dask_scheduler: Any = None) -> None:
    backlog = Backlog.of(trials)
    worker_of: dict[str, str] = {}

    def exchange(message: dict[str, Any], worker: str, **_: Any) -> dict[str, Any]:
        request = SlotRequest.model_validate(message)
        worker_of[request.holder] = worker
        for holder in backlog.holders:
            if worker_of[holder] not in dask_scheduler.workers:
                backlog.lose(holder)
        granted = backlog.exchange(request)
        share = -(-granted.waiting // max(1, len(dask_scheduler.workers)))
        return granted.model_copy(update={"waiting": share}).model_dump(mode="json")

    dask_scheduler.handlers[address] = exchange
    dask_scheduler.extensions[address] = backlog


def _done(address: str, dask_scheduler: Any = None) -> int:
    return _backlog(address, dask_scheduler).done


def _given_up(address: str, dask_scheduler: Any = None) -> dict[str, list[str]]:
    return dict(_backlog(address, dask_scheduler).given_up)


def _backlog(address: str, dask_scheduler: Any) -> Backlog:
    found: Backlog | None = dask_scheduler.extensions.get(address)
    if found is None:
        raise StageFailed("the Dask scheduler was restarted; unfinished trials stay due")
    return found


def _end(address: str, dask_scheduler: Any = None) -> None:
    dask_scheduler.handlers.pop(address, None)
    dask_scheduler.extensions.pop(address, None)
