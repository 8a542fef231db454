"""Nights of the store: taken in when a run is published, and made again from the runs."""

import gc
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from flows.failures import compared_by_meaning
from taskdata.schema.night import Morning, Night
from taskdata.schema.run import RunStatus, TrialResult
from taskdata.schema.task import Task
from taskdata.store import Store

NIGHTS_BACK = 60
"""A night is compared with comparable ones among so many before it."""


def night_of_run(
    store: Store,
    run_id: str,
    finished_at: datetime | None = None,
    tasks: Mapping[str, Task] | None = None,
    results: Sequence[TrialResult] | None = None,
) -> Night:
    """Return the night of a run as it is now.

    Args:
        store: Where the run is.
        run_id: Its id.
        finished_at: When it ends, if it has not ended.
        tasks: Its tasks by content hash; None: they are read from the store.
        results: Of its trials; None: they are read from the store.
    """
    from quality.history import night_of

    run = store.run(run_id)
    figures = store.figures(run_id).get(run_id)
    if run.status is RunStatus.RUNNING and finished_at is not None:
        run = run.model_copy(update={"status": RunStatus.COMPLETED})
    return night_of(
        run,
        store.results(run_id) if results is None else results,
        store.tasks_of_run(run_id) if tasks is None else tasks,
        store.gates(run_id),
        alike=compared_by_meaning,
        cost_usd=0.0 if figures is None else figures.cost_usd,
        finished_at=finished_at,
    )


def record_night(
    store: Store,
    run_id: str,
    finished_at: datetime | None = None,
    results: Sequence[TrialResult] | None = None,
) -> Morning:
    """Store the night of a run, and return what it means; running it again replaces both.

    Runs that ended before nights were kept are taken in first. The arguments are those of
    `night_of_run`.
    """
    from stages.prepare.confirm import confirmation_id

    take_in(store, but=run_id)
    again = store.find_run(confirmation_id(run_id))
    if again is not None and again.status is not RunStatus.RUNNING:
        store.save_night(night_of_run(store, again.id))
    night = night_of_run(store, run_id, finished_at, results=results)
    morning = _morning(store, night, list(store.nights(NIGHTS_BACK, before=night)))
    store.save_night(night, morning)
    return morning


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
    _make(store, missing, tell)
    return len(missing)


def rebuild(store: Store, tell: Callable[[str], None] = lambda _run_id: None) -> int:
    """Make all nights again whose runs are there, and every morning; return how many nights."""
    published = [run.id for run in store.runs() if store.find_morning(run.id) is not None]
    made = take_in(store, tell=tell)
    _make(store, published, tell)
    return len(published) + made


def _make(store: Store, run_ids: Sequence[str], tell: Callable[[str], None]) -> None:
    """Make these nights, and then what each of them means: one may confirm another."""
    if not run_ids:
        return
    known: tuple[str, dict[str, Task]] = ("", {})
    with _rarely_collected() as collect:
        for run_id in run_ids:
            release = store.run(run_id).release_hash
            # Reading the tasks takes a quarter of the time, and nights in a row share their
            # release.
            if known[0] != release:
                known = (release, store.tasks_of_release(release))
            store.save_night(night_of_run(store, run_id, tasks=known[1]))
            collect()
            tell(run_id)
    wanted, before = set(run_ids), deque[Night](maxlen=NIGHTS_BACK)
    for night in store.nights(oldest_first=True):
        if night.run_id in wanted and night.confirms is None:
            store.save_night(night, _morning(store, night, list(before)))
        before.append(night)


def earlier_nights(store: Store, night: Night) -> list[Night]:
    """Return the nights that this one may be compared with, all runs before it taken in."""
    take_in(store, but=night.run_id)
    return list(store.nights(NIGHTS_BACK, before=night))


@contextmanager
def _rarely_collected() -> Iterator[Callable[[], int]]:
    """Yield what collects cyclic garbage of the block; it is not collected at other times.

    Trials are many small objects without cycles: looking through all of them again and again takes
    as long as reading them. So does looking through what was there before.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield gc.collect
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _morning(store: Store, night: Night, history: Sequence[Night]) -> Morning:
    from quality.history import morning_of

    return morning_of(night, history, store.confirmations(night.run_id))
