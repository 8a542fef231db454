"""Commands that do the work: run, stage, serve."""

import importlib
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import given, takes
from flows.cli.runs.options import RunOptions, new_config
from taskdata.errors import Misuse, NightshiftError

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.run import Run, RunConfig


@takes(RunOptions)
def run(
    options: RunOptions,
    resume: Annotated[
        str | None, typer.Option(help="Carry on this run, or `latest`: do only what is missing.")
    ] = None,
    keep_server: Annotated[
        bool, typer.Option("--keep-server", help="Leave the Prefect server to `serve --stop`.")
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what it would use, and start nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The estimate for programs.")] = False,
) -> None:
    """Evaluate agents over a bank, from the tasks to the dashboard.

    The table `run` of nightshift.toml changes the defaults.
    """
    from flows.cli.runs.estimating import show_estimate
    from flows.config import load_settings
    from stages.prepare.select import new_run_id

    settings = load_settings()
    if as_json and not estimate:
        raise Misuse("--json goes with --estimate; `nightshift results --json` shows a run")
    if resume is not None:
        _require_alone(options, estimate)
        run_id, config = _carried_on(settings, resume, options.max_usd)
        _night(settings, run_id, config, keep_server)
        return
    config = new_config(settings, options)
    if estimate:
        show_estimate(settings, config, as_json)
        return
    _require_ready(settings, config)
    _night(settings, new_run_id(), config, keep_server)


def _require_alone(options: RunOptions, estimate: bool) -> None:
    if estimate or given(options).keys() - {"max_usd"}:
        raise Misuse(
            "--resume carries a run on as it was configured; besides it goes only --max-usd"
        )


def _carried_on(settings: "Settings", name: str, max_usd: float | None) -> "tuple[str, RunConfig]":
    """Return id and configuration of a run that is there, with another limit if one is given."""
    from taskdata.store import Store

    store = Store.open(settings.address)
    run_id = store.latest_run().id if name == "latest" else name
    if max_usd is not None:
        store.set_max_usd(run_id, max_usd)
    config = store.run(run_id).config
    store.close()
    return run_id, config


def _require_ready(settings: "Settings", config: "RunConfig") -> None:
    from environments.models.registry import require_limited
    from stages.prepare.work import require
    from taskdata.banks.found import find_bank
    from taskdata.store import Store

    store = Store.open(settings.address)
    find_bank(store, config.bank, config.tasks)
    store.close()
    require_limited(config.limits)
    require(config)


def _night(settings: "Settings", run_id: str, config: "RunConfig", keep_server: bool) -> None:
    from flows.cli.watching import watched
    from flows.locks import run_lock
    from flows.serving.prefect_server import opening_line, prefect_server, ui_url

    afterwards = _afterwards(keep_server)
    with run_lock(settings, run_id), ExitStack() as workers:
        console.say(f"Run {run_id}: {len(config.agents)} agents on bank {config.bank}")
        console.say(opening_line())
        begin = partial(_begin, settings, run_id, config, workers)
        with (
            prefect_server(
                settings.home, settings.prefect_port, keep=keep_server, meanwhile=begin
            ) as api,
            # They end before the server, which gets their last words.
            workers,
        ):
            console.say(f"Prefect UI: {ui_url(api)}")
            failure = None
            with watched():
                try:
                    _evaluate(run_id, config)
                except NightshiftError as exc:
                    failure = exc
            _closing_lines(settings, run_id, ui_url(api) + afterwards)
    if failure is not None:
        resume = f"`nightshift run --resume {run_id}` carries it on"
        raise NightshiftError(f"{failure} ({resume})")


def _begin(settings: "Settings", run_id: str, config: "RunConfig", workers: ExitStack) -> None:
    """Import what the night needs first, and start its workers."""
    from flows.workers.runners import cluster
    from quality.gates import still_holds
    from quality.suites.tasks import TASKS
    from taskdata.store import Store

    importlib.import_module("flows.nightly")
    store = Store.open(settings.address)
    if not still_holds(store.gates(run_id), TASKS):
        importlib.import_module("great_expectations")
    store.close()
    workers.enter_context(cluster(settings, config.workers))


def _evaluate(run_id: str, config: "RunConfig") -> None:
    from flows.nightly import nightly_evaluation
    from flows.stage_flows import holds_run

    token = holds_run.set(True)
    try:
        nightly_evaluation(config=config.model_dump(mode="json"), run_id=run_id, in_process=True)
    finally:
        holds_run.reset(token)


def _afterwards(keep_server: bool) -> str:
    """Return what becomes of the Prefect server that is about to be used."""
    from flows.serving.prefect_server import given_server

    if given_server() is not None:
        return ""
    if keep_server:
        return " (`nightshift serve --stop` ends it)"
    return " (stopped now; `nightshift serve` shows this run again)"


def _closing_lines(settings: "Settings", run_id: str, ui: str) -> None:
    from flows.summaries import headline, summary_of
    from taskdata.store import Store

    store = Store.open(settings.address)
    if store.find_run(run_id) is None:
        return
    summary = summary_of(store, run_id)
    store.close()
    console.table(headline(summary), title=f"Run {run_id}: {summary.run.status}")
    if summary.run.dashboard:
        console.say(f"Run:       {run_id}")
        console.say(f"Dashboard: {summary.run.dashboard}")
    console.say(f"Prefect UI: {ui}")


def stage(
    name: Annotated[str, typer.Argument(help="prepare, execute, score, diagnose, refine, ...")],
    run_id: Annotated[str, typer.Option("--run", help="The run; default: the latest.")] = "",
    round_: Annotated[int, typer.Option("--round", help="Refinement round.")] = 0,
    gate: Annotated[str, typer.Option(help="For stage gate: tasks or scores.")] = "tasks",
) -> None:
    """Run one stage of a run again: only what is missing is done."""
    from flows.cli.watching import watched
    from flows.config import load_settings
    from flows.serving.prefect_server import prefect_server
    from taskdata.store import Store

    settings = load_settings()
    _require_stage(name)
    store = Store.open(settings.address)
    found = store.run(run_id) if run_id else store.latest_run()
    store.close()
    parameters: dict[str, str | int] = {"run_id": found.id}
    if name == "gate":
        parameters["gate"] = gate
    elif name not in ("prepare", "publish"):
        _require_round(found, name, round_)
        parameters["round"] = round_
    with prefect_server(settings.home, settings.prefect_port), watched():
        from flows.stage_flows import STAGE_FLOWS

        STAGE_FLOWS[name](**parameters)


def _require_stage(name: str) -> None:
    from flows.stage_names import STAGES

    if name not in STAGES:
        raise Misuse(f"stage {name!r} is unknown; there are {', '.join(STAGES)}")


def _require_round(run: "Run", stage_name: str, round_: int) -> None:
    first, rounds = 1 if stage_name == "refine" else 0, run.config.refinement_rounds
    if not first <= round_ <= rounds:
        raise Misuse(
            f"run {run.id} has no round {round_} to {stage_name}: it was set up with {rounds} "
            "refinement rounds"
        )


def serve(
    port: Annotated[int | None, typer.Option(help="Port of the Prefect server.")] = None,
    stop: Annotated[
        bool, typer.Option("--stop", help="End what `run --keep-server` left, and serve nothing.")
    ] = False,
) -> None:
    """Serve the Prefect UI, the nightly deployment on its schedule, and every stage."""
    from flows.config import load_settings
    from flows.serving.prefect_server import (
        given_server,
        let_go,
        opening_line,
        prefect_server,
        ui_url,
    )

    settings = load_settings()
    if stop:
        was_kept = let_go(settings.home)
        console.say(
            "The Prefect server ends once no command uses it"
            if was_kept
            else "No Prefect server was kept"
        )
        return
    if port is not None and given_server() is not None:
        raise Misuse("--port is of the local Prefect server, and PREFECT_API_URL names yours")
    Path(settings.home).mkdir(parents=True, exist_ok=True)
    console.say(opening_line())
    with prefect_server(settings.home, port or settings.prefect_port) as api:
        from flows.serving.deployments import serve_deployments
        from flows.serving.schedule import nightly_schedule

        nightly_schedule(settings.schedule, settings.schedule_timezone)
        console.say(f"Prefect UI: {ui_url(api)}")
        when = f"{settings.schedule!r} (cron, {settings.schedule_timezone})"
        console.say(f"Nightly at {when}. Ctrl-C stops serving.")
        serve_deployments(settings)
