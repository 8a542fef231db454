"""Confirming re-runs of a night: planned by a stage of it, and run between its stages."""

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from environments.models.money.shared_budget import spent_usd
from flows.history import earlier_nights, night_of_run
from flows.serving.waking import ServiceGone
from stages.execute.harness import harness_kind
from stages.prepare.confirm import confirmation_id, plan_confirmation
from taskdata.schema.run import Run, RunStatus, StageReport
from taskdata.store import Store

_logger = logging.getLogger(__name__)


def plan(store: Store, run_id: str, repetitions: int) -> StageReport:
    """Plan the re-run of what stands out in a run; `due` and `done` are its trials.

    Args:
        store: Where the run and the nights before it are.
        run_id: The run.
        repetitions: Trials of each flagged agent on each of its flagged tasks; 0: no re-run.
    """
    started = time.monotonic()
    trials, note = 0, "[night] confirm is not set: nothing is run again"
    known = find_confirmation(store, run_id)
    if known is not None:
        note = f"run {known.id} confirms it"
    elif repetitions:
        trials, note = _plan_new(store, store.run(run_id), repetitions)
    return StageReport(
        stage="confirm",
        run_id=run_id,
        due=trials,
        done=trials,
        seconds=time.monotonic() - started,
        note=note,
    )


def find_confirmation(store: Store, run_id: str) -> Run | None:
    """Return the run that confirms this one, or None."""
    return store.find_run(confirmation_id(run_id))


@contextmanager
def recorded(store: Store, again: Run) -> Iterator[None]:
    """Record how a re-run ended. One that fails leaves its night as it is, with suspicions only."""
    store.set_run_status(again.id, RunStatus.RUNNING)
    try:
        yield
    except ServiceGone:
        raise
    except Exception as exc:
        _logger.warning("confirming re-run %s failed", again.id, exc_info=True)
        store.set_run_status(again.id, RunStatus.FAILED, f"{type(exc).__name__}: {exc}")
    else:
        store.set_run_status(again.id, RunStatus.COMPLETED)


def _plan_new(store: Store, run: Run, repetitions: int) -> tuple[int, str]:
    from quality.history.flags import flagged

    if run.config.replies != "ask":
        return 0, f"replies = {run.config.replies}: the same replies again would confirm nothing"
    night = night_of_run(store, run.id)
    found = {
        agent: tasks
        for agent, tasks in flagged(night, earlier_nights(store, night)).items()
        if harness_kind(run.config.agent(agent).harness).repeats
    }
    if not found:
        return 0, "nothing stands out against the nights before"
    cap, spent = run.config.max_usd, spent_usd(store, run)
    left = None if cap is None else cap - spent
    if left is not None and not (left > 0 and math.isfinite(left)):
        return 0, f"max_usd = {cap:g} is used up: what stands out is not run again"
    again = plan_confirmation(store, run, found, repetitions, left)
    tasks = sum(map(len, found.values()))
    return tasks * repetitions, f"run {again.id} repeats {tasks} tasks of {', '.join(found)}"
