"""The command that gives transcripts away: `nightshift export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from taskdata.schema.run import Run
    from taskdata.store import Store


def export(
    format: Annotated[str, typer.Argument(help="atif or otel.")],
    path: Annotated[
        Path | None, typer.Argument(help="A folder for atif, a file of JSON lines for otel.")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run", help="Run whose trials to export; default: the latest.")
    ] = None,
    trial_id: Annotated[str | None, typer.Option("--trial", help="Only this trial.")] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="Send otel to this OTLP/HTTP collector instead of a file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Export transcripts: ATIF trajectories, or OpenTelemetry traces."""
    from flows.config import load_settings
    from taskdata.store import Store
    from taskdata.traces import exporting, otlp, spans
    from taskdata.traces.recorded import recorded_trials

    write = exporting.writer(format)
    if (path is None) == (endpoint is None):
        raise Misuse("give a path, or for otel an --endpoint, and not both")
    if endpoint is not None and format != "otel":
        raise Misuse(f"--endpoint takes format otel; {format} goes to a path")
    store = Store.open(load_settings().address)
    run = _run(store, run_id, trial_id)
    trials = recorded_trials(store, run, trial_id)
    if path is not None:
        count, place = write(trials, path, force=force), str(path)
    else:
        count = otlp.send(map(spans.trace, trials), str(endpoint))
        place = otlp.without_secrets(str(endpoint))
    planned = 1 if trial_id else len(store.trials(run.id))
    if as_json:
        written = {"run": run.id, "format": format, "place": place, "trials": count}
        console.write_json(written | {"without_transcript": planned - count})
        return
    console.say(f"Run {run.id}: transcripts of {count} of {planned} trials are in {place}")
    if count < planned:
        console.say("The others have none: still due, or lost to infrastructure errors")


def _run(store: "Store", run_id: str | None, trial_id: str | None) -> "Run":
    if trial_id is None:
        return store.run(run_id) if run_id else store.latest_run()
    trial = store.trial(trial_id)
    if run_id not in (None, trial.run_id):
        raise Misuse(f"trial {trial_id!r} belongs to run {trial.run_id}, not {run_id}")
    return store.run(trial.run_id)
