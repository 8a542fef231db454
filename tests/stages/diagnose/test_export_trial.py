"""A trial of a store becomes files, from which its record can be read again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stages.diagnose.record import Record
from taskdata.schema.run import Run, Trial, TrialOutcome
from taskdata.schema.scores import TrialScore
from taskdata.schema.task import Task
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Transcript
from taskdata.store import Store
from tests.stages.diagnose.export_trial import export
from tests.stages.diagnose.labelled import lengthened, load, shortened
from tests.stages.diagnose.played import UNKNOWN, called, transcript_of

LONG = "reading " * 20_000


@pytest.fixture
def played(
    store: Store,
    new_run: Callable[..., Run],
    plan_trial: Callable[..., Trial],
    make_outcome: Callable[..., TrialOutcome],
    failed: Callable[..., Record],
    trip_task: Task,
) -> Trial:
    """A failed trial whose agent called an unknown tool and read too much."""
    trial = plan_trial(new_run(trip_task), trip_task)
    transcript = transcript_of(
        called("Reader", text="no", error=UNKNOWN), called("ReadPDF", {"path": "a"}, text=LONG)
    )
    sha256 = store.artifacts.put_bytes(transcript.model_dump_json().encode())
    outcome = make_outcome(files=["plan.xlsx"], trial_id=trial.id)
    store.record_outcome(outcome.model_copy(update={"transcript_sha256": sha256}))
    root = failed().score.root
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
    return trial


def test_an_exported_trial_is_read_again_with_the_same_labels(
    store: Store, played: Trial, tmp_path: Path
):
    folder = tmp_path / "written" / "reads-too-much"
    export(store, played.id, folder)
    (folder / "labels.yaml").write_text("made_by: script\nabout: It reads too much.\n")

    found = load(folder)

    assert (folder / "transcript.jsonl").stat().st_size < 10_000
    assert found.stored.trial == played
    assert found.task.id == "trip"
    assert isinstance(found.transcript, Transcript)
    reader, pdf = found.transcript.tool_events
    assert reader.error is ToolErrorKind.UNKNOWN_TOOL
    assert len(pdf.text) == len(LONG)
    _diagnosis, labels = found.diagnosed()
    assert {"hallucinated_tool", "overlong_output"} <= {label.name for label in labels}


def test_a_label_that_there_is_not_is_refused(store: Store, played: Trial, tmp_path: Path):
    folder = tmp_path / "written" / "reads-too-much"
    export(store, played.id, folder)
    labels = "labels: [{taxonomy: long_run, name: laziness}]"
    (folder / "labels.yaml").write_text(f"made_by: script\nabout: x\n{labels}\n")
    with pytest.raises(ValueError, match="long_run has no label 'laziness'"):
        load(folder)


def test_a_shortened_text_has_its_length_again_and_is_equal_only_to_its_equal():
    one, other = "a" * 5_000, "a" * 2_500 + "b" + "a" * 2_499
    assert len(shortened(one, 1_000)) < 1_100
    assert len(lengthened(shortened(one, 1_000))) == len(one)
    assert shortened(one, 1_000) == shortened("a" * 5_000, 1_000) != shortened(other, 1_000)
    assert shortened("short", 1_000) == "short"
