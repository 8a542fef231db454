"""When to look next: what grows fast is looked at the more often, the less of its limit is left."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from environments.sandbox.limits import Limit

GROWTH_BYTES_PER_SECOND = 2 << 30
"""How fast programs are taken to fill a disk or memory, on two cores into the page cache."""

_SHORTEST_SECONDS = 0.01
_SECONDS_TO_SEE = 10.0


def pause_seconds(left_bytes: float, longest: float, look_seconds: float) -> float:
    """Return how long to wait before the next look.

    A limit is thus overshot by what is written while a look lasts, and in four times that, which
    is what a look may cost of a core at most, or in 10 ms.

    Args:
        left_bytes: Until the limit.
        longest: Where much is left.
        look_seconds: How long the last look took.
    """
    soon = min(longest, max(0.0, left_bytes) / GROWTH_BYTES_PER_SECOND)
    return max(_SHORTEST_SECONDS, soon, 4 * look_seconds)


async def watch_space(left: Callable[[], float], longest: float) -> Limit:
    """Return `disk` once `left` bytes are negative, for however long that takes.

    Args:
        left: Looks at what can still be written; called in a thread.
        longest: Seconds between two looks where much is left.
    """
    while True:
        began = time.monotonic()
        left_bytes = await asyncio.to_thread(left)
        if left_bytes < 0:
            return "disk"
        await asyncio.sleep(pause_seconds(left_bytes, longest, time.monotonic() - began))


async def ended_if_full(left: Callable[[], float], watching: "asyncio.Task[Limit | None]") -> None:
    """Where less than nothing is `left` already, wait until `watching` has seen it, too."""
    if await asyncio.to_thread(left) < 0:
        await asyncio.wait({watching}, timeout=_SECONDS_TO_SEE)


async def first_limit(*watching: Coroutine[Any, Any, Limit | None]) -> Limit | None:
    """Return what the first of them returns; the others are cancelled.

    They look side by side, so that what is slow to look at does not hide what grows fast.
    """
    tasks = [asyncio.ensure_future(one) for one in watching]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
