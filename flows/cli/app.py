"""The `nightshift` command and how its errors look."""

import logging
import sys
from typing import Annotated

import typer

from flows.cli import console, doctor, interruption, mcp
from flows.cli.agreement import agreement, annotating
from flows.cli.atomic import scoring
from flows.cli.bank import (
    banks,
    checking,
    contamination,
    discovering,
    exporting,
    proving,
    refreshing,
    releases,
    reviews,
    seeds,
    stopped_candidates,
    stopped_seeds,
    withdrawing,
)
from flows.cli.reviewing import agreeing, deciding, opening
from flows.cli.runs import (
    compare,
    comparing,
    dashboard,
    listing,
    reading,
    rescoring,
    running,
)
from flows.cli.runs import exporting as run_exporting
from flows.cli.trials import showing
from flows.cli.upkeep import backups, pruning
from taskdata.errors import BadTaskData, Misuse, NightshiftError
from taskdata.full_disks import way_out

app = typer.Typer(
    name="nightshift",
    help="Evaluate tool-using agents on real, long-horizon tasks, every night.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(running.run)
app.command("rescore")(rescoring.rescore)
app.command("stage")(running.stage)
app.command("serve")(running.serve)
app.command("runs")(listing.runs)
app.command("results")(reading.results)
app.command("show")(showing.show)
app.command("morning")(comparing.morning)
app.command("compare")(compare.compare)
app.command("agreement")(agreement.agreement)
app.command("annotate")(annotating.annotate)
app.command("report")(reading.report)
app.command("dashboard")(dashboard.dashboard)
app.command("export")(run_exporting.export)
app.command("score-atomic")(scoring.score_atomic)
app.command("doctor")(doctor.doctor)
app.command("prune")(pruning.prune)
app.command("backup")(backups.backup)
app.command("restore")(backups.restore)
app.command("refresh")(refreshing.refresh)
app.command("refreshes")(refreshing.refreshes)
banks.app.command("check")(checking.check)
banks.app.command("check-contamination")(contamination.check_contamination)
banks.app.command("prove")(proving.prove)
banks.app.command("export")(exporting.export)
banks.app.command("diff")(releases.diff)
banks.app.command("release")(releases.release)
banks.app.command("withdraw")(withdrawing.withdraw)
app.add_typer(banks.app, name="bank", help="Look at, exchange and release task banks.")
seeds.app.command("discover")(discovering.discover)
for command in ("show", "edit", "override", "regate", "drop"):
    seeds.app.command(command)(getattr(stopped_seeds, command))
reviews.app.command("approve")(deciding.approve)
reviews.app.command("reject")(deciding.reject)
reviews.app.command("send-back")(deciding.send_back)
reviews.app.command("open")(opening.open_pages)
reviews.app.command("agreement")(agreeing.agreement)
for command in ("override", "regate", "drop"):
    reviews.app.command(command)(getattr(stopped_candidates, command))
app.add_typer(seeds.app, name="seeds", help="Take in seed queries, look at them.")
app.add_typer(reviews.app, name="review", help="Decide about tasks before they are released.")
app.add_typer(mcp.app, name="mcp", help="Serve our tools over MCP, install servers for tasks.")


def _tell_version(wanted: bool) -> None:
    if wanted:
        from taskdata.version import code_version

        console.say(f"nightshift {code_version()}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and debug logs.")] = False,
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """Evaluate tool-using agents on real, long-horizon tasks, every night."""
    console.debug = debug
    level = logging.DEBUG if debug else logging.ERROR
    handler = console.LogLines(level)
    if not debug:
        # What fails a flow fails the command too, and is then said in one line without traceback.
        handler.addFilter(lambda record: record.name != "prefect.flow_runs")
    logging.basicConfig(level=level, handlers=[handler])
    # At DEBUG it writes out a connection's messages, and the first is the Prefect server's login.
    logging.getLogger("websockets").setLevel(logging.INFO)


def main() -> None:
    """Run the command; errors are one line, exit code 2 for misuse and 1 for failure."""
    code = 0
    try:
        # Alone, Typer would say in a box what is wrong, and nothing of an interruption.
        code = app(prog_name="nightshift", standalone_mode=False) or 0
    except typer.TyperException as exc:
        _tell_misuse(exc)
        sys.exit(exc.exit_code)
    except NightshiftError as exc:
        if console.debug:
            raise
        console.error(str(exc))
        sys.exit(2 if isinstance(exc, Misuse | BadTaskData) else 1)
    except Exception as exc:
        if console.debug:
            raise
        helps = way_out(exc) if isinstance(exc, OSError) else None
        if helps:
            console.error(f"{exc.filename or 'disk'}: {exc.strerror}; {helps}")  # type: ignore[attr-defined]
            sys.exit(1)
        console.error(f"internal error, {type(exc).__name__}: {exc}; --debug shows the traceback")
        sys.exit(1)
    if code == interruption.EXIT_CODE and not interruption.told.is_set():
        console.error("interrupted; what was finished is kept")
    sys.exit(code)


def _tell_misuse(exc: typer.TyperException) -> None:
    """Write one line about a wrong command line; none where the help was shown instead."""
    said = exc.format_message().strip().rstrip(".")
    context = getattr(exc, "ctx", None)
    if said:
        path = "nightshift" if context is None else context.command_path
        console.error(f"{said}; see `{path} --help`")


if __name__ == "__main__":
    main()
