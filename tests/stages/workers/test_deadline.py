"""What hangs in a trial is named and ended, and what cannot be ended is left behind."""

import asyncio
import threading
import time

import pytest

from environments.sandbox.shielding import to_the_end
from stages.workers import deadline as deadlines
from stages.workers import shift
from stages.workers.deadline import Deadline, StageEnd, in_time
from stages.workers.shift import run_loop
from taskdata.errors import DeadlinePassed
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.deadlines import Deadlines

SHORT = Deadlines(setup_seconds=0.05, line_seconds=0.05, collect_seconds=0.05)
HOSTED = AgentSpec.parse("react:openai/gpt-5.2", budget=Budget(max_seconds=0.1))


def run(work, allowed: Deadlines = SHORT, stage_seconds: float | None = None):
    """Run `work(deadline)` in time, in a loop of its own."""

    async def within():
        now = asyncio.get_running_loop().time()
        stage = StageEnd(now + stage_seconds) if stage_seconds else StageEnd()
        deadline = Deadline(allowed, stage)
        return await in_time(work(deadline), deadline)

    return run_loop(within())


def test_the_step_that_hangs_is_named_with_the_setting():
    cleaned = []

    async def work(deadline):
        deadline.set_up("reading its task")
        deadline.step = "opening its sandbox"
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(DeadlinePassed, match=r"while opening its sandbox: .* 0\.05 s \(setup_"):
        run(work)
    assert cleaned == [True]


def test_each_part_has_its_own_time():
    async def work(deadline):
        deadline.set_up("reading its task")
        deadline.work(HOSTED)
        await asyncio.sleep(0.1)
        deadline.collect("closing its sandbox")
        await asyncio.Event().wait()

    with pytest.raises(DeadlinePassed, match=r"while closing its sandbox: .*collect_seconds = 0"):
        run(work)


def test_time_in_line_is_not_the_agents_but_bounded(monkeypatch):
    monkeypatch.setattr(deadlines, "CLEAN_UP_SECONDS", 0.1)
    began = time.monotonic()

    async def work(deadline):
        deadline.work(HOSTED)
        await asyncio.Event().wait()

    with pytest.raises(DeadlinePassed, match=r"max_seconds = 0\.1, line_seconds = 0\.05") as caught:
        run(work)
    assert "while its agent worked" in str(caught.value)
    assert 0.25 <= time.monotonic() - began < 20


@pytest.mark.parametrize("name", ["reference", "react:local/smollm2-135m"])
def test_who_has_no_line_to_stand_in_has_no_time_for_it(name):
    async def work(deadline):
        deadline.work(AgentSpec.parse(name, budget=Budget(max_seconds=0.01)))
        await asyncio.Event().wait()

    with pytest.raises(DeadlinePassed) as caught:
        run(work, stage_seconds=0.05)
    assert "line_seconds" not in str(caught.value)


def test_the_stages_deadline_comes_before_a_later_one():
    async def work(deadline):
        deadline.set_up("reading its task")
        await asyncio.Event().wait()

    with pytest.raises(DeadlinePassed, match="reading its task: the stage's deadline had come"):
        run(work, Deadlines(), stage_seconds=0.05)


def test_what_is_being_collected_when_the_stage_must_end_is_not_thrown_away():
    async def work(deadline):
        deadline.work(HOSTED)
        deadline.collect("collecting what the agent left")
        await asyncio.sleep(0.3)
        return "collected"

    assert run(work, Deadlines(), stage_seconds=0.1) == "collected"


def test_what_is_done_in_time_is_the_result():
    async def work(deadline):
        deadline.set_up("reading its task")
        return 5

    assert run(work) == 5


def test_removal_that_hangs_too_is_left_behind(monkeypatch, caplog):
    monkeypatch.setattr(deadlines, "CLEAN_UP_SECONDS", 0.1)

    async def work(deadline):
        deadline.set_up("opening its sandbox")
        try:
            await asyncio.Event().wait()
        finally:
            await to_the_end(asyncio.Event().wait())

    began = time.monotonic()
    with pytest.raises(DeadlinePassed):
        run(work)
    assert time.monotonic() - began < 20
    (said,) = [record.getMessage() for record in caplog.records]
    assert "while opening its sandbox has not ended after 0.1 s" in said


def test_a_thread_that_hangs_keeps_no_loop_from_ending(monkeypatch, caplog):
    monkeypatch.setattr(shift, "CLOSING_SECONDS", 0.1)
    released = threading.Event()

    async def work(deadline):
        deadline.collect("collecting what the agent left")
        await asyncio.to_thread(released.wait)

    began = time.monotonic()
    with pytest.raises(DeadlinePassed, match="while collecting what the agent left"):
        run(work)
    assert time.monotonic() - began < 20
    assert "something of a batch hangs" in caplog.text
    released.set()
