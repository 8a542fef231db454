from collections.abc import Callable

import pytest

from stages.diagnose import work
from taskdata.errors import StoreUnavailable
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.diagnosis import FailureStage
from taskdata.schema.run import OutcomeStatus, Run, Trial, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.task import Task
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Transcript
from taskdata.store import Store

AGENT = "nop"


@pytest.fixture
def night(store: Store, new_run: Callable[..., Run], trip_task: Task) -> Run:
    return new_run(trip_task, agents=(AGENT,), repetitions=8)


@pytest.fixture
def play(
    store: Store,
    night: Run,
    trip_task: Task,
    plan_trial: Callable[..., Trial],
    make_outcome: Callable[..., TrialOutcome],
    make_transcript: Callable[..., Transcript],
) -> Callable[..., Trial]:
    """Plan, execute and score a trial of the trip: all leaves get `leaf_score`."""

    def played(
        repetition: int,
        leaf_score: float | None,
        *,
        calls: tuple = (),
        finished: bool = True,
        keeps_transcript: bool = True,
    ) -> Trial:
        trial = plan_trial(night, trip_task, AGENT, repetition)
        outcome = make_outcome(files=["plan.xlsx", "memo.docx"], trial_id=trial.id)
        if not finished:
            lost = {"status": OutcomeStatus.INFRASTRUCTURE, "error": "down", "ending": None}
            store.record_outcome(outcome.model_copy(update=lost))
            return trial
        if keeps_transcript:
            transcript = make_transcript(calls).model_dump_json().encode()
            sha256 = store.artifacts.put_bytes(transcript)
            outcome = outcome.model_copy(update={"transcript_sha256": sha256})
        store.record_outcome(outcome)
        root = _tree(trip_task.checkpoints, leaf_score)
        store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
        return trial

    return played


def _tree(node: Checkpoint, score: float | None) -> NodeScore:
    leaf = LeafScore(leaf_id=node.id, score=score, verifier="check:x@1", reason="seen")
    return NodeScore(
        id=node.id,
        requirement=node.requirement,
        weight=node.weight,
        score=score,
        coverage=0 if score is None else 1,
        leaf=None if node.children else leaf,
        children=tuple(_tree(child, score) for child in node.children),
    )


def test_scored_trials_are_labelled_once(store: Store, night: Run, play: Callable[..., Trial]):
    failed = play(0, 0.0)
    succeeded = play(1, 9.0, calls=(("ReadCSV", None),))
    assert set(work.due(store, night.id, 0)) == {failed.id, succeeded.id}

    report = work.do(store, night.id, 0)
    again = work.do(store, night.id, 0)

    assert (report.stage, report.due, report.done, report.errors) == ("diagnose", 2, 2, 0)
    assert (again.due, again.done) == (0, 0)
    labels = {r.trial.id: r.diagnosis for r in store.results(night.id)}
    assert labels[failed.id].stage is FailureStage.PLAN
    assert labels[failed.id].evidence[0] == "no tool was called in 3 turns"
    assert labels[succeeded.id].stage is None


def test_a_trial_lost_to_infrastructure_or_without_a_scored_leaf_is_never_booked_as_the_agents(
    store: Store, night: Run, play: Callable[..., Trial]
):
    play(0, None, finished=False)
    play(1, None)

    assert work.due(store, night.id, 0) == []
    assert work.do(store, night.id, 0).due == 0
    assert all(r.diagnosis is None for r in store.results(night.id))


def test_a_trial_whose_record_is_broken_stays_due_and_does_not_sink_the_others(
    store: Store, night: Run, play: Callable[..., Trial]
):
    broken = play(0, 0.0, keeps_transcript=False)
    play(1, 0.0)

    report = work.do(store, night.id, 0)

    assert (report.due, report.done, report.errors) == (2, 1, 1)
    assert report.note == (
        f"1 could not be diagnosed: trial {broken.id}: its outcome, transcript or score is missing"
    )
    assert work.due(store, night.id, 0) == [broken.id]


def test_a_database_that_is_gone_is_not_asked_for_every_trial(
    store: Store, night: Run, play: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
):
    play(0, 0.0)
    play(1, 0.0)
    asked = []

    def gone(self: Store, diagnosis: object) -> None:
        asked.append(diagnosis)
        raise StoreUnavailable("the database is gone")

    monkeypatch.setattr(Store, "record_diagnosis", gone)
    with pytest.raises(StoreUnavailable, match="gone"):
        work.do(store, night.id, 0)
    assert len(asked) == 1


def test_a_failed_trial_has_labels_with_evidence_and_a_successful_one_none(
    store: Store, night: Run, play: Callable[..., Trial]
):
    calls = (("Reader", ToolErrorKind.UNKNOWN_TOOL),)
    failed, succeeded = play(0, 0.0, calls=calls), play(1, 9.0, calls=calls)
    work.do(store, night.id, 0)

    labels = {r.trial.id: r.diagnosis.labels for r in store.results(night.id)}
    by_name = {label.name: label for label in labels[failed.id]}
    assert by_name["hallucinated_tool"].evidence[0].call == "0"
    assert labels[succeeded.id] == ()


def test_labels_of_an_earlier_version_are_replaced(
    store: Store, night: Run, play: Callable[..., Trial]
):
    trial = play(0, 0.0)
    work.do(store, night.id, 0)
    (first,) = [r.diagnosis for r in store.results(night.id)]
    earlier = first.model_copy(update={"labeller": "rules@1", "evidence": ("old",)})
    assert store.record_diagnosis(earlier)
    assert work.due(store, night.id, 0) == [trial.id]

    assert work.do(store, night.id, 0).done == 1
    assert [r.diagnosis for r in store.results(night.id)] == [first]
    assert work.do(store, night.id, 0).due == 0
