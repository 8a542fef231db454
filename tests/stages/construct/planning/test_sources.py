"""Trajectories: the shortest trial with the full score, else the reference solution."""

from datetime import UTC, datetime

import pytest

from stages.construct.planning.sources import trajectories_of
from stages.construct.planning.trajectory import MAX_TEXT, of_trial
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.scores import NodeScore, TrialScore
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending, ToolCall, ToolEvent, Transcript

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def called(tool: str, text: str = "ok", error: ToolErrorKind | None = None, **arguments: object):
    call = ToolCall(id="1", tool=tool, arguments=arguments)
    return ToolEvent(call=call, text=text, error=error, started_at=NOON, seconds=0)


def transcript(*events: ToolEvent) -> Transcript:
    return Transcript(events=events, final_answer="42", ending=Ending.FINISHED)


@pytest.fixture
def played(store, new_run, plan_trial, harvest):
    """Store a trial of the task with these calls and this root score."""

    def play(score: float, *events: ToolEvent, repetition: int = 0) -> str:
        run = store.runs()[0] if store.runs() else new_run(harvest, repetitions=4)
        trial = plan_trial(run, harvest, repetition=repetition)
        kept = store.artifacts.put_bytes(transcript(*events).model_dump_json().encode())
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                attempt=1,
                status=OutcomeStatus.FINISHED,
                transcript_sha256=kept,
                sandbox="bubblewrap",
                code_version="test",
                started_at=NOON,
                finished_at=NOON,
            )
        )
        root = NodeScore(id="root", requirement="r", weight=1, score=score, coverage=1)
        store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
        return trial.id

    return play


def test_the_shortest_trial_with_the_full_score_is_cut(store, harvest, played):
    played(10, called("read_file"), called("ReadCSV"), called("Calculator"))
    short = played(10, called("ReadCSV"), called("Calculator"), repetition=1)
    played(6, called("ReadCSV"), repetition=2)

    found = trajectories_of(store, [harvest], {}, "bubblewrap")["harvest-letter"]

    assert (found.trial_id, [step.tool for step in found.steps]) == (
        short,
        ["ReadCSV", "Calculator"],
    )


def test_without_such_a_trial_the_recorded_reference_is_cut(store, harvest, played):
    played(9, called("ReadCSV"))

    found = trajectories_of(store, [harvest], {}, "bubblewrap")["harvest-letter"]

    assert (found.trial_id, len(found.steps)) == (None, 4)


def test_what_people_supplied_comes_first_but_only_for_the_very_task(store, harvest, trajectory):
    own = trajectory.model_copy(update={"steps": trajectory.steps[:2]})
    other = own.model_copy(update={"task_hash": "0" * 64})

    for supplied, steps in ((own, 2), (other, 4)):
        found = trajectories_of(store, [harvest], {"harvest-letter": supplied}, "bubblewrap")
        assert len(found["harvest-letter"].steps) == steps


@pytest.mark.parametrize(
    "events",
    [
        (),
        (called("finish", answer="42"),),
        (called("ReadCSV", error=ToolErrorKind.REFUSED), called("ReadCSV")),
    ],
)
def test_a_trial_without_calls_or_with_a_failed_one_is_no_reference(harvest, events):
    assert of_trial(harvest, "t1", transcript(*events)) is None


def test_long_texts_are_cut_with_a_notice(harvest):
    made = of_trial(harvest, "t1", transcript(called("ReadCSV", "x" * 3_000, path="y" * 2_000)))

    (step,) = made.steps
    assert step.result == "x" * MAX_TEXT + "\n(... 2,000 more characters)"
    assert step.arguments["path"].endswith("(... 1,000 more characters)")
