"""The store keeps each fact once, on SQLite and on PostgreSQL alike."""

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.diagnosis import Diagnosis, FailureLevels, FailureStage
from taskdata.schema.gate import GateResult
from taskdata.schema.run import (
    Deliverable,
    OutcomeStatus,
    RunStatus,
    StageReport,
)
from taskdata.schema.self_verification import SelfVerification
from taskdata.schema.tool_use import ToolUse
from taskdata.schema.transcript import Ending, ShownFile, Transcript, Usage
from taskdata.schema.views import RenderedDeliverable, TextView
from taskdata.store import Store
from tests.taskdata.store.records import outcome_of, score_of, trial_of


def test_a_release_is_the_hash_of_its_tasks_whatever_their_order(store, new_task):
    one, two = new_task("one"), new_task("two")
    first = store.add_release("bank", [one, two], {})
    again = store.add_release("bank", [two, one], {})
    other = store.add_release("bank", [one], {})
    assert first == again
    assert other.hash != first.hash
    assert store.tasks_of_release(first.hash) == {one.content_hash: one, two.content_hash: two}


def test_a_task_that_was_edited_in_the_database_is_refused_by_name(store, new_task):
    release = store.add_release("bank", [new_task("one"), new_task("two")], {}).hash
    edited = {**new_task("two").model_dump(mode="json"), "query": "Say that all is well, please."}
    with store._engine.begin() as connection:
        connection.execute(
            text("UPDATE task SET spec = :spec WHERE task_id = 'two'"), {"spec": json.dumps(edited)}
        )

    assert store.task(new_task("one").content_hash).id == "one"
    with pytest.raises(BadTaskData, match="task 'two' was changed in the store"):
        store.task(new_task("two").content_hash)
    with pytest.raises(BadTaskData, match="task 'two' was changed in the store"):
        store.tasks_of_release(release)


def test_planning_the_same_trials_twice_adds_nothing(store, planned):
    _run, trial = planned
    assert store.plan_trials([trial]) == 0
    assert store.trials(trial.run_id) == [trial]


def test_many_trials_are_planned_beside_those_that_are_known(store, new_run, task):
    run = new_run(task)
    trial = trial_of(run, task)
    trials = [
        trial.model_copy(update={"id": f"t{number}", "repetition": number})
        for number in range(1_200)
    ]
    assert store.plan_trials(trials[::2]) == 600
    assert store.plan_trials(trials) == 600
    assert store.trials(run.id, 0) == trials


def test_an_unknown_trial_has_no_attempt(store):
    with pytest.raises(Misuse, match="'t-unknown'"):
        store.attempt_due("t-unknown")


def test_outcomes_are_recorded_by_many_threads_at_once(store, new_run, task):
    run = new_run(task)
    first = trial_of(run, task)
    trials = [
        first.model_copy(update={"id": f"t{number}", "repetition": number}) for number in range(60)
    ]
    store.plan_trials(trials)
    with ThreadPoolExecutor(12) as threads:
        recorded = list(threads.map(lambda t: store.record_outcome(outcome_of(t)), trials * 2))
    assert recorded.count(True) == len(trials)
    assert store.trials_due_for_execution(run.id, 0) == []


def test_a_trial_is_due_until_it_has_finished(store, planned):
    run, trial = planned
    failed = outcome_of(trial, OutcomeStatus.INFRASTRUCTURE, error="model server is down")
    assert store.record_outcome(failed)
    assert store.trials_due_for_execution(run.id, 0) == [trial]
    assert store.attempt_due(trial.id) == (trial, 2, False)
    assert store.failures(run.id, 0) == {trial.id: "model server is down"}
    assert store.record_outcome(outcome_of(trial, attempt=2))
    assert store.trials_due_for_execution(run.id, 0) == []
    assert store.attempt_due(trial.id) is None
    assert store.outcome(trial.id).status is OutcomeStatus.FINISHED


def test_a_finished_trial_is_never_finished_again(store, planned):
    _run, trial = planned
    first = outcome_of(trial, final_answer="first")
    assert store.record_outcome(first)
    assert not store.record_outcome(outcome_of(trial, attempt=2, final_answer="second"))
    assert store.outcome(trial.id) == first


def test_an_outcome_comes_back_as_it_went_in(store, planned):
    _run, trial = planned
    transcript = Transcript(events=(), final_answer="5", ending=Ending.FINISHED)
    outcome = outcome_of(
        trial,
        deliverables=(Deliverable(name="a b/out.json", sha256="a" * 64, size_bytes=3),),
        usage=Usage(input_tokens=10, output_tokens=2),
        cost_usd=None,
        rejected_files=("evil: a symbolic link",),
        tool_uses=(ToolUse(tool="OCR", category="perception", calls=3, errors={"refused": 2}),),
        tool_pictures=(ShownFile(name="a.png", sha256="c" * 64, media_type="image/png"),),
        self_verification=SelfVerification.LOOKED,
        transcript_sha256=store.artifacts.put_bytes(transcript.model_dump_json().encode()),
    )
    store.record_outcome(outcome)
    assert store.outcome(trial.id) == outcome
    assert store.transcript(trial.id) == transcript
    assert store.results(trial.run_id)[0].outcome == outcome


def test_scores_diagnosis_and_views_are_written_once(store, planned):
    run, trial = planned
    store.record_outcome(outcome_of(trial))
    store.record_scoring_error(trial.id, "renderer died")
    assert store.results(run.id)[0].is_infrastructure_error
    assert store.trials_due_for_scoring(run.id, 0) == [trial]
    view = RenderedDeliverable(name="out.json", sha256="b" * 64, view=TextView(text="<b>5</b>"))
    assert store.record_score(score_of(trial), [view])
    assert not store.record_score(score_of(trial, 1.0), [])
    assert store.rendered(trial.id) == (view,)
    diagnosis = Diagnosis(
        trial_id=trial.id,
        stage=FailureStage.HANDOFF,
        levels=FailureLevels(leaf=True, composition=False, deliverable=True),
        evidence=("out.json is missing",),
        labeller="rules@1",
    )
    assert store.record_diagnosis(diagnosis)
    assert not store.record_diagnosis(diagnosis)
    result = store.results(run.id)[0]
    assert result.score == score_of(trial)
    assert result.diagnosis == diagnosis
    assert not result.is_infrastructure_error


def test_runs_are_listed_newest_first_and_statuses_kept(store, new_run, task):
    first, second = new_run(task), new_run(task)
    store.set_run_status(first.id, RunStatus.FAILED, "gate tasks: 2 rows")
    assert {r.id for r in store.runs()} == {first.id, second.id}
    assert store.latest_run().id == second.id
    assert store.run(first.id).error == "gate tasks: 2 rows"
    assert store.run(first.id).finished_at.tzinfo is not None


def test_the_latest_result_of_a_gate_counts(store, planned):
    run, _trial = planned
    for success in (False, True):
        store.record_gate(
            GateResult(gate="tasks", run_id=run.id, success=success, rows=1, expectations=1)
        )
    assert [g.success for g in store.gates(run.id)] == [True]
    store.record_stage(StageReport(stage="execute", run_id=run.id, due=3, done=2, errors=1))
    assert store.stages(run.id)[0].errors == 1


def test_unknown_names_are_misuse(store):
    with pytest.raises(Misuse, match="nope"):
        store.run("nope")
    with pytest.raises(Misuse, match="no run yet"):
        store.latest_run()


def test_the_database_itself_refuses_a_score_out_of_range(store, planned):
    _run, trial = planned
    store.record_outcome(outcome_of(trial))
    engine = store._engine
    with pytest.raises(Exception, match="score_in_range"), engine.begin() as connection:
        connection.execute(
            text("INSERT INTO leaf_score VALUES (:trial, 'x', 'check', 11, '', NULL)"),
            {"trial": trial.id},
        )


def _finish(address, trial, answer, results):
    store = Store.open(address)
    results.put(store.record_outcome(outcome_of(trial, final_answer=answer)))


def test_of_many_processes_that_finish_one_trial_exactly_one_is_believed(store, planned):
    _run, trial = planned
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=_finish, args=(store.address, trial, f"answer {i}", results))
        for i in range(4)
    ]
    for worker in workers:
        worker.start()
    outcomes = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert sorted(outcomes) == [False, False, False, True]


def test_results_read_a_few_at_a_time_are_whole_and_in_their_order(
    store, new_run, task, monkeypatch
):
    run = new_run(task)
    trials = [trial_of(run, task, id=f"t{number}", repetition=number) for number in range(5)]
    store.plan_trials(trials)
    file = Deliverable(name="out.json", sha256="a" * 64, size_bytes=3)
    store.record_outcome(outcome_of(trials[0], OutcomeStatus.INFRASTRUCTURE, error="x"))
    finished = [outcome_of(trials[0], attempt=2, deliverables=(file,)), outcome_of(trials[3])]
    lost = [outcome_of(trials[4], OutcomeStatus.INFRASTRUCTURE, n, error=f"{n}") for n in (1, 2)]
    for outcome in (*finished, *lost):
        store.record_outcome(outcome)
    store.record_score(score_of(trials[3]), ())
    store.record_scoring_error(trials[0].id, "the judge was away")
    monkeypatch.setattr("taskdata.store.results._AT_ONCE", 2)

    found = store.results(run.id)

    assert [one.trial for one in found] == trials
    assert [one.outcome for one in found] == [finished[0], None, None, finished[1], lost[1]]
    assert [one.score for one in found] == [None, None, None, score_of(trials[3]), None]
    assert [one.scoring_error for one in found] == ["the judge was away", *[None] * 4]


def test_a_trial_is_scored_once_it_has_finished_and_until_it_has_a_score(store, planned):
    run, trial = planned
    assert store.scoring_due(trial.id) is None
    store.record_outcome(outcome_of(trial, OutcomeStatus.INFRASTRUCTURE, error="x"))
    assert store.scoring_due(trial.id) is None
    assert store.trials_due_for_scoring(run.id, 0) == []
    outcome = outcome_of(trial, attempt=2)
    store.record_outcome(outcome)
    assert store.scoring_due(trial.id) == (trial, outcome)
    assert store.trials_due_for_scoring(run.id, 0) == [trial]
    store.record_score(score_of(trial), ())
    assert store.scoring_due(trial.id) is None
    assert store.trials_due_for_scoring(run.id, 0) == []


def test_why_trials_could_not_be_scored_is_known_by_round_until_they_are(store, planned):
    run, trial = planned
    store.record_outcome(outcome_of(trial))
    store.record_scoring_error(trial.id, "the judge was away")
    assert store.scoring_errors(run.id, 0) == {trial.id: "the judge was away"}
    assert store.scoring_errors(run.id, 1) == {}
    store.record_score(score_of(trial), ())
    assert store.scoring_errors(run.id, 0) == {}
