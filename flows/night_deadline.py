"""The deadline of a whole night: once it has passed, nothing begins that costs money."""

import math
import time
from collections.abc import Callable
from typing import Any

import stages.execute.work as executing
import stages.score.work as scoring
from flows.stage_names import stage_title
from taskdata.schema.deadlines import NIGHT_DEADLINE
from taskdata.schema.run import RunConfig, StageReport
from taskdata.store import Store

_ATTEMPTS = frozenset({"refine", "execute"})
"""Stages that begin, or prepare, attempts of agents."""


class NightDeadline:
    """Says of each stage of a night, right before it, whether it may still begin.

    What costs nothing always may: gates, checks without a judge, diagnoses by rules, the dashboard
    of what is finished. A night that is carried on has its whole time again.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin the night.

        Args:
            seconds: Until the deadline; infinite: there is none.
            clock: Seconds that only go forward.
        """
        self._seconds = seconds
        self._clock = clock
        self._ends_at = clock() + seconds
        self._rounds_left_out: set[Any] = set()

    @property
    def passed(self) -> str:
        """Why a stage was not begun."""
        return f"not begun: {NIGHT_DEADLINE} of {self._seconds:g} s had passed"

    def lets(self, stage: str, parameters: dict[str, Any], config: RunConfig) -> bool:
        """Return whether the stage may begin."""
        round_ = parameters.get("round")
        if round_ is not None and round_ in self._rounds_left_out:
            return False
        if self._clock() < self._ends_at or not costs(stage, config):
            return True
        if stage in _ATTEMPTS:
            self._rounds_left_out.add(round_)
        return False

    def bounds(self, stage: str, config: RunConfig) -> dict[str, float]:
        """Return the parameter that ends a stage which works on trials in time, if it needs one."""
        asks = stage in ("execute", "score") and costs(stage, config)
        asks |= stage == "diagnose" and config.labeller is not None
        if math.isinf(self._seconds) or not asks:
            return {}
        return {"night_seconds_left": max(self._ends_at - self._clock(), 0.0)}


def costs(stage: str, config: RunConfig) -> bool:
    """Return whether a stage asks models: those of agents and of their tools, or the judge."""
    return stage in _ATTEMPTS or (stage == "score" and bool(config.every_judge))


def left_out(store: Store, run_id: str, stage: str, round_: int, cause: str) -> StageReport:
    """Record the cause for the trials of a stage that is not begun; return the stage's report.

    The trials stay due, so that whoever carries the night on does them.
    """
    due: list[str] = []
    if stage == "execute":
        due = executing.due(store, run_id, round_)
        executing.record_stopped(store, run_id, round_, due, cause)
    elif stage == "score":
        due = scoring.due(store, run_id, round_)
        for trial_id in due:
            store.record_scoring_error(trial_id, cause)
    elif stage == "refine":
        due = [trial.id for trial in store.trials(run_id) if trial.round == round_ - 1]
    return StageReport(
        stage=stage_title(stage, round_),
        run_id=run_id,
        round=round_,
        due=len(due),
        done=0,
        note=f"{cause}; `nightshift run --resume {run_id}` does the rest",
    )
