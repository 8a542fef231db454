"""Commands that do the work: run, stage, serve."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from taskdata.errors import Misuse, NightshiftError

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.run import RunConfig


def run(
    bank: Annotated[
        str | None, typer.Option(help="Bundled bank, folder of tasks, or release.")
    ] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; repeatable.")] = None,
    sample: Annotated[
        int | None, typer.Option(help="Only so many tasks of each category, always the same ones.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="reference, nop, harness:provider/model, or a label of yours; repeatable."
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="end-to-end, or step-by-step: predict the next step of the reference."),
    ] = None,
    import_: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            help="NAME=PATH: score a system's results, a folder or a GTA eval pack; repeatable.",
        ),
    ] = None,
    import_root: Annotated[
        Path | None,
        typer.Option(help="Folder that file paths in eval packs start from; default: the pack's."),
    ] = None,
    repetitions: Annotated[int | None, typer.Option(help="Trials per agent and task.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Refinement rounds after the first.")] = None,
    feedback: Annotated[str | None, typer.Option(help="checkpoint or coarse.")] = None,
    sandbox: Annotated[str | None, typer.Option(help="bubblewrap or docker.")] = None,
    judge: Annotated[str | None, typer.Option(help="provider/model that scores rubrics.")] = None,
    tool_model: Annotated[
        str | None, typer.Option(help="provider/model behind tools that look at pictures.")
    ] = None,
    image_model: Annotated[
        str | None, typer.Option(help="provider/model behind tools that draw pictures.")
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="serper, tavily or corpus: what search tools ask.")
    ] = None,
    search_corpus: Annotated[
        str | None, typer.Option(help="Folder of documents, for --search corpus.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Dask worker processes.")] = None,
    trials_per_worker: Annotated[
        int | None, typer.Option(help="Trials in flight at once in each worker.")
    ] = None,
    replies: Annotated[
        str | None,
        typer.Option(
            help="ask models (default), keep: equal questions once, or replay what is kept."
        ),
    ] = None,
    max_usd: Annotated[
        float | None,
        typer.Option(help="What agents' models may cost together; no call of theirs goes beyond."),
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="Carry on this run: do only what is missing.")
    ] = None,
    keep_server: Annotated[
        bool, typer.Option("--keep-server", help="Leave the Prefect server running.")
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what it would use, and start nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The estimate for programs.")] = False,
) -> None:
    """Evaluate agents over a bank, from the tasks to the dashboard."""
    from flows.cli.estimating import show_estimate
    from flows.config import load_settings, run_config
    from stages.prepare.select import new_run_id
    from stages.prepare.work import require
    from taskdata.banks.found import find_bank
    from taskdata.store import Store

    settings = load_settings()
    if as_json and not estimate:
        raise Misuse("--json goes with --estimate; `nightshift results --json` shows a run")
    if resume is None:
        config = run_config(
            settings,
            bank=bank,
            tasks=tuple(task) if task else None,
            sample=sample,
            agents=_agents(agent, import_, import_root),
            repetitions=repetitions,
            refinement_rounds=rounds,
            feedback=feedback,
            sandbox=sandbox,
            judge=_model(judge),
            tool_model=tool_model,
            image_model=image_model,
            search=search,
            search_corpus=search_corpus,
            workers=workers,
            trials_per_worker=trials_per_worker,
            replies=replies,
            max_usd=max_usd,
        )
        config = _in_mode(config, mode)
        if estimate:
            show_estimate(settings, config, as_json)
            return
        store = Store.open(settings.address)
        find_bank(store, config.bank, config.tasks)
        store.close()
        require(config)
        _night(settings, new_run_id(), config, keep_server)
        return
    changes = (
        bank,
        task,
        sample,
        agent,
        import_,
        import_root,
        mode,
        repetitions,
        rounds,
        feedback,
        sandbox,
        judge,
        replies,
        workers,
        trials_per_worker,
    )
    services = (tool_model, image_model, search, search_corpus)
    if estimate or any(change is not None for change in (*changes, *services)):
        raise Misuse(
            "--resume carries a run on as it was configured; besides it goes only --max-usd"
        )
    store = Store.open(settings.address)
    if max_usd is not None:
        store.set_max_usd(resume, max_usd)
    config = store.run(resume).config
    store.close()
    _night(settings, resume, config, keep_server)


def _agents(
    names: list[str] | None, imports: list[str] | None, root: Path | None
) -> tuple[str | dict[str, str], ...] | None:
    """Return the agents as the run's configuration takes them; None: its defaults."""
    found: list[str | dict[str, str]] = list(names or ())
    for text in imports or ():
        label, equals, path = text.partition("=")
        if not (label and equals and path):
            raise Misuse(f"--import {text!r}: expected NAME=PATH, such as manus=./manus-results")
        agent = {"harness": "import", "label": label, "results": path}
        found.append(agent | ({} if root is None else {"results_root": str(root)}))
    if root is not None and not imports:
        raise Misuse("--import-root: says where the files of an --import are; there is none")
    return tuple(found) or None


def _in_mode(config: "RunConfig", mode: str | None) -> "RunConfig":
    from stages.execute.harness import in_mode

    if mode is None:
        return config
    return config.model_copy(update={"agents": tuple(in_mode(a, mode) for a in config.agents)})


def _model(name: str | None) -> dict[str, str] | None:
    from taskdata.schema.agent import ModelSpec

    return None if name is None else ModelSpec.parse(name).model_dump()


def _night(settings: "Settings", run_id: str, config: "RunConfig", keep_server: bool) -> None:
    from flows.cli.watching import watched
    from flows.locks import run_lock
    from flows.prefect_server import prefect_server, ui_url

    with run_lock(settings.home, run_id):
        console.say(f"Run {run_id}: {len(config.agents)} agents on bank {config.bank}")
        console.say("Starting the local Prefect server (a minute on a first start) ...")
        with prefect_server(settings.home, settings.prefect_port, keep=keep_server) as api:
            console.say(f"Prefect UI: {ui_url(api)}")
            failure = None
            with watched():
                try:
                    _evaluate(run_id, config)
                except NightshiftError as exc:
                    failure = exc
            _closing_lines(settings, run_id, ui_url(api), keep_server)
    if failure is not None:
        resume = f"`nightshift run --resume {run_id}` carries it on"
        raise NightshiftError(f"{failure} ({resume})")


def _evaluate(run_id: str, config: "RunConfig") -> None:
    from flows.nightly import nightly_evaluation
    from flows.stage_flows import holds_run

    token = holds_run.set(True)
    try:
        nightly_evaluation(config=config.model_dump(mode="json"), run_id=run_id, in_process=True)
    finally:
        holds_run.reset(token)


def _closing_lines(settings: "Settings", run_id: str, ui: str, keep_server: bool) -> None:
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
    again = "" if keep_server else " (stopped now; `nightshift serve` shows this run again)"
    console.say(f"Prefect UI: {ui}{again}")


def stage(
    name: Annotated[str, typer.Argument(help="prepare, execute, score, diagnose, refine, ...")],
    run_id: Annotated[str, typer.Option("--run", help="The run; default: the latest.")] = "",
    round_: Annotated[int, typer.Option("--round", help="Refinement round.")] = 0,
    gate: Annotated[str, typer.Option(help="For stage gate: tasks or scores.")] = "tasks",
) -> None:
    """Run one stage of a run again: only what is missing is done."""
    from flows.cli.watching import watched
    from flows.config import load_settings
    from flows.prefect_server import prefect_server
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
        parameters["round"] = round_
    with prefect_server(settings.home, settings.prefect_port), watched():
        from flows.stage_flows import STAGE_FLOWS

        STAGE_FLOWS[name](**parameters)


def _require_stage(name: str) -> None:
    from flows.stage_names import STAGES

    if name not in STAGES:
        raise Misuse(f"stage {name!r} is unknown; there are {', '.join(STAGES)}")


def serve(
    port: Annotated[int | None, typer.Option(help="Port of the Prefect server.")] = None,
) -> None:
    """Serve the Prefect UI, the nightly deployment on its schedule, and every stage."""
    from flows.config import load_settings
    from flows.prefect_server import prefect_server, ui_url

    settings = load_settings()
    Path(settings.home).mkdir(parents=True, exist_ok=True)
    console.say("Starting the local Prefect server (a minute on a first start) ...")
    with prefect_server(settings.home, port or settings.prefect_port) as api:
        from flows.deployments import serve_deployments

        console.say(f"Prefect UI: {ui_url(api)}")
        console.say(f"Nightly at {settings.schedule!r} (cron). Ctrl-C stops serving.")
        serve_deployments(settings)
