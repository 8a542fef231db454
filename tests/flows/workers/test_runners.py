"""Workers share a stage's trials: none is lost, none done twice, and a stage ends in time."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import LocalCluster

from environments.models.money.prices import price_of
from flows.config import Settings
from flows.workers import clusters, runners
from flows.workers.clusters import client, cluster
from flows.workers.limits import coordinated
from flows.workers.runners import run_shifts
from stages.workers import backlog as backlogs
from stages.workers.backlog import LOST, holding
from taskdata.errors import StageFailed
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.run import RunConfig
from taskdata.store import StoreAddress

PRICES = """
compatible:
  as_of: 2026-11-01
  source: an invoice
  models:
    my-model: {input: 0.4, output: 1.6}
"""

TRIALS = {"one": [f"one-{n}" for n in range(6)], "two": [f"two-{n}" for n in range(6)]}


def noting(store, run_id, deal, extra):
    """Take one trial after the other and note in a file who did it."""
    with holding(deal) as holder:
        done = ()
        while done := holder.next(1, done).trial_ids:
            (trial_id,) = done
            if trial_id in extra.get("deadly", ()):
                os.kill(os.getpid(), signal.SIGKILL)
            (Path(extra["folder"]) / trial_id).write_text(str(os.getpid()))
            wait_for_workers(Path(extra["folder"]), extra.get("together", 1))


def wait_for_workers(folder, count):
    """Hold the trial until so many workers have one."""
    ends_at = time.monotonic() + 30
    while len({file.read_text() for file in folder.iterdir()}) < count:
        assert time.monotonic() < ends_at, "the other workers take no trial"
        time.sleep(0.02)


def pricing(store, run_id, deal, extra):
    """Note what this worker takes a model of the user's own to cost."""
    noting(store, run_id, deal, extra)
    price = price_of(ModelSpec.parse("compatible/my-model"))
    (Path(extra["folder"]) / "price").write_text(str(price and price.output))


def hanging(store, run_id, deal, extra):
    """Take a trial, then hear of no deadline."""
    with holding(deal) as holder:
        if holder.next(1).trial_ids:
            time.sleep(600)


def half_answered(store, run_id, deal, extra):
    """Take trials, of which those of one provider are never answered, until there are none."""
    with holding(deal) as holder:
        done = ()
        while (dealt := holder.next(1, done)).trial_ids or dealt.waiting:
            done = dealt.trial_ids
            for trial_id in done:
                (Path(extra["folder"]) / trial_id).write_text(str(os.getpid()))
                note = holder.answered if trial_id.startswith("one") else holder.unanswered
                note(trial_id)
            time.sleep(0.01)


def failing(store, run_id, deal, extra):
    with holding(deal) as holder:
        if holder.next(1).trial_ids:
            raise ValueError("the disk is full")


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    with client(Settings(home=tmp_path_factory.mktemp("home")), workers=2) as found:
        yield found


@pytest.fixture
def run(connected, tmp_path):
    """Run shifts over the trials; returns how it went and what was noted."""
    address = StoreAddress(
        database_url=f"sqlite:///{tmp_path}/nightshift.db", artifacts_url=f"file://{tmp_path}/a"
    )
    notes, told = tmp_path / "notes", []
    notes.mkdir()

    def spread(work, connected=connected, seconds: float = 60.0, trials=TRIALS, **extra):
        extra |= {"folder": str(notes)}
        went = run_shifts(
            connected, work, address, "run-1", trials, extra, told.append, seconds, "too late"
        )
        return went, {file.name: file.read_text() for file in notes.iterdir()}

    spread.told = told
    return spread


def test_all_workers_take_trials_until_there_are_none(run):
    went, notes = run(noting, together=2)
    assert (went.done, went.given_up, went.causes, went.was_late) == (12, {}, (), False)
    assert sorted(notes) == sorted(TRIALS["one"] + TRIALS["two"])
    assert len(set(notes.values())) == 2
    assert run.told[-1] == 12


def test_a_trial_that_kills_its_worker_is_given_up_and_the_others_are_done(run):
    went, notes = run(noting, deadly=["one-2"])
    assert went.given_up == {LOST: ["one-2"]}
    assert went.done == len(notes) == 11
    assert went.causes == ()


def test_workers_that_hear_of_no_deadline_are_ended(run, connected, monkeypatch):
    monkeypatch.setattr(runners, "SECONDS_TO_STOP", 1.0)
    before = set(connected.run(os.getpid).values())
    began = time.monotonic()
    went, _ = run(hanging, seconds=2.0)
    assert time.monotonic() - began < 25
    assert (went.done, went.was_late) == (0, True)
    assert not before & set(connected.run(os.getpid).values())
    again, notes = run(noting)
    assert (again.done, len(notes)) == (12, 12)


@pytest.mark.parametrize("named", ["prices.yaml", "elsewhere.yaml"])
def test_workers_know_the_prices_of_the_run(run, tmp_path, monkeypatch, named):
    """Whatever the environment was in which a worker was started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIGHTSHIFT_HOME", ".")
    monkeypatch.setenv("NIGHTSHIFT_PRICES", "" if named == "prices.yaml" else named)
    (tmp_path / named).write_text(PRICES)
    went, notes = run(pricing)
    assert (went.causes, notes["price"]) == ((), "1.6")


def test_a_scheduler_that_loses_its_workers_is_given_up(run, tmp_path, monkeypatch):
    monkeypatch.setattr(runners, "_SECONDS_WITHOUT_WORKERS", 2.0)
    with LocalCluster(n_workers=0, dashboard_address=None) as bare:
        settings = Settings(home=tmp_path, dask_scheduler=bare.scheduler_address)
        began = time.monotonic()
        with (
            client(settings, workers=2) as connected,
            pytest.raises(StageFailed, match="has had no workers for 2 s"),
        ):
            run(noting, connected)
    assert time.monotonic() - began < 20


@contextmanager
def soon(what):
    """Do something a second after the block has begun."""
    timer = threading.Timer(1.0, what)
    timer.start()
    yield
    timer.join()


def test_a_scheduler_that_is_lost_fails_the_stage(run, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "_SECONDS_TO_CONNECT", 2.0)
    with LocalCluster(n_workers=0, dashboard_address=None) as bare:
        settings = Settings(home=tmp_path, dask_scheduler=bare.scheduler_address)
        config = RunConfig(bank="none", agents=(AgentSpec.parse("nop"),))
        with (
            pytest.raises(StageFailed, match=r"dask_scheduler .* was lost"),
            client(settings, workers=2) as connected,
            coordinated(connected, settings, "run-1", config, 0.0),
            soon(bare.close),
        ):
            run(noting, connected)


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:9", "no such scheme://x", "tcp://127.0.0.1", "tls://127.0.0.1:9"],
)
def test_a_scheduler_that_cannot_be_reached_is_named(tmp_path, monkeypatch, address):
    monkeypatch.setattr(clusters, "_SECONDS_TO_CONNECT", 1.0)
    settings = Settings(home=tmp_path, dask_scheduler=address)
    for opened in (client, cluster):
        with pytest.raises(StageFailed, match="dask_scheduler") as caught:
            opened(settings, workers=2).__enter__()
        assert "\n" not in str(caught.value)


def test_a_provider_that_answers_no_worker_is_given_up_for_all(run, monkeypatch):
    # The scheduler of a local cluster lives in this process.
    monkeypatch.setattr(backlogs, "SECONDS_BETWEEN_PROBES", 0.05)
    monkeypatch.setattr(backlogs, "SILENT_SECONDS", 0.1)
    trials = {"one": [f"one-{n}" for n in range(20)], "dead": [f"dead-{n}" for n in range(40)]}
    went, notes = run(half_answered, trials=trials)
    ((cause, given_up),) = went.given_up.items()
    assert "provider dead did not answer" in cause
    assert (went.done, went.over, went.causes) == (len(notes), 60, ())
    assert len(given_up) > 25
    assert sum(trial_id.startswith("one") for trial_id in notes) == 20


def test_why_shifts_failed_is_told_and_their_trials_are_left(run):
    went, _ = run(failing)
    assert went.done == 0
    assert set(went.causes) == {"ValueError: the disk is full"}
    assert not went.was_late
