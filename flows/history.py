"""Nights of the store: taken in when a run is published, and made again from the runs."""

from collections.abc import Callable
from datetime import datetime

from taskdata.schema.night import Morning, Night
from taskdata.schema.run import RunStatus
from taskdata.store import Store

NIGHTS_BACK = 60
"""A night is compared with comparable ones among so many before it."""


def night_of_run(store: Store, run_id: str, finished_at: datetime | None = None) -> Night:
    """Return the night of a run as it is now; `finished_at`: when it ends, if it has not ended."""
    from quality.history import night_of

    run = store.run(run_id)
    figures = store.figures(run_id).get(run_id)
    if run.status is RunStatus.RUNNING and finished_at is not None:
        run = run.model_copy(update={"status": RunStatus.COMPLETED})
    return night_of(
        run,
        store.results(run_id),
        store.tasks_of_run(run_id),
        store.gates(run_id),
        cost_usd=0.0 if figures is None else figures.cost_usd,
        finished_at=finished_at,
    )


def record_night(store: Store, run_id: str, finished_at: datetime | None = None) -> Morning:
    """Store the night of a run, and return what it means; running it again replaces both.

    Runs that ended before nights were kept are taken in first.
    """
    from stages.prepare.confirm import confirmation_id

    take_in(store, but=run_id)
    again = store.find_run(confirmation_id(run_id))
    if again is not None and again.status is not RunStatus.RUNNING:
        store.save_night(night_of_run(store, again.id))
    return _save(store, night_of_run(store, run_id, finished_at))


def take_in(
    store: Store, but: str | None = None, tell: Callable[[str], None] = lambda _run_id: None
) -> int:
    """Store the nights of runs that have ended without one, and return how many they were.

    Args:
        store: Where they are.
        but: A run to leave out.
        tell: Called with the id of each run that was taken in.
    """
    missing = [one for one in store.runs_without_a_night() if one != but]
    nights = {run_id: night_of_run(store, run_id) for run_id in missing}
    # All of them before the first comparison, which needs the confirming re-runs, too.
    for night in nights.values():
        store.save_night(night)
    for night in nights.values():
        if night.confirms is None:
            _save(store, night)
        tell(night.run_id)
    return len(nights)


def rebuild(store: Store, tell: Callable[[str], None] = lambda _run_id: None) -> int:
    """Make all nights again whose runs are there, and every morning; return how many."""
    rebuilt = 0
    for run_id in [run.id for run in reversed(store.runs())]:
        if store.night(run_id) is not None:
            store.save_night(night_of_run(store, run_id))
            rebuilt += 1
    return rebuilt + take_in(store, tell=tell)


def earlier_nights(store: Store, night: Night) -> list[Night]:
    """Return the nights that this one may be compared with, all runs before it taken in."""
    take_in(store, but=night.run_id)
    return list(store.nights(NIGHTS_BACK, before=night))


def _save(store: Store, night: Night) -> Morning:
    from quality.history import morning_of

    history = list(store.nights(NIGHTS_BACK, before=night))
    morning = morning_of(night, history, store.confirmations(night.run_id))
    store.save_night(night, morning)
    return morning
