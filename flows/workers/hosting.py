"""Calls from Dask workers to objects in the scheduler: the backlog and the limits' coordinator.

Workers call them over the connection to the scheduler that they have anyway, so neither needs a
server of its own.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from taskdata.schema.base import Value

_SECONDS_TO_ANSWER = 10

_logger = logging.getLogger(__name__)

Reply = TypeVar("Reply", bound=Value)


def drop_handler(connected: Any, end: Callable[..., None], address: str) -> None:
    """Have the scheduler drop the object at `address`; a scheduler that is gone needs no call.

    Args:
        connected: A Dask client.
        end: Drops the object; runs in the scheduler.
        address: As for `calls_to`.
    """
    try:
        connected.run_on_scheduler(end, address)
    except (OSError, RuntimeError) as exc:
        _logger.info("%s went with its Dask scheduler: %s", address, exc)


def calls_to(address: str, reply_type: type[Reply]) -> Callable[[Value], Reply]:
    """Return a function with which this Dask worker calls the scheduler's handler at `address`.

    The handler gets the message, as JSON, in the argument `message`, and the worker's address in
    `worker`. The function blocks, and raises `OSError` when the scheduler cannot be reached.
    """
    from distributed import get_worker
    from distributed.utils import sync

    worker = get_worker()
    handler = getattr(worker.scheduler, address)

    def call(message: Value) -> Reply:
        reply = sync(
            worker.loop,
            handler,
            message=message.model_dump(mode="json"),
            worker=worker.address,
            callback_timeout=_SECONDS_TO_ANSWER,
        )
        if reply is None:
            raise ConnectionError("the scheduler has ended")
        return reply_type.model_validate(reply)

    return call
