"""Prune: old runs are removed with their rows, artifacts and pages; what is needed stays."""

import shutil
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import closing
from datetime import UTC, datetime

from flows.config import Settings
from flows.locks import forget_lock, is_worked_on, run_lock, upkeep_lock
from flows.site import write_gone_page
from flows.upkeep.links import linked_runs
from flows.upkeep.sizes import folder_bytes
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.schema.base import Value
from taskdata.schema.retention import KeepRule, kept_by, with_needed
from taskdata.schema.run import Run
from taskdata.store import Store


class RunToRemove(Value):
    """A run that a prune removes."""

    id: str
    created_at: datetime | None
    """None of a run that an earlier prune has begun to remove."""
    trials: int
    page_bytes: int
    """Of its folder of pages in this home."""


class PrunePlan(Value):
    """What a prune removes, and why the other runs stay."""

    runs: tuple[RunToRemove, ...]
    kept: dict[str, int]
    """Runs that stay, by reason."""
    artifacts: int
    """Files that nothing else refers to, or nothing at all."""
    artifact_bytes: int
    young: int = 0
    """Of these, files that were written within a day: they and their runs' rows go later."""
    young_bytes: int = 0

    @property
    def page_bytes(self) -> int:
        """Of all folders of pages together."""
        return sum(run.page_bytes for run in self.runs)


class PruneReport(Value):
    """What a prune has done."""

    plan: PrunePlan
    removed: tuple[str, ...]
    """Ids of the runs that are gone."""
    waiting: tuple[str, ...]
    """Ids of runs that nobody finds any more, and that a prune in a day removes altogether."""
    busy: tuple[str, ...]
    """Ids of runs that stay because a process has taken them up meanwhile."""


def plan_prune(
    settings: Settings, rule: KeepRule, *, unfinished: bool = False, now: datetime | None = None
) -> PrunePlan:
    """Return what a prune would remove; nothing is changed.

    Args:
        settings: Of this installation.
        rule: Which runs stay.
        unfinished: Whether runs that did not complete may go, with the replies they paid for.
        now: From which ages are counted; None: the present.

    Raises:
        Misuse: if the rule says nothing.
    """
    if not rule.says_something:
        raise Misuse(
            "say which runs are old: --older-than 30d, --keep 60, or both; or set older_than and "
            "keep under [retention] in nightshift.toml"
        )
    at = now or datetime.now(UTC)
    with closing(Store.open(settings.address)) as store:
        runs = store.runs()
        kept = _kept(settings, store, rule, runs, at, unfinished=unfinished)
        going = [run for run in runs if run.id not in kept]
        going += _confirming(store, [run.id for run in runs if run.id in kept])
        begun = store.being_removed()
        ids = [*(run.id for run in going), *begun]
        trials = store.count_trials(ids)
        room = store.room_of(store.unneeded_artifacts(ids), at)
    dates = {run.id: run.created_at for run in going}
    return PrunePlan(
        runs=tuple(
            RunToRemove(
                id=run_id,
                created_at=dates.get(run_id),
                trials=trials.get(run_id, 0),
                page_bytes=folder_bytes(settings.run_folder(run_id)),
            )
            for run_id in ids
        ),
        kept=dict(Counter(kept.values()).most_common()),
        artifacts=room.artifacts,
        artifact_bytes=room.size_bytes,
        young=room.young,
        young_bytes=room.young_bytes,
    )


def prune(
    settings: Settings, rule: KeepRule, *, unfinished: bool = False, now: datetime | None = None
) -> PruneReport:
    """Remove what `plan_prune` names; what an interrupted prune has left is removed, too.

    Raises:
        Misuse: if the rule says nothing, or another prune or a backup is at work.
        StoreUnavailable: if something cannot be removed; the next prune goes on.
    """
    from flows.history import take_in

    at = now or datetime.now(UTC)
    with upkeep_lock(settings), closing(Store.open(settings.address)) as store:
        # Trends keep the nights of runs that are gone.
        take_in(store)
        plan = plan_prune(settings, rule, unfinished=unfinished, now=at)
        busy = [run.id for run in plan.runs if run.created_at and not _begun(settings, store, run)]
        for run_id in store.being_removed():
            _remove_pages(settings, run_id, is_listed=store.night(run_id) is not None)
        unneeded = store.unneeded_artifacts(store.being_removed())
        removed = store.remove_rows(store.remove_artifacts(unneeded, at))
        for run_id in removed:
            forget_lock(settings, run_id)
        if removed:
            store.compact()
        return PruneReport(
            plan=plan,
            removed=tuple(removed),
            waiting=tuple(store.being_removed()),
            busy=tuple(busy),
        )


def _kept(
    settings: Settings,
    store: Store,
    rule: KeepRule,
    runs: Sequence[Run],
    now: datetime,
    *,
    unfinished: bool,
) -> dict[str, str]:
    """Return by id why runs stay."""
    by_rule = _with_sources(kept_by(rule, runs, now), runs)
    old = {run.id for run in runs}.difference(by_rule)
    needed = {
        "a process is at work on them": [i for i in sorted(old) if is_worked_on(settings, i)],
        "not completed: --unfinished": [] if unfinished else store.unfinished_runs(),
        "something else in the store refers to them": store.runs_in_use(),
        "pages of runs that stay link to them": linked_runs(settings.home, by_rule, old),
    }
    return _with_sources(with_needed(by_rule, old, needed), runs)


def _with_sources(reasons: dict[str, str], runs: Sequence[Run]) -> dict[str, str]:
    """Return why runs stay, with the rescorings of those that do."""
    kept = dict(reasons)
    for run in reversed(runs):  # the oldest first: a rescoring may be scored again
        if run.config.rescores in kept:
            kept.setdefault(run.id, "the run that they score again stays")
    return kept


def _begun(settings: Settings, store: Store, run: RunToRemove) -> bool:
    """Mark the run as being removed, unless a process works on it."""
    try:
        with run_lock(settings, run.id):
            store.begin_removing([run.id])
    except Misuse:
        return False
    return True


def _confirming(store: Store, staying: Collection[str]) -> list[Run]:
    """Return the re-runs that confirm no run which stays, finished or not: nothing resumes them."""
    return [
        store.run(again)
        for again, confirmed in sorted(store.confirming_runs().items())
        if confirmed not in staying
    ]


def _remove_pages(settings: Settings, run_id: str, *, is_listed: bool) -> None:
    """Remove the folder of a run's pages; pages over all nights then find one that says so."""
    folder = settings.run_folder(run_id)
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as exc:
        raise StoreUnavailable(f"{folder}: cannot be removed: {exc.strerror}") from exc
    if is_listed and settings.site_folder.is_dir():
        write_gone_page(settings, run_id)
