"""A run's money: no call is made that could cost more than is left."""

import pytest

from environments.models.money.shared_budget import spent_usd
from environments.models.record.recorder import CallRecorder
from stages.execute import work
from stages.prepare import work as preparing
from stages.score import work as scoring
from stages.workers import shift
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.transcript import Ending

CALL_USD = 0.01
PRICES = """
compatible:
  as_of: 2026-01-01
  source: a test
  models:
    m: {input: 10, output: 10, cached_input: 1}
"""


@pytest.fixture
def planned(store, new_run, new_answer_task, wire, tmp_path, monkeypatch):
    """Plan ten one-call trials under a cap; every call costs 0.01 USD."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(prices))
    wire.respond = lambda seen: wire.says("Done.", input_tokens=900, output_tokens=100)

    def plan(max_usd, model="m", repetitions=10, budget=None):
        agent = AgentSpec.parse(
            f"function_calling:compatible/{model}",
            base_url=wire.openai_url,
            budget=budget or Budget(max_reply_tokens=10),
        )
        task = new_answer_task("one", tools=("sleep", "finish"))
        run = new_run(
            task, agents=(agent,), repetitions=repetitions, refinement_rounds=0, max_usd=max_usd
        )
        preparing.do(store, run.id)
        return run

    return plan


def test_calls_stop_before_the_cap_and_the_trials_stay_due(planned, store, wire, tmp_path):
    # One call may cost some 0.03 USD or less, as far as anybody knows before it is made.
    run = planned(max_usd=0.06)
    report = work.do(store, run.id, 0, tmp_path)
    assert 1 <= len(wire.seen) < 10
    assert len(wire.seen) * CALL_USD <= 0.06
    assert report.errors == 10 - len(wire.seen)
    assert "the run's money is used up" in report.note

    store.set_max_usd(run.id, 5.0)
    after = work.do(store, run.id, 0, tmp_path)
    assert (after.errors, len(wire.seen)) == (0, 10)
    assert store.spent_usd(run.id) == pytest.approx(10 * CALL_USD)


def test_a_cap_needs_a_price(planned):
    with pytest.raises(Misuse, match="is not in the price table"):
        planned(max_usd=1.0, model="other")


def test_what_was_spent_before_counts(planned, store, wire, tmp_path):
    run = planned(max_usd=5.0)
    work.do(store, run.id, 0, tmp_path)
    assert spent_usd(store, store.run(run.id)) == pytest.approx(10 * CALL_USD)


def test_money_of_an_earlier_stage_counts_once(planned, store, wire, tmp_path):
    run = planned(max_usd=0.16)
    work.do(store, run.id, 0, tmp_path)
    # All ten were made: 0.10 spent and once more 0.03 for the last one fit into 0.16.
    assert len(wire.seen) == 10
    assert store.spent_usd(run.id) == pytest.approx(10 * CALL_USD)


def test_a_server_that_once_reports_no_usage_does_not_end_the_run(planned, store, wire, tmp_path):
    wire.then(wire.says("Done.", input_tokens=0, output_tokens=0))
    run = planned(max_usd=0.06, repetitions=2)
    assert work.do(store, run.id, 0, tmp_path).errors == 0
    spent = store.spent_usd(run.id)
    # That one counts as the most that it can have cost, some 0.02 USD.
    assert CALL_USD + 0.01 < spent <= 0.06
    assert scoring.do(store, run.id, 0).done == 2
    assert spent_usd(store, store.run(run.id)) == spent


def test_without_a_known_price_of_earlier_calls_no_other_one_is_made(
    planned, store, wire, tmp_path
):
    run = planned(None, model="other", repetitions=2)
    wire.then(wire.says("Done."), wire.fails(401))
    work.do(store, run.id, 0, tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES.replace("m:", "other:"))
    store.set_max_usd(run.id, 5.0)
    asked = len(wire.seen)

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.due, report.errors, len(wire.seen)) == (1, 1, asked)
    assert "start a new run" in report.note
    assert scoring.do(store, run.id, 0).done == 1


def test_paid_calls_are_stored_however_a_batch_ends(planned, store, monkeypatch):
    async def dies(*batch):
        raise RuntimeError("a bug of ours")

    closed = []
    close = CallRecorder.close
    monkeypatch.setattr(CallRecorder, "close", lambda self: (closed.append(self), close(self))[1])
    monkeypatch.setattr(shift, "keep_filled", dies)
    run = planned(max_usd=5.0)

    with pytest.raises(RuntimeError, match="a bug of ours"):
        work.execute_trials(store, run.id, work.due(store, run.id, 0), {})

    assert len(closed) == 1


def test_answers_that_break_off_are_paid_for_and_a_resumed_run_knows(
    planned, store, wire, tmp_path
):
    # The most that a call can cost is some 0.02 USD, so two may fail and no third one.
    run = planned(max_usd=0.055)
    answers, wire.respond = wire.respond, lambda seen: wire.truncates()
    work.do(store, run.id, 0, tmp_path)
    charged, calls = store.spent_usd(run.id), len(wire.seen)
    assert 0.03 < charged <= 0.055
    assert calls == 2

    report = work.do(store, run.id, 0, tmp_path)
    assert "the run's money is used up" in report.note
    assert (len(wire.seen), store.spent_usd(run.id)) == (calls, charged)

    wire.respond = answers
    store.set_max_usd(run.id, 5.0)
    assert work.do(store, run.id, 0, tmp_path).errors == 0
    assert store.spent_usd(run.id) == pytest.approx(charged + 10 * CALL_USD)


def events_of(store, run, kind):
    (trial,) = store.trials(run.id)
    return [event for event in store.transcript(trial.id).events if event.kind == kind]


def ending_of(store, run):
    (trial,) = store.trials(run.id)
    return store.outcome(trial.id).ending


def goes_on(wire, **usage):
    """Let the agent call a tool with every reply."""
    wire.respond = lambda seen: wire.says("", ("sleep", {"seconds": 0}), **usage)


def test_a_trial_ends_before_the_call_that_could_go_beyond_its_cap(planned, store, wire, tmp_path):
    goes_on(wire, input_tokens=900, output_tokens=100)
    run = planned(None, repetitions=1, budget=Budget(max_usd=0.08, max_reply_tokens=10))
    work.do(store, run.id, 0, tmp_path)
    assert ending_of(store, run) is Ending.OUT_OF_MONEY
    # Each cost 0.01 USD, and could have cost some 0.02.
    assert 5 <= len(wire.seen) <= 7


def test_a_server_that_reports_no_usage_uses_up_a_trials_cap_too(planned, store, wire, tmp_path):
    goes_on(wire, input_tokens=0, output_tokens=0)
    run = planned(None, repetitions=1, budget=Budget(max_usd=0.055, max_reply_tokens=10))
    work.do(store, run.id, 0, tmp_path)
    assert ending_of(store, run) is Ending.OUT_OF_MONEY
    assert len(wire.seen) == 2


def test_attempts_that_may_be_charged_use_up_a_trials_cap_and_are_not_its_agents_doing(
    planned, store, wire, tmp_path
):
    goes_on(wire, input_tokens=90, output_tokens=10)
    wire.then(wire.truncates())
    run = planned(None, repetitions=1, budget=Budget(max_usd=0.07, max_reply_tokens=10))
    report = work.do(store, run.id, 0, tmp_path)
    assert (report.errors, ending_of(store, run)) == (1, None)
    assert "attempts that brought no answer may be charged" in report.note
    before = len(wire.seen)

    work.do(store, run.id, 0, tmp_path)
    assert ending_of(store, run) is Ending.OUT_OF_MONEY
    assert len(wire.seen) > before
    failed = [each for event in events_of(store, run, "model") for each in event.failed_attempts]
    assert [each.status for each in failed] == [None]
    assert sum(each.cost_at_most_usd for each in failed) > 0.02
    assert store.outcome(store.trials(run.id)[0].id).cost_usd == pytest.approx(
        0.001 * (len(wire.seen) - 1)
    ), "what may be charged is no cost that is known"


def test_replies_become_shorter_before_the_money_is_gone(planned, store, wire, tmp_path):
    goes_on(wire, input_tokens=900, output_tokens=100)
    run = planned(None, repetitions=1, budget=Budget(max_usd=0.08, max_reply_tokens=4_000))
    work.do(store, run.id, 0, tmp_path)
    asked = [seen.body["max_tokens"] for seen in wire.seen]
    assert asked[0] > asked[-1] >= 256


def test_no_trial_is_out_of_money_because_its_provider_failed(planned, store, wire, tmp_path):
    wire.respond = lambda seen: wire.truncates()
    run = planned(None, repetitions=1, budget=Budget(max_usd=0.03, max_reply_tokens=10))
    report = work.do(store, run.id, 0, tmp_path)
    assert len(wire.seen) == 1
    assert "there is no money for another" in report.note
