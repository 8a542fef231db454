"""The coordinator of a run's limits, which lives in the Dask scheduler.

Workers report over the connection that they have anyway, a few times a second each, whatever the
number of their calls; `benchmarks/rate_limits.py` measures how many reports it can answer. Runs of
one installation that are active at once share provider limits: by a file where each has a local
scheduler of its own, and inside the scheduler where `dask_scheduler` names one.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

from environments.models.limits.coordinator import Answer, Coordinator, Exchange, Report
from environments.models.limits.shared_limits import SharedLimits, limits_file
from flows.config import Settings
from flows.workers.hosting import dropped, spoken_to
from taskdata.schema.run import RunConfig


@contextmanager
def coordinated(
    connected: Any, settings: Settings, run_id: str, config: RunConfig, spent_usd: float
) -> Iterator[str]:
    """Have the scheduler coordinate the run's limits for the length of the block.

    Yields the address for `exchange_at`.

    Args:
        connected: A Dask client.
        settings: Of the installation.
        run_id: The run whose workers share.
        config: Its limits.
        spent_usd: What the run has cost before; infinite: that is unknown.
    """
    address = f"nightshift_limits_{run_id}"
    connected.run_on_scheduler(_begin, address, _shared_by(settings), config, spent_usd)
    try:
        yield address
    finally:
        dropped(connected, _end, address)


def exchange_at(address: str) -> Exchange:
    """Return how this Dask worker reports to the coordinator at `address`."""
    return spoken_to(address, Answer)


def _shared_by(settings: Settings) -> str | Path:
    """Return the file by which runs of the installation share limits, or a name in the scheduler.

    A scheduler of the user's may be on another machine and serve other installations, too.
    """
    if settings.dask_scheduler is None:
        return settings.home.resolve() / "limits.json"
    return f"nightshift_limits_of_{sha256(settings.address.database_url.encode()).hexdigest()}"


def _opener(
    shared_by: str | Path, extensions: dict[str, Any]
) -> Callable[[], AbstractContextManager[SharedLimits]]:
    if isinstance(shared_by, Path):
        return lambda: limits_file(shared_by)
    limits = extensions.setdefault(shared_by, SharedLimits())
    return lambda: nullcontext(limits)


def _begin(
    address: str,
    shared_by: str | Path,
    config: RunConfig,
    spent_usd: float,
    dask_scheduler: Any = None,
) -> None:
    opener = _opener(shared_by, dask_scheduler.extensions)
    coordinator = Coordinator(config.limits, config.max_usd, spent_usd, opener, address)
    address_of: dict[str, str] = {}

    def exchange(word: dict[str, Any], worker: str, **_: Any) -> dict[str, Any]:
        report = Report.model_validate(word)
        address_of[report.worker] = worker
        for name in coordinator.workers:
            if address_of[name] not in dask_scheduler.workers:
                coordinator.forget(name)
        return coordinator.exchange(report).model_dump(mode="json")

    dask_scheduler.handlers[address] = exchange
    dask_scheduler.extensions[address] = coordinator


def _end(address: str, dask_scheduler: Any = None) -> None:
    dask_scheduler.handlers.pop(address, None)
    coordinator = dask_scheduler.extensions.pop(address, None)
    if coordinator is not None:
        coordinator.end()
