"""What a labeller costs: under the run's cap, booked apart, never paid twice."""

import subprocess
import sys
import time
from itertools import count

import pytest

from stages.diagnose import work
from stages.prepare.work import require
from stages.workers import backlog as backlogs
from stages.workers import slots
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.schema.diagnosis import Diagnosis
from taskdata.schema.effort import CallEffort
from taskdata.store import Store
from tests.soak import at_length_only
from tests.stages.diagnose.labelling.conftest import MISREAD, labels

CALL_USD = 0.01
PRICES = """
compatible:
  as_of: 2026-01-01
  source: a test
  models:
    l: {input: 10, output: 10, cached_input: 1}
"""
LABEL_IN_A_PROCESS_OF_ITS_OWN = """
import sys
from stages.diagnose.work import do
from taskdata.store import Store, StoreAddress
do(Store.open(StoreAddress.model_validate_json(sys.argv[1])), sys.argv[2], 0)
"""
TRIALS = 5


@pytest.fixture
def reply(wire):
    """A reply that costs `CALL_USD`."""
    return wire.says(labels(MISREAD), input_tokens=900, output_tokens=100)


@pytest.fixture
def new_failed(new_labelled_run, play_failed, wire, reply, tmp_path, monkeypatch):
    """Make a run with failed trials; the labeller's price is known, and it is sure of itself."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(prices))
    wire.respond = lambda seen: reply

    def make(trials: int = TRIALS, **config: object):
        run = new_labelled_run(**config)
        return run, [play_failed(run) for _ in range(trials)]

    return make


def given_by_model(store, run) -> int:
    found = (result.diagnosis for result in store.results(run.id) if result.diagnosis is not None)
    return sum(any(label.by for label in diagnosis.labels) for diagnosis in found)


def test_the_cap_is_never_exceeded_and_rules_have_labelled_all_the_same(new_failed, store, wire):
    # One call may cost some 0.08 USD, as far as anybody knows before it is made.
    run, _ = new_failed(max_usd=0.1)
    report = work.do(store, run.id, 0)
    asked = len(wire.seen)
    assert 1 <= asked < TRIALS
    assert store.spent_usd(run.id) == pytest.approx(asked * CALL_USD)
    assert (report.due, report.done, report.errors) == (TRIALS, TRIALS, TRIALS - asked)
    assert report.note.startswith(f"{TRIALS - asked} have labels of rules alone: ")
    assert "the run's money is used up" in report.note
    results = store.results(run.id)
    assert all(result.diagnosis.labels for result in results)
    assert len(work.due(store, run.id, 0)) == TRIALS - asked

    # As the next round's execution does when it is done.
    store.forget_replies(run.id)
    store.set_max_usd(run.id, 5.0)
    report = work.do(store, run.id, 0)
    assert (report.errors, report.note, work.due(store, run.id, 0)) == (0, "", [])
    assert (len(wire.seen), given_by_model(store, run)) == (TRIALS, TRIALS)


def test_what_it_cost_stands_apart(new_failed, store):
    run, (trial,) = new_failed(trials=1)
    work.do(store, run.id, 0)
    (result,) = store.results(run.id)
    assert result.labelling.calls == 1
    assert result.labelling.cost_usd == pytest.approx(CALL_USD)
    assert (result.judging, result.talking) == (CallEffort(), CallEffort())
    assert (store.paid_calls(trial), store.judge_calls(trial)) == ([], [])
    assert store.past_labelling(run.config.labeller).calls == 1


def test_a_reply_whose_label_could_not_be_stored_is_not_paid_for_again(
    new_failed, store, wire, monkeypatch
):
    run, _ = new_failed(trials=2)
    with monkeypatch.context() as broken:
        kept = Store.record_diagnosis

        def gone(self: Store, diagnosis: Diagnosis) -> bool:
            if diagnosis.by_model is not None:
                raise StoreUnavailable("the database is gone")
            return kept(self, diagnosis)

        broken.setattr(Store, "record_diagnosis", gone)
        with pytest.raises(StoreUnavailable):
            work.do(store, run.id, 0)
    assert (len(wire.seen), given_by_model(store, run)) == (2, 0)

    assert work.do(store, run.id, 0).errors == 0
    assert (len(wire.seen), given_by_model(store, run)) == (2, 2)


@at_length_only
@pytest.mark.soak
def test_a_killed_labelling_leaves_what_it_paid_for(new_failed, store, store_address, wire, reply):
    numbers = count()
    wire.respond = lambda seen: reply if next(numbers) < 3 else wire.waits(60, reply)
    run, trials = new_failed()
    arguments = (store_address.model_dump_json(), run.id)
    labelling = subprocess.Popen([sys.executable, "-c", LABEL_IN_A_PROCESS_OF_ITS_OWN, *arguments])
    deadline = time.monotonic() + 30
    while sum(len(store.labeller_calls(t)) for t in trials) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    labelling.kill()
    labelling.wait()
    assert given_by_model(store, run) <= 3

    wire.seen.clear()
    wire.respond = lambda seen: reply
    work.do(store, run.id, 0)
    assert len(wire.seen) == TRIALS - 3
    assert given_by_model(store, run) == TRIALS
    assert store.spent_usd(run.id) == pytest.approx(TRIALS * CALL_USD)


def test_a_replay_asks_nobody_and_labels_the_same(new_failed, store, wire, reply):
    numbers = count()
    wire.respond = lambda seen: wire.says("well, hm") if next(numbers) == 0 else reply
    first, _ = new_failed(trials=2, replies="keep")
    work.do(store, first.id, 0)
    asked = len(wire.seen)

    wire.respond = lambda seen: wire.fails(500, "nobody must be asked")
    again, _ = new_failed(trials=2, replies="replay")
    report = work.do(store, again.id, 0)
    assert (report.errors, len(wire.seen)) == (0, asked)
    assert {r.diagnosis.labels for r in store.results(again.id)} == {
        r.diagnosis.labels for r in store.results(first.id)
    }
    assert all(result.labelling == CallEffort() for result in store.results(again.id))


def test_a_cap_needs_the_labellers_price(new_failed):
    run, _ = new_failed(trials=0, max_usd=1.0)
    unknown = run.config.labeller.model_copy(update={"model": "other"})
    with pytest.raises(Misuse, match="the labeller compatible/other is not in the price table"):
        require(run.config.model_copy(update={"labeller": unknown}))


def test_a_labeller_out_of_reach_leaves_the_labels_of_rules(new_failed, store, wire, monkeypatch):
    monkeypatch.setattr(slots, "SECONDS_BETWEEN_ASKS", 0.05)
    monkeypatch.setattr(backlogs, "SECONDS_BETWEEN_PROBES", 0.05)
    monkeypatch.setattr(backlogs, "SILENT_SECONDS", 0.1)
    run, trials = new_failed(trials=12)
    wire.respond = lambda seen: wire.fails(500, retry_after=2000)

    report = work.do(store, run.id, 0)
    assert (report.due, report.done, report.errors) == (12, 12, 12)
    assert len(wire.seen) < 12
    causes = [result.diagnosis.by_model.error for result in store.results(run.id)]
    assert all(causes)
    assert any("did not answer" in cause for cause in causes)
    assert set(work.due(store, run.id, 0)) == set(trials)
