"""One process at a time works on a run."""

import multiprocessing
import threading
import time

import pytest

from flows.config import Settings
from flows.locks import (
    BankHeld,
    bank_lock,
    is_worked_on,
    night_lock,
    run_lock,
    serve_lock,
    stage_lock,
)
from taskdata.errors import Misuse


def _hold(settings, held):
    with run_lock(settings, "night"):
        held.set()
        time.sleep(60)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def homes(request, tmp_path):
    """The settings of two homes: they share the database where a server keeps it."""
    if request.param == "sqlite":
        return (Settings(home=tmp_path),) * 2
    url = request.getfixturevalue("postgres_url")
    return tuple(Settings(home=tmp_path / name, database_url=url) for name in ("one", "other"))


def test_a_held_run_is_refused_and_free_again_when_its_holder_is_killed(homes):
    theirs, ours = homes
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    holder = context.Process(target=_hold, args=(theirs, held))
    holder.start()
    assert held.wait(30)
    assert is_worked_on(ours, "night")
    with pytest.raises(Misuse, match="another process"), run_lock(ours, "night"):
        pass
    holder.kill()
    holder.join()
    ends_at = time.monotonic() + 30
    while is_worked_on(ours, "night"):  # a database server has to notice
        assert time.monotonic() < ends_at
        time.sleep(0.1)
    with run_lock(ours, "night"):
        assert is_worked_on(theirs, "night")
        assert not is_worked_on(ours, "other")
    assert not is_worked_on(theirs, "night")


def test_a_served_night_is_worked_on_between_its_stages_too(homes):
    theirs, ours = homes
    with night_lock(theirs, "night"):
        assert is_worked_on(ours, "night")
        with stage_lock(theirs, "night"):
            assert is_worked_on(ours, "night")
        assert is_worked_on(ours, "night")
        with pytest.raises(Misuse, match="another process"), run_lock(ours, "night"):
            pass
    assert not is_worked_on(ours, "night")


def test_no_two_refreshes_are_at_work_on_one_bank(homes):
    theirs, ours = homes
    with bank_lock(theirs, "office"):
        with pytest.raises(BankHeld, match="bank office"), bank_lock(ours, "office"):
            pass
        with bank_lock(ours, "another"):
            pass
    with bank_lock(ours, "office"):
        pass


def test_who_looks_whether_a_run_is_worked_on_keeps_nobody_from_it(tmp_path):
    settings = Settings(home=tmp_path)
    ended = threading.Event()

    def look():
        while not ended.is_set():
            is_worked_on(settings, "night")

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(50):
            with run_lock(settings, "night"):
                pass
    finally:
        ended.set()
        looking.join()


def test_a_home_is_served_once(tmp_path):
    with serve_lock(tmp_path) as note_address:
        with pytest.raises(Misuse, match="is starting"), serve_lock(tmp_path):
            pass
        note_address("http://127.0.0.1:4711")
        with pytest.raises(Misuse, match="already: http://127"), serve_lock(tmp_path):
            pass
    with serve_lock(tmp_path), pytest.raises(Misuse, match="is starting"), serve_lock(tmp_path):
        pass


@pytest.mark.parametrize("run_id", ["../night", "/tmp/night", "a/b", ""])
def test_what_is_no_id_locks_no_file_elsewhere(run_id, tmp_path):
    settings = Settings(home=tmp_path / "home")
    with pytest.raises(Misuse, match="is no id of a run"), stage_lock(settings, run_id):
        pass
    assert not [file for file in tmp_path.rglob("*.lock") if file.parent.name != "locks"]
