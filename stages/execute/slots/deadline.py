"""The deadline of one trial: it moves from part to part, and knows what is being done."""

import asyncio
import logging
import math
from collections.abc import Coroutine
from typing import Any, TypeVar

from taskdata.errors import DeadlinePassed
from taskdata.schema.agent import AgentSpec
from taskdata.schema.deadlines import Deadlines

CLEAN_UP_SECONDS = 60.0
"""What was cut off has so long to remove what it holds; then it is left to itself."""

_logger = logging.getLogger(__name__)
T = TypeVar("T")


class Deadline:
    """When the part of a trial that is being done must be over; belongs to one event loop."""

    def __init__(self, allowed: Deadlines, stage_ends: float = math.inf) -> None:
        """Begin with the stage's deadline alone, a time of the loop's clock."""
        self._loop = asyncio.get_running_loop()
        self._allowed = allowed
        self._stage_ends = stage_ends
        self._timer: asyncio.TimerHandle | None = None
        self.step = "beginning"
        """What is being done now."""
        self.passed: asyncio.Future[str] = self._loop.create_future()
        """Why the trial has to end, once it has to."""
        self._set(math.inf, "")

    def set_up(self, step: str) -> None:
        """From now on everything is made ready for the agent, beginning with `step`."""
        seconds = self._allowed.setup_seconds
        self._part(step, seconds, f"setup_seconds = {seconds:g}")

    def work(self, agent: AgentSpec) -> None:
        """From now on the agent works, and stands in line where its model's provider has one."""
        own = agent.budget.max_seconds
        has_line = agent.model is not None and agent.model.provider != "local"
        line = self._allowed.line_seconds if has_line else 0.0
        self._part(
            "its agent worked",
            own + line + CLEAN_UP_SECONDS,
            f"the agent's max_seconds = {own:g}"
            + (f", line_seconds = {line:g}" if has_line else "")
            + f" and {CLEAN_UP_SECONDS:g} s to come to an end",
        )

    def collect(self, step: str) -> None:
        """From now on what the agent left is collected and all else removed, `step` first.

        Its work is done and paid for: `CLEAN_UP_SECONDS` beyond the stage's deadline are left.
        """
        self._stage_ends += CLEAN_UP_SECONDS
        seconds = self._allowed.collect_seconds
        self._part(step, seconds, f"collect_seconds = {seconds:g}")

    def end(self) -> None:
        """Have no deadline any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _part(self, step: str, seconds: float, limits: str) -> None:
        self.step = step
        self._set(self._loop.time() + seconds, f"not over within {seconds:g} s ({limits})")

    def _set(self, at: float, cause: str) -> None:
        self.end()
        if self._stage_ends <= at:
            at, cause = self._stage_ends, "the stage's deadline had come; the trial is still due"
        if at < math.inf:
            self._timer = self._loop.call_at(at, self._pass, cause)

    def _pass(self, cause: str) -> None:
        if not self.passed.done():
            self.passed.set_result(f"the trial was stopped while {self.step}: {cause}")


async def in_time(work: Coroutine[Any, Any, T], deadline: Deadline) -> T:
    """Return the result of `work`; cancel it once the deadline has passed.

    What does not end though it was cancelled is left to itself after `CLEAN_UP_SECONDS`.

    Raises:
        DeadlinePassed: names what was being done.
    """
    task = asyncio.ensure_future(work)
    either: tuple[asyncio.Future[Any], ...] = (task, deadline.passed)
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        cause = deadline.passed.result()
    finally:
        deadline.end()
        await _ended(task, deadline)
    raise DeadlinePassed(cause)


async def _ended(task: asyncio.Future[Any], deadline: Deadline) -> None:
    """End the task, cancelled or not, within a bounded time."""
    if task.done():
        return
    step = deadline.step
    task.cancel()
    task.add_done_callback(_look_at)
    await asyncio.wait({task}, timeout=CLEAN_UP_SECONDS)
    if not task.done():
        _logger.warning(
            "a trial that was stopped while %s has not ended after %g s; what it holds is left "
            "until its process ends",
            step,
            CLEAN_UP_SECONDS,
        )


def _look_at(task: asyncio.Future[Any]) -> None:
    """Retrieve what it came to, which nobody waits for any more."""
    if not task.cancelled():
        task.exception()
