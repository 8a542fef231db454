"""The pages over all nights, written from the nights and mornings of the store."""

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from filelock import FileLock

from flows.agreement.cards import listed_judges
from flows.agreement.label_cards import listed_labellers
from flows.agreement.standing import judge_notice
from flows.config import Settings
from flows.failures import failures_of
from flows.serving.dashboards import listed_releases
from flows.summaries import summary_of
from taskdata.private_files import private_folder
from taskdata.schema.failures import RunFailures
from taskdata.schema.night import Morning
from taskdata.schema.summary import RunSummary
from taskdata.store import Store

if TYPE_CHECKING:
    from dashboards.site.task_records import TaskRecord
    from dashboards.site.write import Written

_RELEASES_READ = 20
"""Newest releases whose notes are looked through for where tasks come from."""
_GONE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Run {run}</title>
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<p>Run {run} was removed by <code>nightshift prune</code>: its trials are gone, its night is still
in the <a href="../../site/trends.html">trends</a>.</p></html>
"""


def write_nights(
    settings: Settings,
    store: Store,
    run_ids: Iterable[str],
    summary: RunSummary | None = None,
    failures: RunFailures | None = None,
) -> "Written":
    """Write the pages that these published runs change; those of other nights stay as they are.

    Args:
        settings: Where the site is.
        store: Where all nights are.
        run_ids: Whose mornings are to be written, beside the latest.
        summary: Numbers of a run, so that they need not be made again.
        failures: Why that run's first attempts failed, likewise.
    """
    from dashboards.site.write import write_site

    private_folder(settings.home)
    # Two nights that end at once must not write, each, what the other has not.
    with FileLock(settings.home.resolve() / "site.lock"):
        published = store.runs_with_a_morning()
        wanted = sorted({*run_ids, *published[:1]})
        there = {run.id for run in store.runs()}
        for run_id in published:
            if run_id not in there:
                write_gone_page(settings, run_id)
        latest = _latest(store, published, summary)
        if latest is not None and (failures is None or latest is not summary):
            failures = failures_of(store, store.run(latest.run.id))
        return write_site(
            settings.site_folder,
            store.nights(oldest_first=True),
            {run_id: _told(settings, store, run_id) for run_id in wanted},
            latest,
            listed_releases(settings.home),
            _records(store, published[0]) if published else None,
            listed_judges(settings, store),
            listed_labellers(settings, store),
            None if latest is None else failures,
        )


def _told(settings: Settings, store: Store, run_id: str) -> Morning:
    """Return what a night meant, with what is known of its judge by now."""
    notice = judge_notice(store, run_id, settings.agreement)
    cards = tuple(card.judge for card in listed_judges(settings, store, run_id))
    told = {"judge_notice": notice, "judge_cards": cards}
    return store.morning(run_id).model_copy(update=told)


def write_all(settings: Settings, store: Store) -> "Written":
    """Write every page, after runs that ended before nights were kept are taken in."""
    from flows.history import take_in

    take_in(store)
    return write_nights(settings, store, store.runs_with_a_morning())


def write_gone_page(settings: Settings, run_id: str) -> None:
    """Write, where the page of a removed run was, that it is gone: pages of nights lead there."""
    page = settings.run_folder(run_id) / "dashboard.html"
    if not page.exists():
        private_folder(page.parent)
        page.write_text(_GONE.format(run=escape(run_id)), encoding="utf-8")


def _latest(store: Store, published: list[str], summary: RunSummary | None) -> RunSummary | None:
    """Return the latest night's numbers; None where its run is no longer in the store."""
    if not published or (summary is not None and summary.run.id == published[0]):
        return summary if published else None
    return None if store.find_run(published[0]) is None else summary_of(store, published[0])


def _records(store: Store, run_id: str) -> "dict[str, TaskRecord]":
    """Return what is on record of the tasks of that night."""
    from dashboards.site.task_records import task_records

    night = store.night(run_id)
    if night is None:
        return {}
    notes = store.release_notes()[:_RELEASES_READ]
    ran = [note for note in notes if note.release_hash == night.settings.release_hash][:1]
    gates = {f"{n.bank}@{n.version}": store.bank_gates(n.refresh_id or n.bank) for n in ran}
    tasks = {}
    if store.find_run(run_id) is not None:
        gates = {run_id: store.gates(run_id), **gates}
        tasks = store.tasks_of_run(run_id)
    provenances = {key: task.provenance for key, task in tasks.items()}
    return task_records(night, provenances, notes, gates)
