"""Runs of one installation that are at work at once keep a provider's limits together."""

import multiprocessing
import time

import pytest

from environments.models.limits.board_file import BoardFile
from environments.models.limits.coordinator import Coordinator, Word
from environments.models.limits.seam import Want
from environments.models.limits.shares import FORGOTTEN_AFTER_SECONDS, Shares
from taskdata.schema.ceilings import Ceilings

TEN = {"openai": Ceilings(concurrency=10, requests_per_minute=600, tokens_per_minute=9000)}


@pytest.fixture(params=["in memory", "in a file"])
def boards(request, tmp_path):
    """What two runs are given: the board of one scheduler, or a file that each opens."""
    if request.param == "in memory":
        return (Shares(),) * 2
    return BoardFile(tmp_path / "limits.json"), BoardFile(tmp_path / "limits.json")


def two_runs(boards, one=TEN, other=TEN):
    return (
        Coordinator(one, board=boards[0], run="one"),
        Coordinator(other, board=boards[1], run="other"),
    )


def say(run, now=0.0, worker="w", **want):
    """Have a run's worker speak of one provider; return its share."""
    wanted = {"openai": Want(**({"calls": 100} | want))}
    return run.exchange(Word(worker=worker, wants=wanted), now).shares["openai"]


def test_no_slot_is_given_to_two_runs(boards):
    one, other = two_runs(boards)
    assert say(one).concurrency == 10
    assert say(other).concurrency == 0, "the first has not given back what it has"
    assert say(one, in_flight=9).concurrency == 5
    assert say(other).concurrency == 1, "four calls of the first are still in flight"
    say(one, in_flight=5)
    assert say(other).concurrency == 5


def test_rates_are_divided_like_the_slots(boards):
    one, other = two_runs(boards)
    for run in (one, other) * 2:
        say(run)
    parts = [say(run).part for run in (one, other)]
    assert parts == [0.5, 0.5]
    assert say(one).requests_per_minute == 600


def test_a_pause_that_one_run_is_told_holds_for_the_other(boards):
    one, other = two_runs(boards)
    say(one, 0.0, pause_seconds=9)
    assert say(other, 2.0).pause_seconds == pytest.approx(7)


def test_the_strictest_limit_holds_for_all_while_its_run_is_at_work(boards):
    one, strict = two_runs(boards, {}, {"openai": Ceilings(concurrency=4, tokens_per_minute=60)})
    say(one, answers=84)
    assert say(strict).concurrency == 0
    assert (say(one).concurrency, say(one).tokens_per_minute) == (2, 60)
    assert say(strict).concurrency == 2
    strict.end()
    assert say(one).tokens_per_minute is None


def test_the_share_of_a_run_that_was_killed_is_the_others_after_a_while(boards):
    one, other = two_runs(boards)
    say(one, 0.0)
    assert say(other, 1.0).concurrency == 0
    assert say(other, FORGOTTEN_AFTER_SECONDS + 1).concurrency == 10


def test_money_stays_each_runs_own(boards):
    one = Coordinator(max_usd=1.0, board=boards[0], run="one")
    other = Coordinator(max_usd=1.0, board=boards[1], run="other")
    asks = Word(worker="w", asks_usd=(0.9,))
    assert one.exchange(asks, 0.0).granted == 1
    assert other.exchange(asks, 0.0).granted == 1


def work(path, name, begin, told):
    """Hold as many calls in flight as the board allows; tell how many at each look."""
    run = Coordinator(TEN, board=BoardFile(path), run=name)
    begin.wait()
    in_flight = 0
    for _ in range(200):
        in_flight = say(run, time.monotonic(), in_flight=in_flight).concurrency
        told.put((time.monotonic(), name, in_flight))
    told.put((time.monotonic(), name, 0))
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
    ["", "{", '{"boot_id": "of another boot", "workers": {"one/w": {"slots": {"openai": 10}}}}'],
)
def test_a_file_that_says_nothing_of_this_boot_is_an_empty_board(text, tmp_path):
    file = tmp_path / "limits.json"
    file.write_text(text)
    run = Coordinator(TEN, board=BoardFile(file), run="one")
    assert say(run).concurrency == 10


def test_a_run_that_begins_alone_learns_the_provider_anew(tmp_path):
    board = BoardFile(tmp_path / "limits.json")
    run = Coordinator({}, board=board, run="one")
    for times in range(5):
        say(run, refused=times)
    board.begin(1.0)
    assert say(run, 1.0).window.size < 2, "a run is at work: what is known stays known"
    run.end()
    board.begin(2.0)
    assert say(Coordinator({}, board=board, run="two"), 2.0).window.is_starting
