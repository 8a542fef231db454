"""The list of runs: what one sees first in the morning."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from flows.config import load_settings
from flows.locks import night_lock, stage_lock
from stages.prepare.rescore import plan_rescoring, rescoring_config
from stages.prepare.work import first_trial
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus, Run, RunConfig, RunStatus, TrialOutcome
from taskdata.schema.scores import NodeScore, TrialScore

NOW = datetime(2026, 11, 22, 2, tzinfo=UTC)
NAMES = ("reference", "nop", "react:openai/gpt-5.2-mini", "react:local/smollm2-135m")
AGENTS = tuple(map(AgentSpec.parse, NAMES))


@pytest.fixture
def store(home, open_store):
    store = open_store(load_settings().address)
    yield store
    store.close()


@pytest.fixture
def add_run(store, new_task):
    """Store a run of that id; returns its trials by agent, one for each."""
    task = new_task("sum")
    release = store.add_release("test", (task,), {})

    def add(run_id, status=RunStatus.COMPLETED, agents=AGENTS, **fields):
        run = Run(
            id=run_id,
            status=status,
            config=RunConfig(bank="starter", agents=agents),
            release_hash=release.hash,
            code_version="test",
            created_at=NOW,
            **fields,
        )
        store.add_run(run)
        trials = {a.name: first_trial(run_id, a.name, task.content_hash, task, 0) for a in agents}
        store.plan_trials(list(trials.values()))
        return trials

    return add


@pytest.fixture
def end(store):
    """Record how a trial ended."""

    def record(trial, score=None, error=None, attempt=1):
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                attempt=attempt,
                status=OutcomeStatus.INFRASTRUCTURE if error else OutcomeStatus.FINISHED,
                error=error,
                sandbox="bubblewrap",
                code_version="test",
                started_at=NOW,
                finished_at=NOW,
            )
        )
        if score is not None:
            root = NodeScore(id="root", requirement="x", weight=1, score=score, coverage=1)
            store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())

    return record


def listed(command):
    return json.loads(command("runs", "--json").stdout)["runs"]


def test_the_best_is_the_best_that_competes_and_errors_are_trials_without_a_score(
    command, store, add_run, end
):
    trials = add_run("20261122-020000-abcdef")
    end(trials["reference"], 10)
    end(trials["nop"], 0)
    end(trials["react:openai/gpt-5.2-mini"], 8.42)
    end(trials["react:local/smollm2-135m"], error="no memory")
    end(trials["react:local/smollm2-135m"], error="no memory", attempt=2)
    (run,) = listed(command)
    assert (run["best_score"], run["errors"], run["cost_usd"]) == (8.42, 1, 0.0)
    store.record_scoring_error(trials["nop"].id, "the judge is away")
    assert listed(command)[0]["errors"] == 2
    end(trials["react:local/smollm2-135m"], 9, attempt=3)
    (run,) = listed(command)
    assert (run["best_score"], run["errors"]) == (9, 1)


def test_a_run_of_controls_and_one_without_trials_have_no_best(command, add_run, end):
    trials = add_run("one", agents=AGENTS[:2])
    end(trials["reference"], 10)
    add_run("two", agents=AGENTS[2:])
    assert [run["best_score"] for run in listed(command)] == [None, None]


def test_the_table_fits_a_terminal(command, add_run, end):
    trials = add_run("20261122-020000-abcdef")
    end(trials["react:openai/gpt-5.2-mini"], 8.42)
    add_run("20261123-020000-fedcba", RunStatus.RUNNING)
    lines = command("runs").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines]
    date = f"{NOW.astimezone():%Y-%m-%d}"
    assert ["20261122-020000-abcdef", "starter", "reference", "8.42", "completed"] in rows
    assert any(row[:1] == [date] and row[-3:] == ["$0.00", "no", "errors"] for row in rows)
    assert any(row[-1:] == ["interrupted"] for row in rows)


def test_a_night_is_interrupted_only_once_nobody_works_on_it(command, add_run):
    add_run("night", RunStatus.RUNNING)
    settings = load_settings()
    for lock in (night_lock, stage_lock):
        with lock(settings, "night"):
            assert listed(command)[0]["status"] == "running"
        assert listed(command)[0]["status"] == "interrupted"


def test_a_rescoring_says_what_it_scores_again(command, store, add_run):
    add_run("20261122-020000-abcdef")
    source = store.run("20261122-020000-abcdef")
    judge = {"provider": "openai", "model": "gpt-5.2"}
    plan_rescoring(store, source, rescoring_config(source, judge=judge), "second-opinion")
    newest, _ = listed(command)
    assert (newest["id"], newest["rescores"]) == (f"{source.id}-second-opinion", source.id)
    assert newest["judge"] == "openai/gpt-5.2"
    lines = command("runs").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    begins = [line.split("  ")[0] for line in lines]
    at = begins.index("-second-opinion")
    assert begins[at - 1] == source.id
    assert " ".join(begins[at + 1 : at + 3]) == "rescored by openai/gpt-5.2"


def test_why_the_latest_run_failed_is_told(command, add_run):
    add_run("night", RunStatus.FAILED, error="GateFailed: 3 tasks", finished_at=NOW + timedelta(1))
    assert "night: GateFailed: 3 tasks" in command("runs").stdout.splitlines()


def test_without_a_run_the_list_says_so(command):
    assert "nothing" in command("runs").stdout
