"""Runs of one installation that are at work at once keep a provider's limits together."""

import multiprocessing
import time

import pytest

from environments.models.limits.coordinator import Coordinator, Report
from environments.models.limits.shared_limits import (
    FORGOTTEN_AFTER_SECONDS,
    Demand,
    SharedLimits,
    limits_file,
)
from environments.models.money.shared_budget import MoneyReport
from taskdata.schema.ceilings import Ceilings

TEN = {"openai": Ceilings(concurrency=10, requests_per_minute=600, tokens_per_minute=9000)}


@pytest.fixture(params=["in memory", "in a file"])
def opened(request, tmp_path):
    """How two runs open what they share: an object of one scheduler, or a file."""
    if request.param == "in memory":
        return SharedLimits().opened
    return lambda: limits_file(tmp_path / "limits.json")


def two_runs(opened, one=TEN, other=TEN):
    return (
        Coordinator(one, limits=opened, run="one"),
        Coordinator(other, limits=opened, run="other"),
    )


def say(run, now=0.0, worker="w", **want):
    """Have a run's worker speak of one provider; return its share."""
    wanted = {"openai": Demand(**({"calls": 100} | want))}
    return run.exchange(Report(worker=worker, demands=wanted), now).shares["openai"]


def test_no_slot_is_given_to_two_runs(opened):
    one, other = two_runs(opened)
    assert say(one).slots == 10
    assert say(other).slots == 0, "the first has not given back what it has"
    assert say(one, in_flight=9).slots == 5
    assert say(other).slots == 1, "four calls of the first are still in flight"
    say(one, in_flight=5)
    assert say(other).slots == 5


def test_rates_are_divided_like_the_slots(opened):
    one, other = two_runs(opened)
    for run in (one, other) * 2:
        say(run)
    parts = [say(run).part for run in (one, other)]
    assert parts == [0.5, 0.5]
    assert say(one).ceilings.requests_per_minute == 600


def test_a_pause_that_one_run_is_told_holds_for_the_other(opened):
    one, other = two_runs(opened)
    say(one, 0.0, pause_seconds=9)
    assert say(other, 2.0).pause_seconds == pytest.approx(7)


def test_the_strictest_limit_holds_for_all_while_its_run_is_at_work(opened):
    one, strict = two_runs(opened, {}, {"openai": Ceilings(concurrency=4, tokens_per_minute=60)})
    say(one, answers=84)
    assert say(strict).slots == 0
    assert (say(one).slots, say(one).ceilings.tokens_per_minute) == (2, 60)
    assert say(strict).slots == 2
    strict.end()
    assert say(one).ceilings.tokens_per_minute is None


def test_the_share_of_a_run_that_was_killed_is_the_others_after_a_while(opened):
    one, other = two_runs(opened)
    say(one, 0.0)
    assert say(other, 1.0).slots == 0
    assert say(other, FORGOTTEN_AFTER_SECONDS + 1).slots == 10


def test_money_stays_each_runs_own(opened):
    one = Coordinator(max_usd=1.0, limits=opened, run="one")
    other = Coordinator(max_usd=1.0, limits=opened, run="other")
    asks = Report(worker="w", money=MoneyReport(waiting_usd=(0.9,)))
    assert one.exchange(asks, 0.0).money.granted == 1
    assert other.exchange(asks, 0.0).money.granted == 1


def work(path, name, begin, told):
    """Hold as many calls in flight as its share allows; tell how many at each look."""
    run = Coordinator(TEN, limits=lambda: limits_file(path), run=name)
    begin.wait()
    in_flight = 0
    for _ in range(200):
        in_flight = say(run, time.time(), in_flight=in_flight).slots
        told.put((time.time(), name, in_flight))
    told.put((time.time(), name, 0))
    run.end()


def test_processes_never_exceed_the_ceiling_together(tmp_path):
    context = multiprocessing.get_context("spawn")
    begin, told = context.Barrier(2), context.Queue()
    runs = [
        context.Process(target=work, args=(tmp_path / "limits.json", name, begin, told))
        for name in ("one", "other")
    ]
    for run in runs:
        run.start()
    looks = sorted(told.get(timeout=60) for _ in range(402))
    for run in runs:
        run.join()
    held = {"one": 0, "other": 0}
    for _, name, in_flight in looks:
        held[name] = in_flight
        assert sum(held.values()) <= 10
    assert all(any(n == name and calls for _, n, calls in looks) for name in held)


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"boot_id": "of an earlier version", "workers": {"a/w": {"slots": {"openai": 9}}}}'],
)
def test_a_file_that_cannot_be_read_is_empty(text, tmp_path):
    file = tmp_path / "limits.json"
    file.write_text(text)
    run = Coordinator(TEN, limits=lambda: limits_file(file), run="one")
    assert say(run).slots == 10


def test_a_run_that_begins_alone_learns_the_provider_anew(opened):
    one, other = two_runs(opened, {}, {})
    for times in range(5):
        say(one, refused=times)
    assert say(other, 1.0).window.size < 2, "a run is at work: what is known stays known"
    one.end()
    other.end()
    assert say(one, 2.0).window.is_starting
