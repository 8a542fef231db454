"""Workers share a stage's trials: none is lost, none done twice, and a stage ends in time."""

import os
import signal
import time
from pathlib import Path

import pytest

from flows import runners
from flows.config import Settings
from flows.runners import client, run_shifts
from stages.execute.slots.backlog import holding
from taskdata.store import StoreAddress

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


def hanging(store, run_id, deal, extra):
    """Take a trial, then hear of no deadline."""
    with holding(deal) as holder:
        if holder.next(1).trial_ids:
            time.sleep(600)


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

    def spread(work, seconds: float = 60.0, **extra):
        extra |= {"folder": str(notes)}
        went = run_shifts(
            connected, work, address, "run-1", TRIALS, extra, told.append, seconds=seconds
        )
        return went, {file.name: file.read_text() for file in notes.iterdir()}

    spread.told = told
    return spread


def test_all_workers_take_trials_until_there_are_none(run):
    went, notes = run(noting, together=2)
    assert (went.done, went.given_up, went.causes, went.was_late) == (12, (), (), False)
    assert sorted(notes) == sorted(TRIALS["one"] + TRIALS["two"])
    assert len(set(notes.values())) == 2
    assert run.told[-1] == 12


def test_a_trial_that_kills_its_worker_is_given_up_and_the_others_are_done(run):
    went, notes = run(noting, deadly=["one-2"])
    assert went.given_up == ("one-2",)
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


def test_why_shifts_failed_is_told_and_their_trials_are_left(run):
    went, _ = run(failing)
    assert went.done == 0
    assert set(went.causes) == {"ValueError: the disk is full"}
    assert not went.was_late
