"""The backlog of a stage: it lives in the Dask scheduler, and all workers take trials from it.

A worker has the next trial once a slot is free, whatever the others do, so a stage ends with its
slowest trial and not with the slowest share of it. What a lost worker had begun is taken by
the others, unless it was lost too often.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flows.workers.hosting import dropped, spoken_to
from stages.workers.backlog import Backlog, SlotGrant, SlotRequest, TakeTrials
from taskdata.errors import StageFailed


@dataclass(frozen=True)
class HostedBacklog:
    """A backlog in the scheduler, as the stage sees it."""

    address: str
    """For `deal_at`."""
    _connected: Any

    @property
    def done(self) -> int:
        """Trials that are recorded."""
        return int(self._connected.run_on_scheduler(_done, self.address))

    @property
    def given_up(self) -> dict[str, list[str]]:
        """Trials that are begun no more, by the cause."""
        return dict(self._connected.run_on_scheduler(_given_up, self.address))


@contextmanager
def hosted(
    connected: Any, name: str, trials: Mapping[str, Sequence[str]]
) -> Iterator[HostedBacklog]:
    """Have the scheduler deal out trials, given by provider, for the length of the block.

    Args:
        connected: A Dask client.
        name: Of the stage and its run.
        trials: Trial ids by the provider that their agents ask.
    """
    address = f"nightshift_backlog_{name}"
    connected.run_on_scheduler(_begin, address, trials)
    try:
        yield HostedBacklog(address, connected)
    finally:
        dropped(connected, _end, address)


def deal_at(address: str) -> TakeTrials:
    """Return how this Dask worker speaks to the backlog at `address`."""
    return spoken_to(address, SlotGrant)


def _begin(address: str, trials: Mapping[str, Sequence[str]], dask_scheduler: Any = None) -> None:
    backlog = Backlog.of(trials)
    worker_of: dict[str, str] = {}

    def exchange(word: dict[str, Any], worker: str, **_: Any) -> dict[str, Any]:
        said = SlotRequest.model_validate(word)
        worker_of[said.holder] = worker
        for holder in backlog.holders:
            if worker_of[holder] not in dask_scheduler.workers:
                backlog.lose(holder)
        dealt = backlog.exchange(said)
        share = -(-dealt.waiting // max(1, len(dask_scheduler.workers)))
        return dealt.model_copy(update={"waiting": share}).model_dump(mode="json")

    dask_scheduler.handlers[address] = exchange
    dask_scheduler.extensions[address] = backlog


def _done(address: str, dask_scheduler: Any = None) -> int:
    return _backlog(address, dask_scheduler).done


def _given_up(address: str, dask_scheduler: Any = None) -> dict[str, list[str]]:
    return dict(_backlog(address, dask_scheduler).given_up)


def _backlog(address: str, dask_scheduler: Any) -> Backlog:
    found: Backlog | None = dask_scheduler.extensions.get(address)
    if found is None:
        raise StageFailed("the Dask scheduler has begun anew; what is not done stays due")
    return found


def _end(address: str, dask_scheduler: Any = None) -> None:
    dask_scheduler.handlers.pop(address, None)
    dask_scheduler.extensions.pop(address, None)
