"""The coordinator of a run's limits, which lives in the Dask scheduler.

Workers report over the connection that they have anyway, a few times a second each, whatever the
number of their calls; `benchmarks/rate_limits.py` measures how many reports it can answer. Runs of
one installation that are active at once share provider limits: by a file where each has a local
scheduler of its own, and inside the scheduler where `dask_scheduler` names one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from environments.models.limits.coordinator import Answer, Coordinator, Exchange, Opener, Report
from environments.models.limits.shared_limits import SharedLimits, limits_file
from flows.config import Settings
from flows.workers.hosting import calls_to, drop_handler
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
        drop_handler(connected, _end, address)


def exchange_at(address: str) -> Exchange:
    """Return how this Dask worker reports to the coordinator at `address`."""
    return calls_to(address, Answer)


def _shared_by(settings: Settings) -> str | Path:
    """Return the file by which runs of the installation share limits, or a name in the scheduler.

    A scheduler of the user's may be on another machine and serve other installations, too.
    """
    if settings.dask_scheduler is None:
        return settings.home.resolve() / "limits.json"
    return f"nightshift_limits_of_{sha256(settings.address.database_url.encode()).hexdigest()}"


def _begin(
    address: str,
    shared_by: str | Path,
    config: RunConfig,
    spent_usd: float,
    dask_scheduler: Any = None,
) -> None:
    extensions, address_of = dask_scheduler.extensions, dict[str, str]()
    if isinstance(shared_by, Path):
        opened: Opener = partial(limits_file, shared_by)
    else:
        opened = extensions.setdefault(shared_by, SharedLimits()).opened
    coordinator = Coordinator(config.limits, config.max_usd, spent_usd, opened, address)

    def exchange(message: dict[str, Any], worker: str, **_: Any) -> dict[str, Any]:
        report = Report.model_validate(message)
        address_of[report.worker] = worker
        gone = (n for n in coordinator.workers if address_of[n] not in dask_scheduler.workers)
        coordinator.forget(*gone)
        return coordinator.exchange(report).model_dump(mode="json")

    dask_scheduler.handlers[address] = exchange
    extensions[address] = coordinator


def _end(address: str, dask_scheduler: Any = None) -> None:
    dask_scheduler.handlers.pop(address, None)
    coordinator = dask_scheduler.extensions.pop(address, None)
    if coordinator is not None:
        coordinator.end()
