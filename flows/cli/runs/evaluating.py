"""A run that a command begins or carries on, from its first stage to its dashboard."""

import importlib
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

from flows.cli import console
from flows.cli.interruption import interruptible
from flows.cli.runs.verdicts import require_evaluated, require_score, what_helps
from taskdata.errors import NightshiftError

if TYPE_CHECKING:
    from flows.config import Settings
    from flows.progress import Progress
    from taskdata.schema.run import RunConfig


def evaluate(
    settings: "Settings",
    run_id: str,
    config: "RunConfig",
    *,
    keep_server: bool = False,
    as_json: bool = False,
) -> None:
    """Do all stages of a run that are still to be done, and write its scores.

    Raises:
        NightshiftError: if the run failed; says what to do about it.
    """
    from flows.cli.watching import figures_of, watched
    from flows.locks import run_lock
    from flows.serving.dashboards import dashboard_url
    from flows.serving.prefect_server import opening_line, prefect_server, ui_line

    stays, afterwards = _afterwards(settings, keep_server)
    advice = f"`nightshift run --resume {run_id}` does the rest"
    say = _silent if as_json else console.say
    with run_lock(settings, run_id), interruptible(advice), ExitStack() as workers:
        say(_title(run_id, config))
        say(opening_line())
        begin = partial(_begin, settings, run_id, config, workers)
        with (
            prefect_server(
                settings.home,
                settings.prefect_port,
                dashboard_port=settings.dashboard_port,
                keep=keep_server,
                meanwhile=begin,
            ) as api,
            # They end before the server, which gets their last words.
            workers,
        ):
            say(ui_line(settings.home, api))
            failure, figures = None, figures_of(settings, run_id, config)
            with watched(quiet=as_json, figures=figures) as progress:
                try:
                    _evaluate(settings, run_id, config, progress)
                except NightshiftError as exc:
                    failure = exc
            page = dashboard_url(run_id) if stays else None
            ui = ui_line(settings.home, api) + afterwards
            close(settings, run_id, page, ui, as_json=as_json)
    if failure is not None:
        raise NightshiftError(f"{failure} ({what_helps(settings, run_id)})")


def tell_verdict(settings: "Settings", run_id: str, fail_under: float | None = None) -> None:
    """End with the exit code that says whether everything was evaluated, and well enough."""
    from flows.summaries import summary_of
    from taskdata.store import Store

    with closing(Store(settings.address)) as store:
        summary = summary_of(store, run_id)
    retry = f"`nightshift run --resume {run_id}`"
    if summary.run.rescores:
        retry += f", after {summary.run.rescores} if that run lost them,"
    require_evaluated(summary, retry=retry)
    require_score(summary, fail_under)


def _silent(_text: str) -> None:
    """Say nothing: a program reads what is written."""


def _title(run_id: str, config: "RunConfig") -> str:
    if config.rescores:
        return f"Run {run_id}: scores run {config.rescores} again"
    return f"Run {run_id}: {len(config.agents)} agents on bank {config.bank}"


def _begin(settings: "Settings", run_id: str, config: "RunConfig", workers: ExitStack) -> None:
    """Import what the night needs first, and start its workers."""
    from flows.workers.clusters import cluster
    from quality.gates import still_holds
    from quality.loading import load_great_expectations
    from quality.suites.tasks import rules_for
    from taskdata.schema.gate import TASKS
    from taskdata.store import Store

    importlib.import_module("flows.nightly")
    store = Store.open(settings.address)
    if not still_holds(store.gates(run_id), TASKS, rules_for(config, settings.gates.tasks)):
        load_great_expectations()
    store.close()
    workers.enter_context(cluster(settings, config.workers))


def _evaluate(settings: "Settings", run_id: str, config: "RunConfig", progress: "Progress") -> None:
    from flows.caller import calling
    from flows.nightly import nightly_evaluation
    from stages.prepare.select import select
    from taskdata.store import Store

    store = Store.open(settings.address)
    select(store, config, run_id)
    store.close()
    with calling(holds_run=True, progress=progress):
        nightly_evaluation(run_id=run_id)


def _afterwards(settings: "Settings", keep_server: bool) -> tuple[bool, str]:
    """Return whether our own servers keep running after this command, and the message about it."""
    from flows.locks import is_served
    from flows.serving.prefect_server import given_server, is_kept

    if given_server() is not None:
        return False, ""
    if keep_server or is_kept(settings.home):
        return True, " (`nightshift serve --stop` ends it)"
    if is_served(settings.home):
        return True, ""
    return False, " (stopped now; `nightshift serve` shows this run again)"


def close(
    settings: "Settings", run_id: str, page: str | None, ui: str, *, as_json: bool = False
) -> None:
    """Write the scores of a run that is over, and where they are to be seen."""
    from flows.cli.runs.reading import write_details, write_scores
    from flows.summaries import summary_of
    from taskdata.store import Store

    store = Store.open(settings.address)
    found = store.find_run(run_id)
    if found is None:
        return
    summary = summary_of(store, run_id)
    store.close()
    if as_json:
        console.write_json(summary.model_dump(mode="json"))
        return
    write_scores(found, summary)
    write_details(summary)
    if summary.run.dashboard:
        console.say(f"Run:       {run_id}")
        console.say(f"Dashboard: {page or summary.run.dashboard}")
    console.say(ui)
