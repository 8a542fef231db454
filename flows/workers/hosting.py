"""Speaking to what lives in the Dask scheduler: a stage's backlog, and its limits' coordinator.

Workers reach it over the connection that they have anyway, so it needs no server of its own.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from taskdata.schema.base import Value

_SECONDS_TO_ANSWER = 10

_logger = logging.getLogger(__name__)

Reply = TypeVar("Reply", bound=Value)


def dropped(connected: Any, end: Callable[..., None], address: str) -> None:
    """Have the scheduler drop what lives at `address`; one that is lost has dropped all.

    Args:
        connected: A Dask client.
        end: Does it, in the scheduler.
        address: As for `spoken_to`.
    """
    try:
        connected.run_on_scheduler(end, address)
    except (OSError, RuntimeError) as exc:
        _logger.info("%s went with its Dask scheduler: %s", address, exc)


def spoken_to(address: str, answers: type[Reply]) -> Callable[[Value], Reply]:
    """Return how this Dask worker says a word to the scheduler's handler at `address`.

    The handler gets it as `word`, JSON, and this worker's address as `worker`. It blocks, and
    raises when it cannot.
    """
    from distributed import get_worker
    from distributed.utils import sync

    worker = get_worker()
    handler = getattr(worker.scheduler, address)

    def say(word: Value) -> Reply:
        answer = sync(
            worker.loop,
            handler,
            word=word.model_dump(mode="json"),
            worker=worker.address,
            callback_timeout=_SECONDS_TO_ANSWER,
        )
        if answer is None:
            raise ConnectionError("the scheduler has ended")
        return answers.model_validate(answer)

    return say
