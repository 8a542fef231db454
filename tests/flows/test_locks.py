"""One process at a time works on a run."""

import multiprocessing
import time

import pytest

from flows.locks import is_worked_on, run_lock
from taskdata.errors import Misuse


def _hold(home, held):
    with run_lock(home, "night"):
        held.set()
        time.sleep(60)


def test_a_held_run_is_refused_and_free_again_when_its_holder_is_killed(tmp_path):
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path, held))
    holder.start()
    assert held.wait(30)
    assert is_worked_on(tmp_path, "night")
    with pytest.raises(Misuse, match="another process"), run_lock(tmp_path, "night"):
        pass
    holder.kill()
    holder.join()
    assert not is_worked_on(tmp_path, "night")
    with run_lock(tmp_path, "night"):
        assert not is_worked_on(tmp_path, "other")
