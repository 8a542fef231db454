"""Writing the site: every page that the nights given change, and no other."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dashboards.index import ListedJudge, ListedLabeller, ListedRelease
from dashboards.pages.distributions import distributions
from dashboards.site.document import Link, Site, morning_page, task_page
from dashboards.site.failing import cluster_rows, failure_drawings
from dashboards.site.history import History, NightRow, gather
from dashboards.site.leaderboard import leaderboard_drawings
from dashboards.site.morning import morning_context, morning_drawings
from dashboards.site.task_pages import (
    MOST_ROWS,
    list_drawings,
    task_context,
    task_drawings,
    task_rows,
)
from dashboards.site.task_records import TaskRecord
from dashboards.site.trends import trend_drawings
from taskdata.schema.failures import RunFailures
from taskdata.schema.night import Morning, Night
from taskdata.schema.ranking import controls, standings
from taskdata.schema.summary import RunSummary


class Written(NamedTuple):
    """What writing the site has done."""

    page: Path
    """This morning's."""
    pages: int
    """Written anew."""
    kept: int
    """As they were."""
    largest: int
    """Bytes of the largest page."""


def write_site(
    folder: Path,
    nights: Iterable[Night],
    mornings: Mapping[str, Morning],
    summary: RunSummary | None = None,
    releases: Sequence[ListedRelease] = (),
    records: Mapping[str, TaskRecord] | None = None,
    judges: Sequence[ListedJudge] = (),
    labellers: Sequence[ListedLabeller] = (),
    failures: RunFailures | None = None,
) -> Written:
    """Write the site of a store; pages that would be the same are left as they are.

    Args:
        folder: Of the site: beside `runs/` and `banks/`, to which it links.
        nights: All of them, oldest first; each is read once and let go.
        mornings: What nights mean, by run id, of all nights whose pages are to be written; those
            of other nights stay as they are.
        summary: The latest night's numbers, for the leaderboard; None: that page says so.
        releases: Those that have a page.
        records: What is on record of tasks, by their ids.
        judges: Those whose cards have a page, in `judges/` beside `runs/`.
        labellers: Those of failures whose cards have a page there.
        failures: Why first attempts of the latest night failed; None: labels are not told by
            groups.

    Raises:
        KeyError: if a morning is of no night.
    """
    history = gather(nights)
    site = Site(folder)
    site.write_assets()
    _write_mornings(site, history, mornings, judges)
    latest = mornings.get(history.nights[-1].run_id) if history.nights else None
    _write_overviews(site, history, summary, latest, failures)
    _write_tasks(site, history, releases, records or {})
    listed = [*history.nights, *history.confirming]
    listed.sort(key=lambda night: night.created_at, reverse=True)
    has_morning = {night.run_id for night in listed if site.has(morning_page(night.run_id))}
    runs = folder.parent / "runs"
    has_run = {n.run_id for n in listed if (runs / n.run_id / "dashboard.html").is_file()}
    context = {
        "nights": listed,
        "has_morning": has_morning,
        "has_run": has_run,
        "releases": releases,
        "judges": judges,
        "labellers": labellers,
    }
    site.write("nights.html", "nights.html", context)
    return Written(folder / "index.html", site.written, site.kept, site.largest)


def _write_mornings(
    site: Site,
    history: History,
    mornings: Mapping[str, Morning],
    judges: Sequence[ListedJudge],
) -> None:
    for run_id, morning in mornings.items():
        context, drawings = morning_context(history, morning), morning_drawings(history, morning)
        context |= {"judges": judges, "data_docs": _data_docs(site, context["night"])}
        site.write(morning_page(run_id), "morning.html", context, drawings)
    latest = history.nights[-1].run_id if history.nights else None
    if latest is None:
        site.write("index.html", "no_night.html", {})
    elif latest in mornings:
        context = morning_context(history, mornings[latest])
        context |= {"judges": judges, "data_docs": _data_docs(site, context["night"])}
        drawings = morning_drawings(history, mornings[latest])
        site.write("index.html", "morning.html", context, drawings)


def _data_docs(site: Site, night: NightRow) -> list[str]:
    """Return the gates of a night whose Data Docs are beside the page of its run."""
    return [g for g in night.gates if site.has(f"../runs/{night.run_id}/gates/{g}.html")]


def _write_overviews(
    site: Site,
    history: History,
    summary: RunSummary | None,
    morning: Morning | None,
    failures: RunFailures | None,
) -> None:
    common: dict[str, Any] = {"styles": history.styles, "nights": history.nights}
    site.write("trends.html", "trends.html", common, trend_drawings(history))
    context = {**common, "clusters": cluster_rows(history), "distributions": []}
    if failures is not None and history.latest is not None:
        page = Link().run(history.latest.run_id)
        context["distributions"] = distributions(failures, list(history.styles), page)
    site.write("failures.html", "failures.html", context, failure_drawings(history, summary))
    pooled = () if morning is None else morning.categories
    board = {} if summary is None else leaderboard_drawings(history, summary, pooled)
    context = {
        **common,
        "summary": summary,
        "standings": () if summary is None else standings(summary),
        "controls": () if summary is None else controls(summary.agents),
    }
    site.write("leaderboard.html", "leaderboard.html", context, board)


def _write_tasks(
    site: Site,
    history: History,
    releases: Sequence[ListedRelease],
    records: Mapping[str, TaskRecord],
) -> None:
    rows = task_rows(history)
    context: dict[str, Any] = {"rows": rows[:MOST_ROWS], "left_out": max(0, len(rows) - MOST_ROWS)}
    site.write("tasks.html", "tasks.html", context, list_drawings(history, rows[:MOST_ROWS]))
    known = {f"{release.bank}@{release.version}": release for release in releases}
    for task_id, task in history.tasks.items():
        context = task_context(history, task)
        context["release"] = known.get(context["bank"])
        context |= {"record": records.get(task_id, TaskRecord()), "with_page": known}
        site.write(task_page(task_id), "task.html", context, task_drawings(history, task))
