"""The store keeps each fact once, on SQLite and on PostgreSQL alike."""

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from taskdata import tables
from taskdata.errors import BadTaskData, Misuse, NightshiftError, StoreUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.diagnosis import Diagnosis, FailureLevels, FailureStage
from taskdata.schema.effort import CallEffort
from taskdata.schema.gate import GateResult
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.run import (
    Deliverable,
    OutcomeStatus,
    RunStatus,
    StageReport,
    Trial,
    TrialOutcome,
)
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.self_verification import SelfVerification
from taskdata.schema.tool_use import ToolUse
from taskdata.schema.transcript import Ending, ShownFile, Transcript, Usage
from taskdata.schema.views import RenderedDeliverable, TextView
from taskdata.store import Store, StoreAddress
from tests.paid import paid

NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


@pytest.fixture(
    params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
)
def store(request, store_address, open_store):
    if request.param == "postgres":
        url = request.getfixturevalue("migrated_postgres_url")
        store_address = store_address.model_copy(update={"database_url": url})
    store = open_store(store_address)
    yield store
    store.close()


def trial_of(run, task, round_=0, **changes):
    agent = run.config.agents[0].name
    fields = {
        "id": Trial.make_id(run.id, agent, task.id, 0, round_),
        "run_id": run.id,
        "agent": agent,
        "task_id": task.id,
        "task_hash": task.content_hash,
        "tier": task.tier,
        "category": task.category,
        "repetition": 0,
        "round": round_,
    }
    return Trial(**fields | changes)


def outcome_of(trial, status=OutcomeStatus.FINISHED, attempt=1, **changes):
    fields = {
        "trial_id": trial.id,
        "attempt": attempt,
        "status": status,
        "ending": Ending.FINISHED if status is OutcomeStatus.FINISHED else None,
        "sandbox": "bubblewrap",
        "code_version": "test",
        "started_at": NOW,
        "finished_at": NOW + timedelta(seconds=3),
        "wall_seconds": 3.0,
    }
    return TrialOutcome(**fields | changes)


def score_of(trial, value=8.0):
    leaf = LeafScore(leaf_id="sum", score=value, verifier="check:json_values@1", reason="found 5")
    node = NodeScore(id="sum", requirement="r", weight=1, score=value, coverage=1, leaf=leaf)
    root = NodeScore(
        id="root", requirement="r", weight=1, score=value, coverage=1, children=(node,)
    )
    return TrialScore(trial_id=trial.id, root=root, scorer_version="1")


@pytest.fixture
def planned(store, new_run, task):
    run = new_run(task)
    trial = trial_of(run, task)
    store.plan_trials([trial])
    return run, trial


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


def test_what_a_judge_was_paid_is_told_apart_from_what_the_trial_has_cost(store, new_run, new_task):
    task, judge = new_task("one"), ModelSpec.parse("openai/gpt-5.2")
    run = new_run(task, judge=judge)
    trial = trial_of(run, task)
    store.plan_trials([trial])
    call = ModelCall(
        trial_id=trial.id,
        purpose=CallPurpose.JUDGE,
        key="a" * 64,
        model="gpt-5.2-2026",
        usage=Usage(input_tokens=90, output_tokens=10),
        cost_usd=0.25,
        at=NOW,
        reply={"text": "{}"},
    )
    store.record_calls([call, call, paid_call(trial, cost_usd=4.0)])
    store.record_outcome(outcome_of(trial, cost_usd=4.0))

    both = CallEffort(calls=2, tokens=200, cost_usd=0.5)
    assert store.results(run.id)[0].judging == both
    assert store.past_judging(judge) == both
    assert store.past_judging(ModelSpec.parse("openai/other")) == CallEffort()
    assert paid(store, run.id) == (1, 4.0)
    assert store.spent_usd(run.id) == pytest.approx(4.5)

    store.forget_replies(run.id)
    assert store.paid_calls(trial.id) == []
    assert store.judge_calls(trial.id) == [call, call]


def paid_call(trial, **changes):
    fields = {
        "trial_id": trial.id,
        "purpose": CallPurpose.AGENT,
        "attempt": 1,
        "key": "a" * 64,
        "model": "gpt-5.2-2026",
        "usage": Usage(input_tokens=90, output_tokens=10),
        "cost_usd": 0.25,
        "at": NOW,
        "reply": {"text": "{}"},
    }
    return ModelCall(**fields | changes)


def test_a_reply_that_later_attempts_get_again_was_paid_for_once(store, planned):
    run, trial = planned
    store.record_calls([paid_call(trial)])
    for number in (1, 2):
        broken = outcome_of(trial, OutcomeStatus.INFRASTRUCTURE, number, error="x", cost_usd=0.25)
        store.record_outcome(broken)
    store.record_outcome(outcome_of(trial, attempt=3, cost_usd=0.25))
    assert store.spent_usd(run.id) == 0.25


def test_replies_that_other_runs_paid_for_are_no_money_of_this_one(store, planned):
    run, trial = planned
    store.record_outcome(outcome_of(trial, cost_usd=3.0))
    assert store.spent_usd(run.id) == 0.0


def test_a_cost_that_is_unknown_counts_as_the_most_that_it_can_be(store, planned):
    run, trial = planned
    unknown = paid_call(trial, cost_usd=None, cost_at_most_usd=0.5)
    store.record_calls([paid_call(trial), unknown])
    assert store.spent_usd(run.id) == 0.75
    assert paid(store, run.id) == (2, None), "which is no cost that is known"
    assert store.paid_calls(trial.id)[1] == unknown

    store.record_calls([paid_call(trial, cost_usd=None)])
    assert store.spent_usd(run.id) is None


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


def test_the_migrations_end_at_the_revision_of_the_tables(store):
    config = Config()
    config.set_main_option("script_location", "taskdata/migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == tables.REVISION


def test_the_migrations_make_exactly_the_tables_of_the_code(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlmodel import SQLModel

    with store._engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []


def test_a_database_of_a_newer_version_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/newer.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('9999')"))
    with pytest.raises(Misuse, match="9999"):
        Store.open(StoreAddress(database_url=url, artifacts_url=f"file://{tmp_path}/a"))


def test_a_database_that_is_not_there_is_a_clear_error(tmp_path):
    address = StoreAddress(
        database_url="postgresql://nobody:secret@127.0.0.1:9/none",
        artifacts_url=f"file://{tmp_path}",
    )
    with pytest.raises(StoreUnavailable) as caught:
        Store.open(address)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret/pass@host:secretport/db",
        "postgres+nodriver://me:secret@host/db",
        "mysql://me:secret@host/db",
        "me:secret@host",
    ],
)
def test_a_database_url_that_is_none_is_refused_and_its_password_not_told(url, tmp_path):
    with pytest.raises(Misuse, match="database URL") as caught:
        Store.open(StoreAddress(database_url=url, artifacts_url=f"file://{tmp_path}"))
    assert "secret" not in str(caught.value)


def test_artifacts_are_stored_once_and_corruption_is_noticed(store, tmp_path, kept_file):
    sha256 = store.artifacts.put_bytes(b"figures")
    assert store.artifacts.put_bytes(b"figures") == sha256
    assert store.artifacts.read_bytes(sha256) == b"figures"
    kept_file(sha256).write_bytes(b"forged!")
    with pytest.raises(NightshiftError, match="corrupt"):
        store.artifacts.read_bytes(sha256)
    with pytest.raises(NightshiftError, match="not in"):
        store.artifacts.read_bytes("0" * 64)


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
