"""The command `show`: one trial, or the trials of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from flows.cli.runs.reading import opened
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.cli.trials.saving import Saved
    from taskdata.schema.atomic import EndToEndScore
    from taskdata.schema.diagnosis import Diagnosis
    from taskdata.schema.plan import Plan
    from taskdata.schema.planning import PlanningCase
    from taskdata.schema.run import TrialOutcome, TrialResult
    from taskdata.schema.scores import LeafScore, StepScore, TrialScore
    from taskdata.schema.success import SuccessRule
    from taskdata.schema.transcript import Transcript
    from taskdata.store import Store

_METRICS = ("InstAcc", "ToolAcc", "ArgAcc", "SummAcc")
"""Of step by step mode (GTA, section 4.1)."""


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def show(
    trial_id: Annotated[str | None, typer.Argument(help="Trial id; none: list them.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="Run whose trials to list.")] = None,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="Print the transcript too: who said what.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="With --transcript: cut no text, however long.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the trial's deliverables there.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --save: replace files that are there.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one trial, or list the trials of a run."""
    if trial_id is None:
        if save is not None:
            raise Misuse(
                "--save takes the files of one trial; name it: `nightshift show` lists them"
            )
        _list_trials(run_id, as_json)
        return
    from flows.config import load_settings
    from taskdata.store import Store

    store = Store.open(load_settings().address)
    trial = store.trial(trial_id)
    found = next(r for r in store.results(trial.run_id) if r.trial.id == trial_id)
    saved = None if save is None else _save(store, found, save, force=force)
    record = store.transcript(trial_id)
    rule = store.run(trial.run_id).config.success
    task = store.task(trial.task_hash)
    store.close()
    if as_json:
        told: dict[str, Any] = {"transcript": record.model_dump(mode="json") if record else None}
        if saved is not None:
            told["saved"] = [each.model_dump(mode="json") for each in saved]
        console.write_json(_as_json(found, rule) | told)
    elif save is not None and saved is not None:
        _tell_saved(save, saved)
    else:
        _show_trial(found, rule)
        if task.planning is not None:
            _tell_case(task.planning, found, record)
        if record is not None and record.plan is not None:
            _tell_plan(record.plan, full=full)
        if transcript:
            _tell_transcript(record, full=full)
    if saved is not None and any(each.error for each in saved):
        raise typer.Exit(1)


def _save(store: "Store", result: "TrialResult", folder: Path, *, force: bool) -> "list[Saved]":
    from flows.cli.trials.saving import save

    files = () if result.outcome is None else result.outcome.deliverables
    return save(store.artifacts, files, folder, force=force)


def _tell_saved(folder: Path, saved: "Sequence[Saved]") -> None:
    written = [each for each in saved if each.error is None]
    console.say(f"{len(written)} of {len(saved)} deliverables are in {folder}")
    for each in written:
        console.say(f"  {each.path} ({each.size_bytes:,} bytes)")
    for each in saved:
        if each.error is not None:
            console.error(f"{each.path}: not written: {each.error}")


def _tell_plan(plan: "Plan", *, full: bool) -> None:
    from flows.cli.trials.plans import write_plan

    write_plan(plan, full=full)


def _tell_case(case: "PlanningCase", result: "TrialResult", record: "Transcript | None") -> None:
    from flows.cli.trials.cases import write_case

    predicted = None if record is None else record.predicted_plan
    write_case(case, predicted, None if result.score is None else result.score.root.planning)


def _tell_transcript(record: "Transcript | None", *, full: bool) -> None:
    if record is None:
        console.say("There is no transcript: the trial is due, or was lost to an error")
        return
    from flows.cli.trials.transcripts import write_transcript

    write_transcript(record, full=full)


def _list_trials(run_id: str | None, as_json: bool) -> None:
    _settings, store, run = opened(run_id)
    found = store.results(run.id)
    if as_json:
        rule = run.config.success
        console.write_json({"trials": [_as_json(result, rule) for result in found]})
        return
    console.say(f"Trials of run {run.id}; `nightshift show TRIAL` says everything about one")
    for agent in run.config.agents:
        own = [result for result in found if result.trial.agent == agent.name]
        console.table([_listed(result) for result in own], title=agent.name)


def _as_json(result: "TrialResult", rule: "SuccessRule") -> dict[str, Any]:
    """Return the trial with what its score counts for, which its tree alone does not say."""
    return result.model_dump(mode="json") | {
        "root_score": result.root_score,
        "root_score_upper": result.root_score_upper,
        "verdict": result.verdict(rule),
    }


def _listed(result: "TrialResult") -> dict[str, str]:
    trial = result.trial
    return {
        "trial": trial.id,
        "task": trial.task_id,
        "rep": str(trial.repetition + 1),
        "round": str(trial.round),
        "arm": trial.arm,
        "root score": _range(result),
        "state": _state(result).partition(":")[0],
    }


def _state(result: "TrialResult") -> str:
    if result.scoring_error:
        return f"scoring error: {result.scoring_error}"
    if result.outcome is None:
        return "due"
    if result.is_infrastructure_error:
        return f"infrastructure error: {result.outcome.error}"
    return str(result.outcome.ending).replace("_", " ")


def _range(result: "TrialResult") -> str:
    """Return the root score, or its bounds where verdicts are missing."""
    lower, upper = result.root_score, result.root_score_upper
    return _number(lower) if lower == upper else f"{_number(lower)} to {_number(upper)}"


def _scored(result: "TrialResult", score: "TrialScore", rule: "SuccessRule") -> str:
    """Return what the trial's scores come to, in one line."""
    missing = score.unanswered_leaves
    silent = f", {missing} of {len(score.leaves)} leaves without a verdict" if missing else ""
    verdict = result.verdict(rule)
    counts = f": {verdict}" if verdict else ""
    return f"Root score {_range(result)} of 10, coverage {score.root.coverage:.0%}{silent}{counts}"


def _show_trial(result: "TrialResult", rule: "SuccessRule") -> None:
    trial, outcome = result.trial, result.outcome
    console.paragraph(f"Trial {trial.id} of run {trial.run_id}: {trial.agent} on {trial.task_id}")
    arm = f" of arm {trial.arm}" if trial.arm else ""
    if trial.parent_trial_id is not None:
        arm += f", after trial {trial.parent_trial_id}"
    console.say(f"Repetition {trial.repetition + 1}, round {trial.round}{arm}: {_state(result)}")
    if trial.feedback:
        console.say("Feedback on the attempt before:")
        console.block(trial.feedback)
    if outcome is not None:
        _show_outcome(result, outcome)
    if result.score is not None:
        console.say(_scored(result, result.score, rule))
        _show_leaves(result.score)
    if result.diagnosis is not None and result.diagnosis.stage is not None:
        _show_diagnosis(result.diagnosis)


def _show_outcome(result: "TrialResult", outcome: "TrialOutcome") -> None:
    console.say(_effort(outcome))
    beside = {
        "Simulated user": result.talking,
        "Feedback": result.critique,
        "Labeller": result.labelling,
    }
    for name, effort in beside.items():
        if effort.calls:
            paid = effort.cost_usd
            cost = "unknown cost" if paid is None else f"${paid:.4f}"
            console.say(f"{name}: {_calls(effort.calls)}, {cost}, not in the agent's cost")
    names = ", ".join(d.name for d in outcome.deliverables)
    console.say(f"Deliverables: {names or 'none'}")
    if outcome.final_answer:
        console.say("Final answer:")
        console.block(outcome.final_answer)


def _show_leaves(score: "TrialScore") -> None:
    leaves: list[dict[str, Any]] = [
        {
            "leaf": leaf.leaf_id,
            "score": _number(leaf.score) if leaf.unscored is None else _words(leaf.unscored),
            "verifier": leaf.verifier,
            "reason": leaf.told,
        }
        for leaf in score.leaves
    ]
    console.table(leaves, title="Leaves")
    _show_panels(score.leaves)
    if score.root.end_to_end is not None:
        _show_end_to_end(score.root.end_to_end)
    if score.root.steps is not None:
        console.table(_marks(score.root.steps), title="Predicted steps")


def _show_diagnosis(diagnosis: "Diagnosis") -> None:
    console.say(f"{_failure(diagnosis)}:")
    for sentence in diagnosis.evidence:
        console.block(f"- {sentence}")
    _show_labels(diagnosis)
    asked = diagnosis.by_model
    if asked is not None and (asked.rejected or asked.error):
        console.block(f"The labeller gave no label: {asked.rejected or asked.error}")


def _show_end_to_end(score: "EndToEndScore") -> None:
    from dashboards.pages.trial.end_to_end import end_to_end_facts

    rows = [{"metric": name, "of this trial": told} for name, told in end_to_end_facts(score)]
    console.table(rows, title="End to end, atomic tier")


def _show_panels(leaves: "Sequence[LeafScore]") -> None:
    """Write what each judge of a panel said, leaf by leaf."""
    said = [
        {
            "leaf": leaf.leaf_id,
            "apart": "-" if leaf.disagreement is None else f"{leaf.disagreement:g}",
            "judge": opinion.name,
            "score": "no verdict" if opinion.score is None else f"{opinion.score:g}",
            "reason": opinion.reason,
        }
        for leaf in leaves
        for opinion in leaf.panel
    ]
    if said:
        console.table(said, title="Judges of the panel, and how far apart they are")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _failure(diagnosis: "Diagnosis") -> str:
    if diagnosis.stage == "not_attempted":
        return "Not attempted"
    is_known = diagnosis.stage != "undetermined"
    stage = f"stage {diagnosis.stage}" if is_known else "an undetermined stage"
    if diagnosis.type is None:
        return f"Failed at {stage}"
    is_absent = diagnosis.type == "not_attempted"
    kind = "what was not delivered" if is_absent else _words(diagnosis.type)
    return f"Failed at {stage}; most points were lost in {kind}"


def _show_labels(diagnosis: "Diagnosis") -> None:
    """Write the labels of the other taxonomies, each with the first piece of its evidence."""
    from taskdata.schema.diagnosis import placed

    rows = [
        {
            "label": _words(label.name),
            "of": _words(label.taxonomy),
            "confidence": f"{label.confidence:g}",
            **({"by": label.by or "rules"} if diagnosis.by_model is not None else {}),
            "evidence": "\n".join(placed(evidence) for evidence in label.evidence[:2]),
        }
        for label in diagnosis.labels
    ]
    if rows:
        console.table(rows, title="Failure labels")


def _marks(score: "StepScore") -> list[dict[str, str]]:
    def row(place: str, *marks: float | None) -> dict[str, str]:
        words = ["-" if mark is None else "yes" if mark else "no" for mark in marks]
        return {"step": place} | dict(zip(_METRICS, words, strict=True))

    calls = [
        row(str(number), call.aligned, call.tool, call.arguments, None)
        for number, call in enumerate(score.calls, start=1)
    ]
    return [*calls, row("answer", score.answer.aligned, None, None, score.answer.score)]


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def _effort(outcome: "TrialOutcome") -> str:
    def known(value: float | None, form: str = "d") -> str:
        return "unknown" if value is None else format(value, form)

    tokens = None if outcome.usage is None else outcome.usage.total
    return (
        f"Turns {known(outcome.turns)}, tool calls {known(outcome.tool_calls)} "
        f"({known(outcome.tool_errors)} failed), tokens {known(tokens)}, "
        f"seconds {known(outcome.wall_seconds, '.1f')}"
    )
