"""When to look next: the less of a limit is left, the sooner."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from environments.sandbox.limits import Limit

GROWTH_BYTES_PER_SECOND = 2 << 30
"""How fast programs can fill a disk or memory: measured on two cores into the page cache."""

_SHORTEST_SECONDS = 0.01
_SECONDS_TO_SEE = 10.0


def pause_seconds(left_bytes: float, longest: float, look_seconds: float) -> float:
    """Return how long to wait before the next look.

    A limit can be exceeded by what is written during a look and the pause after it. The pause is
    at least four times as long as the look, so that looking costs a fifth of a core at most, and
    at least 10 ms.

    Args:
        left_bytes: Bytes until the limit.
        longest: Seconds to wait when much is left.
        look_seconds: How long the last look took.
    """
    soon = min(longest, max(0.0, left_bytes) / GROWTH_BYTES_PER_SECOND)
    return max(_SHORTEST_SECONDS, soon, 4 * look_seconds)


async def watch_space(left: Callable[[], float], longest: float) -> Limit:
    """Return `disk` once `left` bytes are negative; waits until they are.

    Args:
        left: Returns how many bytes can still be written; called in a thread.
        longest: Seconds between two looks when much is left.
    """
    while True:
        began = time.monotonic()
        left_bytes = await asyncio.to_thread(left)
        if left_bytes < 0:
            return "disk"
        await asyncio.sleep(pause_seconds(left_bytes, longest, time.monotonic() - began))


async def ended_if_full(left: Callable[[], float], watching: "asyncio.Task[Limit | None]") -> None:
    """If the space is exceeded already, wait until `watching` has noticed it too."""
    if await asyncio.to_thread(left) < 0:
        await asyncio.wait({watching}, timeout=_SECONDS_TO_SEE)


async def first_limit(*watching: Coroutine[Any, Any, Limit | None]) -> Limit | None:
    """Return the result of the first that finishes; the others are cancelled.

    They run concurrently, so that a slow check does not delay the one for a fast-growing resource.
    """
    tasks = [asyncio.ensure_future(one) for one in watching]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
