"""Transcripts of a run as files: all that have one, none over what is there already."""

import json
from datetime import UTC, datetime

import pytest

from taskdata.errors import Misuse
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.transcript import Ending, Transcript
from taskdata.traces.exporting import writer
from taskdata.traces.recorded import recorded_trials

NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


@pytest.fixture
def run(store, new_run, new_task, plan_trial):
    """A run of three trials: two came to an end, one was lost."""
    tasks = [new_task(name) for name in ("first", "second", "third")]
    run = new_run(*tasks)
    for task in tasks:
        trial = plan_trial(run, task)
        lost = task.id == "third"
        kept = Transcript(events=(), final_answer=task.id, ending=Ending.FINISHED)
        sha256 = store.artifacts.put_bytes(kept.model_dump_json().encode())
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                attempt=1,
                status=OutcomeStatus.INFRASTRUCTURE if lost else OutcomeStatus.FINISHED,
                transcript_sha256=None if lost else sha256,
                sandbox="bubblewrap",
                code_version="test",
                started_at=NOW,
                finished_at=NOW,
            )
        )
    return run


def trials_of(store, run):
    return {trial.task_id: trial.id for trial in store.trials(run.id)}


def test_each_trial_with_a_transcript_is_an_atif_file(store, run, tmp_path):
    count = writer("atif")(recorded_trials(store, run), tmp_path / "out", force=False)
    ids = trials_of(store, run)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert count == 2
    assert written == {f"{ids['first']}.json", f"{ids['second']}.json"}
    found = json.loads((tmp_path / "out" / f"{ids['first']}.json").read_text())
    assert found["extra"]["task_id"] == "first"
    assert found["steps"][-1]["message"] == "first"


def test_one_trial_can_be_asked_for(store, run, tmp_path):
    wanted = trials_of(store, run)["second"]
    writer("atif")(recorded_trials(store, run, wanted), tmp_path / "out", force=False)
    assert [path.stem for path in (tmp_path / "out").iterdir()] == [wanted]


def test_traces_are_lines_of_one_file(store, run, tmp_path):
    pytest.importorskip("opentelemetry.sdk")
    path = tmp_path / "traces.jsonl"
    assert writer("otel")(recorded_trials(store, run), path, force=False) == 2
    lines = path.read_text().splitlines()
    assert len(lines) == 2
    assert all("resourceSpans" in json.loads(line) for line in lines)


@pytest.mark.parametrize("format", ["atif", "otel"])
def test_what_is_there_is_overwritten_by_force_only(store, run, tmp_path, format):
    place = tmp_path / "out"
    path = place if format == "atif" else place / "traces.jsonl"
    writer(format)(recorded_trials(store, run), path, force=False)
    with pytest.raises(Misuse, match="--force"):
        writer(format)(recorded_trials(store, run), path, force=False)
    assert writer(format)(recorded_trials(store, run), path, force=True) == 2


def test_a_file_where_a_folder_is_meant_is_misuse(store, run, tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(Misuse, match="name a folder"):
        writer("atif")(recorded_trials(store, run), tmp_path / "file", force=True)
    with pytest.raises(Misuse, match="name it"):
        writer("otel")(recorded_trials(store, run), tmp_path, force=True)


def test_an_unknown_format_names_those_there_are():
    with pytest.raises(Misuse, match="atif, otel"):
        writer("csv")
