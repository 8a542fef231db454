"""One small coordinator for all workers of a run: it lives in the Dask scheduler.

Runs of one installation that are at work at once meet on a board, by which they keep a provider's
limits together.

Workers reach it over the connection that they have anyway, a few times a second each, whatever
the number of their calls, and under a cap on money some more
(`environments.models.limits.coordinator`), so it needs no server of its own and is no bottleneck:
`benchmarks/rate_limits.py` measures how many words it answers.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from environments.models.limits.board_file import BoardFile
from environments.models.limits.coordinator import Answer, Coordinator, Word
from environments.models.limits.shared import Exchange
from environments.models.limits.shares import Board, Shares
from flows.config import Settings
from flows.workers.hosting import dropped, spoken_to
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.run import RunConfig

_BOARDS = "nightshift_limits_of"


@contextmanager
def coordinated(
    connected: Any, settings: Settings, run_id: str, config: RunConfig, spent_usd: float
) -> Iterator[str]:
    """Have the scheduler share the run's limits for the length of the block; yield their address.

    Runs of one installation that are at work at once share them with each other, too.

    Args:
        connected: A Dask client.
        settings: Of the installation.
        run_id: The run whose workers share.
        config: Its limits.
        spent_usd: What the run has cost before; infinite: nobody knows.
    """
    address = f"nightshift_limits_{run_id}"
    ceilings = {name: each.model_dump(mode="json") for name, each in config.limits.items()}
    board = _board_name(settings)
    connected.run_on_scheduler(_begin, address, board, ceilings, config.max_usd, spent_usd)
    try:
        yield address
    finally:
        dropped(connected, _end, address)


def exchange_at(address: str) -> Exchange:
    """Return how this Dask worker speaks to the coordinator at `address`."""
    return spoken_to(address, Answer)


def _board_name(settings: Settings) -> str:
    """Return what the runs of this installation have in common, wherever the scheduler is.

    Each local cluster has a scheduler of its own on this machine, so it is a file. Runs on a
    scheduler of the user's meet in it; it may be elsewhere, and may have other installations' runs.
    """
    if settings.dask_scheduler is None:
        return f"file:{settings.home.resolve() / 'limits.json'}"
    return f"{_BOARDS}_{sha256(settings.address.database_url.encode()).hexdigest()}"


def _board(name: str, dask_scheduler: Any) -> Board:
    path = name.removeprefix("file:")
    if path == name:
        shared: Board = dask_scheduler.extensions.setdefault(name, Shares())
        return shared
    board = BoardFile(Path(path))
    board.begin(time.monotonic())
    return board


def _begin(
    address: str,
    board: str,
    ceilings: dict[str, Any],
    max_usd: float | None,
    spent_usd: float,
    dask_scheduler: Any = None,
) -> None:
    limits = {name: Ceilings.model_validate(each) for name, each in ceilings.items()}
    coordinator = Coordinator(limits, max_usd, spent_usd, _board(board, dask_scheduler), address)

    address_of: dict[str, str] = {}

    def exchange(word: dict[str, Any], worker: str, **_: Any) -> dict[str, Any]:
        said = Word.model_validate(word)
        address_of[said.worker] = worker
        for name in coordinator.workers:
            if address_of[name] not in dask_scheduler.workers:
                coordinator.forget(name)
        answer = coordinator.exchange(said, time.monotonic())
        return answer.model_dump(mode="json")

    dask_scheduler.handlers[address] = exchange
    dask_scheduler.extensions[address] = coordinator


def _end(address: str, dask_scheduler: Any = None) -> None:
    dask_scheduler.handlers.pop(address, None)
    coordinator = dask_scheduler.extensions.pop(address, None)
    if coordinator is not None:
        coordinator.end()
