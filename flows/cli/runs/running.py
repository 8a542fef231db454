"""Commands that do the work: run, stage, serve."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.interruption import interruptible
from flows.cli.options import given, takes
from flows.cli.runs.evaluating import evaluate, tell_verdict
from flows.cli.runs.options import RunOptions, new_config
from flows.cli.runs.verdicts import FailUnderOption, require_comparable
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.run import Run, RunConfig
    from taskdata.store import Store


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
    fail_under: FailUnderOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The estimate for programs.")] = False,
) -> None:
    """Evaluate agents over a bank, from the tasks to the dashboard.

    The table `run` of nightshift.toml changes the defaults.

    Exit codes: 0 if every trial was evaluated, 1 if the run failed, 2 if it was not asked for
    rightly, 3 if trials were lost to infrastructure errors and have no score, 4 if an agent is
    below --fail-under, 130 after Ctrl-C.
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
        require_comparable(config.agents, fail_under)
        evaluate(settings, run_id, config, keep_server=keep_server)
        tell_verdict(settings, run_id, fail_under)
        return
    config = new_config(settings, options)
    if estimate:
        show_estimate(settings, config, as_json)
        return
    config = _ready(settings, config, options.mode)
    require_comparable(config.agents, fail_under)
    run_id = new_run_id()
    evaluate(settings, run_id, config, keep_server=keep_server)
    tell_verdict(settings, run_id, fail_under)


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


def _ready(settings: "Settings", config: "RunConfig", mode: str | None) -> "RunConfig":
    """Return the configuration with agents in the mode of its tasks, once it can be run here."""
    from environments.models.registry import require_limited
    from flows.config import as_planner
    from stages.prepare.modes import in_mode_of
    from stages.prepare.select import chosen_tasks
    from stages.prepare.work import require
    from taskdata.banks.found import find_bank
    from taskdata.store import Store

    store = Store.open(settings.address)
    config = in_mode_of(find_bank(store, config.bank, config.tasks), config, mode, as_planner)
    if config.tasks:
        chosen_tasks(store, config)
    store.close()
    require_limited(config.limits)
    require(config)
    return config


def stage(
    name: Annotated[str, typer.Argument(help="prepare, execute, score, diagnose, refine, ...")],
    run_id: Annotated[str, typer.Option("--run", help="The run; default: the latest.")] = "",
    round_: Annotated[int, typer.Option("--round", help="Refinement round.")] = 0,
    gate: Annotated[str, typer.Option(help="For stage gate: tasks or scores.")] = "tasks",
    labeller: Annotated[
        str | None,
        typer.Option(
            help="For stage diagnose: provider/model that adds the labels that rules leave open "
            "and becomes the run's labeller; default: the labeller that the run has."
        ),
    ] = None,
) -> None:
    """Run one stage of a run again: only what is missing is done."""
    from flows.cli.watching import watched
    from flows.config import load_settings
    from flows.locks import run_lock
    from flows.serving.prefect_server import prefect_server
    from taskdata.store import Store

    settings = load_settings()
    _require_stage(name)
    store = Store.open(settings.address)
    found = store.run(run_id) if run_id else store.latest_run()
    if labeller is not None:
        _require_labelling(name)
        _set_labeller(settings, store, found, labeller)
    store.close()
    parameters: dict[str, str | int] = {"run_id": found.id}
    if name == "gate":
        parameters["gate"] = gate
    elif name not in ("prepare", "publish"):
        _require_round(found, name, round_)
        parameters["round"] = round_
    advice = "the same command does the rest"
    with (
        run_lock(settings, found.id),
        interruptible(advice),
        prefect_server(
            settings.home, settings.prefect_port, dashboard_port=settings.dashboard_port
        ),
        watched() as progress,
    ):
        from flows.caller import calling
        from flows.stage_flows import STAGE_FLOWS

        with calling(holds_run=True, progress=progress):
            STAGE_FLOWS[name](**parameters)


def _require_stage(name: str) -> None:
    from flows.stage_names import STAGES

    if name not in STAGES:
        raise Misuse(f"stage {name!r} is unknown; there are {', '.join(STAGES)}")


def _require_labelling(stage_name: str) -> None:
    if stage_name != "diagnose":
        raise Misuse(f"--labeller is of stage diagnose; stage {stage_name} labels nothing")


def _set_labeller(settings: "Settings", store: "Store", run: "Run", name: str) -> None:
    """Give a stored run that labeller, with the endpoint that `[run]` names."""
    from environments.models.registry import require_model
    from flows.config import run_config
    from stages.prepare.work import require_fitting_labeller

    named = run_config(settings, labeller=name)
    labeller, base_url = named.labeller, named.labeller_base_url
    if labeller is None:
        raise Misuse(f"--labeller {name!r}: expected provider/model")
    changes = {"labeller": labeller, "labeller_base_url": base_url}
    require_fitting_labeller(run.config.model_copy(update=changes))
    if not run.config.plays_back:
        require_model(labeller, base_url)
    store.set_labeller(run.id, labeller, base_url)


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
    from flows.locks import serve_lock
    from flows.notices.settings import require_addresses
    from flows.serving.dashboards import dashboards_address, dashboards_served
    from flows.serving.prefect_server import (
        given_server,
        let_go,
        opening_line,
        prefect_server,
        ui_line,
        ui_url,
    )
    from flows.serving.tokens import login_file
    from taskdata.private_files import private_folder

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
    require_addresses(settings.notifications)
    private_folder(settings.home)
    is_ours = given_server() is None
    with ExitStack() as serving:
        note_address = serving.enter_context(serve_lock(settings.home))
        console.say(opening_line())
        api = serving.enter_context(
            prefect_server(
                settings.home,
                port or settings.prefect_port,
                dashboard_port=settings.dashboard_port,
            )
        )
        if not is_ours:
            pages = dashboards_served(
                settings.home, settings.dashboard_port, settings.dashboard_host
            )
            serving.enter_context(pages)
        from flows.serving.deployments import serve_deployments
        from flows.serving.schedule import nightly_schedule

        nightly_schedule(settings.schedule, settings.schedule_timezone)
        note_address(ui_url(api))
        console.say(ui_line(settings.home, api))
        login = "the same login" if is_ours else f"login: in {login_file(settings.home)}"
        console.say(f"Dashboards: {dashboards_address()} ({login})")
        when = f"{settings.schedule!r} (cron, {settings.schedule_timezone})"
        console.say(_arrivals(settings))
        console.say(f"Nightly at {when}. Ctrl-C stops serving.")
        serve_deployments(settings)


def _arrivals(settings: "Settings") -> str:
    from flows.config import bank_refreshed_on_arrival

    bank = bank_refreshed_on_arrival(settings)
    if bank is not None:
        return f"Seed files in {settings.inbox} refresh bank {bank}"
    if not settings.refresh_on_arrival:
        return "Seeds that arrive wait for a refresh (refresh_on_arrival = false)"
    return "Seeds that arrive wait for a refresh: [refresh] in nightshift.toml names no model"
