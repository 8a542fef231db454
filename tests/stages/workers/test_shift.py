"""All slots are filled as long as there are trials, and what runs is never lost."""

import asyncio
import math
import time

import pytest

from stages.workers import slots
from stages.workers.backlog import TRIALS_IN_A_ROW, Backlog, Holder, holding
from stages.workers.shift import run_loop
from stages.workers.slots import keep_filled


class Counting:
    """Runs trials that take a moment, and counts them."""

    def __init__(self, *unrecorded: str) -> None:
        self.ran: list[str] = []
        self.most_at_once = 0
        self._unrecorded = unrecorded
        self._now = 0

    async def run(self, trial_id: str) -> bool:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        await asyncio.sleep(0.01)
        self._now -= 1
        self.ran.append(trial_id)
        return trial_id not in self._unrecorded


def fill(deal, slots: int, run, ends_at: float = math.inf) -> None:
    holder = Holder(deal)
    first = holder.next(slots)
    run_loop(keep_filled(holder, first, slots, ends_at, run))


def test_as_many_trials_as_there_are_slots_run_at_once():
    trials, work = Backlog.of({"any": [str(n) for n in range(9)]}), Counting()
    fill(trials.exchange, 3, work.run)
    assert (sorted(work.ran), work.most_at_once) == ([str(n) for n in range(9)], 3)
    assert trials.done == 9


def test_a_trial_that_was_not_recorded_is_not_done():
    trials = Backlog.of({"any": ["good", "bad", "good too"]})
    fill(trials.exchange, 1, Counting("bad").run)
    assert (trials.done, len(trials.holders)) == (2, 1)


def test_nobody_waits_for_a_probe_while_holding_a_trial_that_was_not_recorded(monkeypatch):
    monkeypatch.setattr(slots, "SECONDS_BETWEEN_ASKS", 0.01)
    trials = Backlog.of({"silent": [str(n) for n in range(20)]})
    work = Counting("2")
    with holding(trials.exchange) as holder:

        async def run(trial_id: str) -> bool:
            holder.unanswered(trial_id)
            return await work.run(trial_id)

        filled = keep_filled(holder, holder.next(1), 1, math.inf, run)
        run_loop(asyncio.wait_for(filled, 5))
    assert len(work.ran) == TRIALS_IN_A_ROW
    assert trials.done == TRIALS_IN_A_ROW - 1
    assert Holder(trials.exchange).next(0).waiting == 20 - trials.done, "it was given back"


def test_nothing_is_begun_once_the_time_is_up():
    trials, work = Backlog.of({"any": ["a", "b", "c"]}), Counting()
    fill(trials.exchange, 2, work.run, ends_at=-math.inf)
    assert (sorted(work.ran), trials.done, trials.waiting) == (["a", "b"], 2, 1)


def test_what_runs_is_finished_when_the_backlog_is_out_of_reach():
    trials, work, words = Backlog.of({"any": ["a", "b", "c"]}), Counting(), []

    def once(ask):
        words.append(ask)
        if len(words) > 1:
            raise OSError("the scheduler is gone")
        return trials.exchange(ask)

    with pytest.raises(OSError, match="the scheduler is gone"):
        fill(once, 2, work.run)
    assert sorted(work.ran) == ["a", "b"]
    assert len(words) == 2


def test_trials_that_nobody_may_begin_yet_are_asked_for_again(monkeypatch):
    monkeypatch.setattr(slots, "SECONDS_BETWEEN_ASKS", 0.01)
    trials, work, words = Backlog.of({"any": ["a", "b", "c"]}), Counting(), []

    def not_yet(ask):
        words.append(ask)
        may = len(words) >= 4
        return trials.exchange(ask if may else ask.model_copy(update={"free": 0}))

    fill(not_yet, 2, work.run)
    assert (sorted(work.ran), trials.done) == (["a", "b", "c"], 3)


def test_nor_are_they_waited_for_once_the_time_is_up():
    trials = Backlog.of({"any": ["a"]})
    began = time.monotonic()
    fill(lambda ask: trials.exchange(ask.model_copy(update={"free": 0})), 2, None, -math.inf)
    assert time.monotonic() - began < 20


class Asked:
    """A backlog that counts how often it was asked."""

    def __init__(self, trials: Backlog) -> None:
        self.trials = trials
        self.times = 0

    def exchange(self, ask):
        self.times += 1
        return self.trials.exchange(ask)


async def at_once(_trial_id: str) -> bool:
    await asyncio.sleep(0)
    return True


def test_trials_that_take_no_time_are_asked_for_many_at_a_time():
    asked = Asked(Backlog.of({"any": [str(n) for n in range(2_000)]}))
    fill(asked.exchange, 2, at_once)
    assert asked.trials.done == 2_000
    assert asked.times < 500


def test_trials_that_take_a_while_are_asked_for_when_there_is_room_for_them():
    asks, trials = [], Backlog.of({"any": [str(n) for n in range(12)]})

    def exchange(ask):
        asks.append(ask)
        return trials.exchange(ask)

    async def slowly(_trial_id: str) -> bool:
        await asyncio.sleep(0.3)
        return True

    fill(exchange, 2, slowly)
    assert trials.done == 12
    assert max(ask.free for ask in asks) == 2


def test_a_reserve_that_no_slot_comes_free_for_goes_to_others(monkeypatch):
    monkeypatch.setattr(slots, "SECONDS_IN_RESERVE", 0.05)
    trials = Backlog.of({"any": [str(n) for n in range(2_000)]})
    others, stuck, goes_on = Holder(trials.exchange), [], asyncio.Event()

    async def run(trial_id: str) -> bool:
        # Once many have gone fast, the slots are taken by trials that do not end by themselves.
        if trials.done < 1_000:
            return await at_once(trial_id)
        stuck.append(trial_id)
        if len(stuck) == 2:
            asyncio.get_running_loop().create_task(take_the_rest())
        await goes_on.wait()
        return True

    async def take_the_rest() -> None:
        while trials.done < 1_900:
            await asyncio.sleep(0.01)
            others.next(0, await asyncio.to_thread(taken))
            if not trials.waiting:
                break
        goes_on.set()

    def taken() -> tuple[str, ...]:
        time.sleep(0.1)
        return others.next(2_000).trial_ids

    fill(trials.exchange, 2, run)
    assert len(stuck) == 2
    assert trials.done == 2_000


def test_no_trial_in_reserve_is_begun_after_the_time_is_up():
    trials, ends = Backlog.of({"any": [str(n) for n in range(100_000)]}), 0.3
    late: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + ends

        async def run(trial_id: str) -> bool:
            if loop.time() > ends_at + 0.1:
                late.append(trial_id)
            return await at_once(trial_id)

        with holding(trials.exchange) as holder:
            await keep_filled(holder, holder.next(2), 2, ends_at, run)

    run_loop(main())
    assert not late
    assert 0 < trials.done < 100_000
    assert trials.waiting == 100_000 - trials.done
    assert not trials.holders
