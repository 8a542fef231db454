"""Commands that read a whole run: results, report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from flows.cli.runs.details import write_detail
from flows.cli.runs.failures import GROUPINGS, write_failures
from flows.cli.runs.planning import write_planning
from flows.cli.runs.verdicts import (
    FailUnderOption,
    require_comparable,
    require_evaluated,
    require_score,
)
from taskdata.errors import Misuse
from taskdata.garbage import collected_after

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.agent import AgentSpec
    from taskdata.schema.run import Run
    from taskdata.schema.summary import RunSummary
    from taskdata.store import Store

RunArgument = Annotated[str | None, typer.Argument(help="Run id; default: the latest.")]


def opened(run_id: str | None) -> "tuple[Settings, Store, Run]":
    """Return the settings, the open store and the run of that id, or the latest."""
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    store = Store.open(settings.address)
    is_latest = run_id in (None, "latest")
    return settings, store, store.latest_run() if is_latest else store.run(str(run_id))


def results(
    run_id: RunArgument = None,
    wide: Annotated[bool, typer.Option("--wide", help="Show every column.")] = False,
    detail: Annotated[
        bool, typer.Option("--detail", help="Also show figures by groups, faults and effort.")
    ] = False,
    failures: Annotated[
        bool,
        typer.Option("--failures", help="Show only why trials failed: causes, then labels."),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            help=f"With --failures, count labels by {', '.join(GROUPINGS)}; default agent."
        ),
    ] = None,
    planning: Annotated[
        bool, typer.Option("--planning", help="Show only the tables about plans.")
    ] = False,
    fail_under: FailUnderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the numbers of a run: agents by root score, controls below them.

    With --fail-under the exit code is that of `nightshift run`: 3 if trials have no score, 4 if
    an agent is below.
    """
    from flows.summaries import summary_of

    if failures and (wide or detail or fail_under is not None):
        raise Misuse("--failures shows labels only; leave out --wide, --detail and --fail-under")
    if planning and (wide or detail or failures or fail_under is not None):
        raise Misuse(
            "--planning shows tables about plans only; leave out --wide, --detail, --failures and "
            "--fail-under"
        )
    if by is not None and not failures:
        raise Misuse("--by is for --failures: add it")
    _settings, store, run = opened(run_id)
    if failures:
        write_failures(store, run, by=by, as_json=as_json)
        store.close()
        return
    require_comparable(run.config.agents, fail_under)
    summary = summary_of(store, run.id)
    store.close()
    if planning:
        write_planning(summary, as_json=as_json)
        return
    if as_json:
        console.write_json(summary.model_dump(mode="json"))
    else:
        write_scores(run, summary, wide=wide)
        write_details(summary)
        if detail:
            write_detail(summary)
        if summary.run.dashboard:
            console.say(f"Dashboard: {summary.run.dashboard}")
    if fail_under is not None:
        require_evaluated(summary, retry=f"`nightshift run --resume {run.id}`")
        require_score(summary, fail_under)


def write_scores(run: "Run", summary: "RunSummary", *, wide: bool = False) -> None:
    """Write the table that a run is read by, and what its columns mean."""
    from flows.summaries import brief_row, wide_row
    from taskdata.schema.ranking import controls, ranked
    from taskdata.schema.reservations import reservations

    row = wide_row if wide else brief_row
    if summary.judge_notice:
        console.paragraph(summary.judge_notice)
    console.table(
        [row(summary, agent) for agent in ranked(summary.agents)],
        title=f"Run {summary.run.id}: {summary.run.status}",
        apart=[row(summary, agent) for agent in controls(summary.agents)],
    )
    for one in summary.agents:
        if one.pending:
            console.say(f"{one.agent}: {one.pending} of {one.trials} trials have no score yet")
    for reservation in reservations(summary):
        console.paragraph(reservation)
    console.paragraph(
        "Root scores are means of first attempts, 0 to 10, with 95 % intervals; n are the trials "
        "with a score, errors those lost to infrastructure, coverage how much of the trees was "
        "scored. Ranks are those that the paired differences leave open."
    )
    for agent in run.config.agents:
        if agent.model is not None and agent.model.provider == "local":
            console.paragraph(_limits(agent))
    if not wide:
        console.paragraph(
            "`nightshift results --wide` shows more columns, --detail more tables, "
            "--json everything."
        )


def _limits(agent: "AgentSpec") -> str:
    """Return what a model on this machine's CPU was held to, without which its score misleads."""
    budget = agent.budget
    return (
        f"{agent.name} had {budget.max_turns} turns of at most {budget.max_reply_tokens} tokens "
        "for each trial, so that a run on a CPU ends soon: its score shows that the pipeline "
        "works, not what the model can do."
    )


def write_details(summary: "RunSummary") -> None:
    """Write what only some runs have: predicted steps, refinement, infrastructure errors."""
    from flows.summaries import gain_rows, step_accuracies

    if predicted := step_accuracies(summary):
        console.table(predicted, title="Step by step")
    if gains := gain_rows(summary):
        console.table(
            gains,
            title="Refinement: the trials that were tried again, by arm",
            optional=("success", "before", "after"),
        )
        console.paragraph(
            "n are the trials of an arm with a score at the end of the round; they do not include "
            "those that passed at once. Gains are over the first attempts and over the arm none, "
            "trial by trial, with 95 % intervals. "
            "First-attempt scores above do not include the refined ones."
        )
    causes = [
        {"agent": agent.agent, "trials": str(count), "infrastructure error": cause}
        for agent in summary.agents
        for cause, count in agent.error_causes.items()
    ]
    if causes:
        console.table(causes, title="Trials without a score")


def report(
    run_id: RunArgument = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write it as one file that needs nothing beside it."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the dashboard of a run again, as it is now."""
    settings, store, run = opened(run_id)
    page = output or settings.run_folder(run.id) / "dashboard.html"
    if page.is_dir():
        raise Misuse(f"{page} is a folder; name a file")
    page.parent.mkdir(parents=True, exist_ok=True)
    with collected_after():
        if output is None:
            page = _write_page(settings, store, run)
            store.set_dashboard(run.id, str(page))
        else:
            _write_one_file(store, run, page)
    if as_json:
        size = page.stat().st_size
        console.write_json({"run": run.id, "dashboard": str(page.resolve()), "bytes": size})
        return
    console.say(f"Dashboard: {page}")


def _write_page(settings: "Settings", store: "Store", run: "Run") -> Path:
    """Write the run's page in the site, with its Data Docs; return where it is."""
    from dashboards.gate_docs import write_gate_docs
    from dashboards.run_folder import write_run_folder
    from flows.agreement.cards import listed_judges
    from flows.failures import failures_of
    from flows.summaries import summary_of

    results = store.results(run.id)
    summary = summary_of(store, run.id, results)
    folder, site = settings.run_folder(run.id), settings.site_folder
    data_docs = write_gate_docs(store.artifacts, summary.gates, folder)
    morning = store.find_morning(run.id)
    cards = listed_judges(settings, store, run.id)
    found = failures_of(store, run, results)
    return write_run_folder(folder, site, store, summary, data_docs, morning, results, cards, found)


def _write_one_file(store: "Store", run: "Run", page: Path) -> None:
    """Write the dashboard as a file of the user's own choice, which links to no Data Docs."""
    from dashboards.build import build
    from flows.failures import failures_of
    from flows.summaries import summary_of

    results = store.results(run.id)
    summary = summary_of(store, run.id, results)
    morning = store.find_morning(run.id)
    found = failures_of(store, run, results)
    html = build(store, summary, (), morning, results, run_failures=found)
    page.write_text(html, encoding="utf-8")
