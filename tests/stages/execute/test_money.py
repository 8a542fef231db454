"""A run's money: no call is made that could cost more than is left."""

import pytest

from environments.models.paid import CallWriter
from stages.execute import work
from stages.prepare import work as preparing
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec, Budget

CALL_USD = 0.01
PRICES = """
compatible:
  as_of: 2026-01-01
  source: a test
  models:
    m: {input: 10, output: 10, cached_input: 1}
"""


@pytest.fixture
def planned(store, new_run, new_task, wire, tmp_path, monkeypatch):
    """Plan ten one-call trials under a cap; every call costs 0.01 USD."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(prices))
    wire.respond = lambda seen: wire.says("Done.", input_tokens=900, output_tokens=100)

    def plan(max_usd, model="m"):
        agent = AgentSpec.parse(
            f"function_calling:compatible/{model}",
            base_url=wire.openai_url,
            budget=Budget(max_reply_tokens=10),
        )
        task = new_task("one", tools=("sleep", "finish"))
        run = new_run(task, agents=(agent,), repetitions=10, refinement_rounds=0, max_usd=max_usd)
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
    assert work.spent_usd(store, store.run(run.id)) == pytest.approx(10 * CALL_USD)


def test_money_of_an_earlier_stage_counts_once(planned, store, wire, tmp_path):
    run = planned(max_usd=0.16)
    work.do(store, run.id, 0, tmp_path)
    # All ten were made: 0.10 spent and once more 0.03 for the last one fit into 0.16.
    assert len(wire.seen) == 10
    assert store.spent_usd(run.id) == pytest.approx(10 * CALL_USD)


def test_paid_calls_are_stored_however_a_batch_ends(planned, store, monkeypatch):
    async def dies(*batch):
        raise RuntimeError("a bug of ours")

    closed = []
    close = CallWriter.close
    monkeypatch.setattr(CallWriter, "close", lambda self: (closed.append(self), close(self))[1])
    monkeypatch.setattr(work, "_work_off", dies)
    run = planned(max_usd=5.0)

    with pytest.raises(RuntimeError, match="a bug of ours"):
        work.execute_trials(store, run.id, work.due(store, run.id, 0), {})

    assert len(closed) == 1
