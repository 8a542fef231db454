"""One small coordinator for all workers of a run: it lives in the Dask scheduler.

Workers reach it over the connection that they have anyway, a few times a second each, whatever
the number of their calls, and under a cap on money some more
(`environments.models.limits.coordinator`), so it needs no server of its own and is no bottleneck:
`benchmarks/rate_limits.py` measures how many words it answers.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from environments.models.limits.coordinator import Answer, Coordinator, Word
from environments.models.limits.shared import Exchange
from flows.workers.hosting import dropped, spoken_to
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.run import RunConfig


@contextmanager
def coordinated(connected: Any, run_id: str, config: RunConfig, spent_usd: float) -> Iterator[str]:
    """Have the scheduler share the run's limits for the length of the block; yield their address.

    Args:
        connected: A Dask client.
        run_id: The run whose workers share.
        config: Its limits.
        spent_usd: What the run has cost before; infinite: nobody knows.
    """
    address = f"nightshift_limits_{run_id}"
    ceilings = {name: each.model_dump(mode="json") for name, each in config.limits.items()}
    connected.run_on_scheduler(_begin, address, ceilings, config.max_usd, spent_usd)
    try:
        yield address
    finally:
        dropped(connected, _end, address)


def exchange_at(address: str) -> Exchange:
    """Return how this Dask worker speaks to the coordinator at `address`."""
    return spoken_to(address, Answer)


def _begin(
    address: str,
    ceilings: dict[str, Any],
    max_usd: float | None,
    spent_usd: float,
    dask_scheduler: Any = None,
) -> None:
    limits = {name: Ceilings.model_validate(each) for name, each in ceilings.items()}
    coordinator = Coordinator(limits, max_usd, spent_usd)

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


def _end(address: str, dask_scheduler: Any = None) -> None:
    dask_scheduler.handlers.pop(address, None)
