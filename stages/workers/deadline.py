"""The deadline of one trial: every phase has a time limit of its own, within the stage's."""

import asyncio
import logging
import math
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from taskdata.errors import DeadlinePassed
from taskdata.schema.agent import AgentSpec
from taskdata.schema.deadlines import Deadlines

CLEAN_UP_SECONDS = 60.0
"""Time for a cancelled trial to clean up; then it is abandoned."""

_logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class StageEnd:
    """The deadline of a stage; by default there is none."""

    at: float = math.inf
    """By the clock that whoever has it says."""
    cause: str = "the stage's deadline had come"
    """Recorded for trials that it stops."""


NO_DEADLINE = StageEnd()


class Deadline:
    """When the current phase of a trial must end; belongs to one event loop."""

    def __init__(self, allowed: Deadlines, stage: StageEnd = NO_DEADLINE) -> None:
        """Begin with the stage's deadline alone, by the loop's clock."""
        self._loop = asyncio.get_running_loop()
        self._allowed = allowed
        self._stage_ends, self._stage_cause = stage.at, stage.cause
        self._timer: asyncio.TimerHandle | None = None
        self.step = "beginning"
        """What the trial is doing now, for the message if it is stopped."""
        self.passed: asyncio.Future[str] = self._loop.create_future()
        """Set to the reason once a deadline has passed."""
        self._set(math.inf, "")

    def set_up(self, step: str) -> None:
        """Begin the phase that prepares everything for the agent; `step` is its first step."""
        seconds = self._allowed.setup_seconds
        self._part(step, seconds, f"setup_seconds = {seconds:g}")

    def ask(self, step: str, seconds: float) -> None:
        """Begin a phase that asks a model beside the agent's; `seconds` without the line for it."""
        line = self._allowed.line_seconds
        self._part(step, seconds + line, f"{seconds:g} s and line_seconds = {line:g}")

    def work(self, agent: AgentSpec, talk_seconds: float = 0.0) -> None:
        """Begin the phase in which the agent works; it includes waiting for rate limits.

        `talk_seconds` is the time that all answers of a simulated user together may take.
        """
        own = agent.budget.max_seconds
        # As long as the trial that asks for a plan which this one shares may work.
        shared = own if agent.plans else 0.0
        has_line = agent.model is not None and agent.model.provider != "local"
        line = self._allowed.line_seconds if has_line else 0.0
        self._part(
            "its agent worked",
            own + shared + line + talk_seconds + CLEAN_UP_SECONDS,
            f"the agent's max_seconds = {own:g}"
            + (f", line_seconds = {line:g}" if has_line else "")
            + (f", {shared:g} s for a plan that another trial asks for" if shared else "")
            + (f", {talk_seconds:g} s for its user's answers" if talk_seconds else "")
            + f" and {CLEAN_UP_SECONDS:g} s to come to an end",
        )

    def collect(self, step: str) -> None:
        """Begin the phase that collects the agent's work and cleans up; `step` is its first step.

        The work is done and paid for, so this phase may exceed the stage's deadline by
        `CLEAN_UP_SECONDS`.
        """
        self._stage_ends += CLEAN_UP_SECONDS
        seconds = self._allowed.collect_seconds
        self._part(step, seconds, f"collect_seconds = {seconds:g}")

    def end(self) -> None:
        """Cancel the deadline."""
        if self._timer is not None:
            self._timer.cancel()

    def _part(self, step: str, seconds: float, limits: str) -> None:
        self.step = step
        self._set(self._loop.time() + seconds, f"not over within {seconds:g} s ({limits})")

    def _set(self, at: float, cause: str) -> None:
        self.end()
        if self._stage_ends <= at:
            at, cause = self._stage_ends, f"{self._stage_cause}; the trial is still due"
        if at < math.inf:
            self._timer = self._loop.call_at(at, self._pass, cause)

    def _pass(self, cause: str) -> None:
        if not self.passed.done():
            self.passed.set_result(f"the trial was stopped while {self.step}: {cause}")


async def in_time(work: Coroutine[Any, Any, T], deadline: Deadline) -> T:
    """Return the result of `work`; cancel it once the deadline has passed.

    Work that has not ended `CLEAN_UP_SECONDS` after its cancellation is abandoned.

    Raises:
        DeadlinePassed: the deadline has passed; the message names the step.
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
    """Cancel the task unless it is done, and wait for its end for a limited time."""
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
    """Retrieve the exception of an abandoned task, so that asyncio does not warn about it."""
    if not task.cancelled():
        task.exception()
