"""Finish work that must be finished even when it is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`; a cancellation is raised only after `work` has finished."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            # Retrieved so that asyncio does not warn; the cancellation is raised instead.
            task.exception()
        raise cancelled
    return task.result()
