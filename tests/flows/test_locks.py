"""One process at a time works on a run."""

import multiprocessing
import time

import pytest

from flows.config import Settings
from flows.locks import is_worked_on, run_lock
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
