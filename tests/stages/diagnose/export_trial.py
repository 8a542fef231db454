"""Write a finished trial of a store into a folder of labelled transcripts.

    python -m tests.stages.diagnose.export_trial HOME TRIAL FOLDER

HOME is a state folder (with `nightshift.db`), TRIAL a trial's id, FOLDER the new folder, such as
`tests/stages/diagnose/transcripts/written/NAME`. `labels.yaml` is left to a person.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from stages.diagnose.record import Record
from stages.diagnose.signals import observe
from taskdata.schema.run import TrialOutcome, TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Event, Transcript
from taskdata.store import Store, StoreAddress
from tests.stages.diagnose.labelled import StoredTrial, diagnosed, load_trial, shortened

LONGEST_TEXT = 1_500
_DESCRIPTION = 100
_SMALL_VIEW = 2_000
_INDENTED = re.compile(r"^\s.*\n?", re.MULTILINE)


def export(store: Store, trial_id: str, folder: Path, longest: int = LONGEST_TEXT) -> None:
    """Write the files of a trial; texts longer than `longest` are cut in their middle.

    Raises:
        ValueError: the rules say something else about the shortened record.
    """
    trial = store.trial(trial_id)
    outcome, score = store.outcome(trial_id), store.score(trial_id)
    task, rule = store.task(trial.task_hash), store.run(trial.run_id).config.success
    transcript = None if outcome is None else store.transcript_of(outcome)
    views = store.rendered(trial_id) if score is not None and outcome is not None else ()
    error = store.scoring_errors(trial.run_id, trial.round).get(trial_id) if score is None else None
    result = TrialResult(trial=trial, outcome=outcome, score=score, scoring_error=error)
    stored = StoredTrial(
        task=f"{task.id}-{trial.task_hash[:8]}.json",
        rule=rule,
        trial=trial,
        outcome=None if outcome is None else _without_places(outcome),
        scoring_error=error,
        score=score,
        views=tuple(v for v in views if v.view.kind == "unreadable" or _is_small(v)),
        transcript=None if transcript is None else _head(transcript),
    )
    _write(folder, stored, task, transcript, longest)
    _require_same_diagnosis(folder, result, task, transcript, views, rule)


def _write(
    folder: Path, stored: StoredTrial, task: Task, transcript: Transcript | None, longest: int
) -> None:
    tasks = folder.parents[1] / "tasks"
    folder.mkdir(parents=True, exist_ok=True)
    tasks.mkdir(exist_ok=True)
    (folder / "trial.json").write_text(_json(stored.model_dump(mode="json")), encoding="utf-8")
    lines = [] if transcript is None else [_line(event, longest) for event in transcript.events]
    events = folder / "transcript.jsonl"
    events.unlink(missing_ok=True)
    if transcript is not None:
        events.write_text("".join(lines), encoding="utf-8")
    told = task.model_copy(update={"reference": None})
    (tasks / stored.task).write_text(_json(told.model_dump(mode="json")), encoding="utf-8")


def _line(event: Event, longest: int) -> str:
    fields = event.model_dump(mode="json", exclude_defaults=True)
    fields = {"kind": event.kind} | _cut(fields, longest)
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        # Programs in bubblewrap see this machine's Python.
        return shortened(value.replace(sys.prefix, "/python"), longest)
    if isinstance(value, dict):
        return {name: _cut(part, longest) for name, part in value.items()}
    return [_cut(part, longest) for part in value] if isinstance(value, list) else value


def _json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"


def _is_small(view: Any) -> bool:
    return len(view.model_dump_json()) <= _SMALL_VIEW


def _without_places(outcome: TrialOutcome) -> TrialOutcome:
    """Return the outcome without the files and lines of its traceback."""
    if outcome.error_detail is None:
        return outcome
    return outcome.model_copy(update={"error_detail": _INDENTED.sub("", outcome.error_detail)})


def _head(transcript: Transcript) -> Transcript:
    """Return the transcript without events; only tools that were called keep their arguments."""
    called = {event.call.tool for event in transcript.tool_events}
    tools = tuple(_brief(spec, spec.name in called) for spec in transcript.tools)
    return transcript.model_copy(update={"events": (), "tools": tools})


def _brief(spec: ToolSpec, was_called: bool) -> ToolSpec:
    parameters = spec.parameters if was_called else {"type": "object"}
    brief = {"description": shortened(spec.description, _DESCRIPTION), "parameters": parameters}
    return spec.model_copy(update=brief)


def _require_same_diagnosis(
    folder: Path,
    result: TrialResult,
    task: Task,
    transcript: Transcript | None,
    views: tuple[Any, ...],
    rule: SuccessRule,
) -> None:
    kept, kept_task, kept_transcript = load_trial(folder)
    whole = _record(result, task, transcript, views, rule)
    short = _record(result, kept_task, kept_transcript, kept.views, rule)
    if _names(result, whole) != _names(result, short):
        raise ValueError(
            f"{folder.name}: the rules find {_names(result, whole)} in the whole record and "
            f"{_names(result, short)} in the shortened one; give a larger --longest"
        )


def _record(
    result: TrialResult,
    task: Task,
    transcript: Transcript | None,
    views: tuple[Any, ...],
    rule: SuccessRule,
) -> Record | None:
    if result.outcome is None or result.score is None or transcript is None:
        return None
    signals = observe(task, result.outcome, transcript, result.score, views, rule)
    return Record(task, result.outcome, transcript, result.score, signals)


def _names(result: TrialResult, record: Record | None) -> list[str]:
    found, labels = diagnosed(result, record)
    stage = [] if found is None else [str(found.stage), str(found.type)]
    return [*stage, *(label.name for label in labels)]


def main() -> None:
    """Export the trial that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("trial")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--longest", type=int, default=LONGEST_TEXT, help="characters of a text")
    given = parser.parse_args()
    home = given.home.resolve()
    store = Store.open(
        StoreAddress(
            database_url=f"sqlite:///{home}/nightshift.db",
            artifacts_url=f"file://{home}/artifacts",
        )
    )
    try:
        export(store, given.trial, given.folder.resolve(), given.longest)
    finally:
        store.close()


if __name__ == "__main__":
    main()
