"""Commands that read: runs, results, show, report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.run import Run, TrialOutcome, TrialResult
    from taskdata.schema.scores import StepScore
    from taskdata.store import Store

_METRICS = ("InstAcc", "ToolAcc", "ArgAcc", "SummAcc")
"""Of step by step mode (GTA, section 4.1)."""

RunArgument = Annotated[str | None, typer.Argument(help="Run id; default: the latest.")]


def _store() -> "tuple[Settings, Store]":
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    return settings, Store.open(settings.address)


def _opened(run_id: str | None) -> "tuple[Settings, Store, Run]":
    settings, store = _store()
    return settings, store, store.run(run_id) if run_id else store.latest_run()


def _status(settings: "Settings", run: "Run") -> str:
    """Return the run's status; a run that nobody works on any more was interrupted."""
    from flows.locks import is_worked_on

    if run.status == "running" and not is_worked_on(settings, run.id):
        return "interrupted"
    return run.status.value


def runs(as_json: JsonOption = False) -> None:
    """List the runs, newest first."""
    settings, store = _store()
    found = [
        {
            "id": run.id,
            "status": _status(settings, run),
            "bank": run.config.bank,
            "agents": [agent.name for agent in run.config.agents],
            "created_at": run.created_at.isoformat(timespec="seconds"),
            "finished_at": run.finished_at and run.finished_at.isoformat(timespec="seconds"),
            "dashboard": run.dashboard,
            "error": run.error,
        }
        for run in store.runs()
    ]
    if as_json:
        console.write_json({"runs": found})
        return
    rows = [
        {
            "run": str(run["id"]),
            "status": str(run["status"]),
            "bank": str(run["bank"]),
            "agents": ", ".join(map(str, run["agents"] or [])),
            "error": str(run["error"] or ""),
        }
        for run in found
    ]
    console.table(rows, title="Runs")


def results(run_id: RunArgument = None, as_json: JsonOption = False) -> None:
    """Print the numbers of a run."""
    from flows.summaries import headline, step_accuracies, summary_of

    _settings, store, run = _opened(run_id)
    summary = summary_of(store, run.id)
    if as_json:
        console.write_json(summary.model_dump(mode="json"))
        return
    console.table(headline(summary), title=f"Run {run.id}: {summary.run.status}")
    if predicted := step_accuracies(summary):
        console.table(predicted, title="Step by step")
    gains = [
        {
            "agent": gain.agent,
            "round": str(gain.round),
            "feedback": gain.feedback,
            "trials": str(gain.trials),
            "before": _number(gain.mean_before),
            "after": _number(gain.mean_after),
            "gain": _number(gain.gain.mean),
        }
        for gain in summary.refinement
    ]
    if gains:
        console.table(gains, title="Refinement")
    causes = [
        {"agent": agent.agent, "infrastructure error": cause, "trials": str(count)}
        for agent in summary.agents
        for cause, count in agent.error_causes.items()
    ]
    if causes:
        console.table(causes, title="Trials that are no score")
    if summary.run.dashboard:
        console.say(f"Dashboard: {summary.run.dashboard}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def show(
    trial_id: Annotated[str | None, typer.Argument(help="Trial id; none: list them.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="Run whose trials to list.")] = None,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="Print the transcript too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one trial, or list the trials of a run."""
    if trial_id is None:
        _list_trials(run_id, as_json)
        return
    _settings, store = _store()
    trial = store.trial(trial_id)
    found = next(r for r in store.results(trial.run_id) if r.trial.id == trial_id)
    record = store.transcript(trial_id)
    if as_json:
        console.write_json(
            found.model_dump(mode="json")
            | {"transcript": record.model_dump(mode="json") if record else None}
        )
        return
    _show_trial(found)
    if transcript and record is not None:
        for event in record.events:
            console.say(event.model_dump_json())


def _list_trials(run_id: str | None, as_json: bool) -> None:
    _settings, store, run = _opened(run_id)
    found = store.results(run.id)
    if as_json:
        console.write_json({"trials": [result.model_dump(mode="json") for result in found]})
        return
    rows = [
        {
            "trial": result.trial.id,
            "agent": result.trial.agent,
            "task": result.trial.task_id,
            "rep": str(result.trial.repetition),
            "round": str(result.trial.round),
            "root score": _number(result.root_score),
            "state": _state(result),
        }
        for result in found
    ]
    console.table(rows, title=f"Trials of run {run.id}")


def _state(result: "TrialResult") -> str:
    if result.scoring_error:
        return f"scoring error: {result.scoring_error}"
    if result.outcome is None:
        return "due"
    if result.is_infrastructure_error:
        return f"infrastructure error: {result.outcome.error}"
    return str(result.outcome.ending)


def _show_trial(result: "TrialResult") -> None:
    trial, outcome = result.trial, result.outcome
    console.say(f"Trial {trial.id} of run {trial.run_id}: {trial.agent} on {trial.task_id}")
    console.say(f"Repetition {trial.repetition}, round {trial.round}: {_state(result)}")
    if outcome is not None:
        console.say(_effort(outcome))
        names = ", ".join(d.name for d in outcome.deliverables)
        console.say(f"Deliverables: {names or 'none'}")
        if outcome.final_answer:
            console.say(f"Final answer: {outcome.final_answer}")
    if result.score is not None:
        console.say(f"Root score {_number(result.root_score)}")
        leaves: list[dict[str, Any]] = [
            {
                "leaf": leaf.leaf_id,
                "score": _number(leaf.score),
                "verifier": leaf.verifier,
                "reason": leaf.reason,
            }
            for leaf in result.score.leaves
        ]
        console.table(leaves, title="Leaves")
        if result.score.root.steps is not None:
            console.table(_marks(result.score.root.steps), title="Predicted steps")
    if result.diagnosis is not None and result.diagnosis.stage is not None:
        console.say(f"Failed at {result.diagnosis.stage} ({result.diagnosis.type}):")
        for sentence in result.diagnosis.evidence:
            console.say(f"- {sentence}")


def _marks(score: "StepScore") -> list[dict[str, str]]:
    def row(place: str, *marks: float | None) -> dict[str, str]:
        words = ["-" if mark is None else "yes" if mark else "no" for mark in marks]
        return {"step": place} | dict(zip(_METRICS, words, strict=True))

    calls = [
        row(str(number), call.aligned, call.tool, call.arguments, None)
        for number, call in enumerate(score.calls, start=1)
    ]
    return [*calls, row("answer", score.answer.aligned, None, None, score.answer.score)]


def _effort(outcome: "TrialOutcome") -> str:
    def known(value: float | None, form: str = "d") -> str:
        return "unknown" if value is None else format(value, form)

    tokens = None if outcome.usage is None else outcome.usage.total
    return (
        f"Turns {known(outcome.turns)}, tool calls {known(outcome.tool_calls)} "
        f"({known(outcome.tool_errors)} failed), tokens {known(tokens)}, "
        f"seconds {known(outcome.wall_seconds, '.1f')}"
    )


def report(
    run_id: RunArgument = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the page.")
    ] = None,
) -> None:
    """Write the dashboard of a run as it is now, as one HTML file."""
    from dashboards.build import build
    from dashboards.gate_docs import write_gate_docs
    from flows.summaries import summary_of

    settings, store, run = _opened(run_id)
    page = output or settings.run_folder(run.id) / "dashboard.html"
    if page.is_dir():
        raise Misuse(f"{page} is a folder; name a file")
    page.parent.mkdir(parents=True, exist_ok=True)
    summary = summary_of(store, run.id)
    # A file of the user's own choice stays alone, so it links to no Data Docs.
    data_docs = (
        write_gate_docs(store.artifacts, summary.gates, page.parent) if output is None else ()
    )
    page.write_text(build(store, summary, data_docs), encoding="utf-8")
    if output is None:
        store.set_dashboard(run.id, str(page))
    console.say(f"Dashboard: {page}")
