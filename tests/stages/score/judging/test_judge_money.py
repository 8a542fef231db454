"""What a judge costs: under the run's cap, never paid twice, and nothing in a replay."""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import count

import pytest

from stages.prepare.work import require
from stages.score import work
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.effort import CallEffort
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.task import Task
from taskdata.schema.usage import Usage

CALL_USD = 0.01
PRICES = """
compatible:
  as_of: 2026-01-01
  source: a test
  models:
    j: {input: 10, output: 10, cached_input: 1}
"""
LEAVES = 6
SCORE_IN_A_PROCESS_OF_ITS_OWN = """
import sys
from stages.score.work import score_trials
from taskdata.store import Store, StoreAddress
store = Store.open(StoreAddress.model_validate_json(sys.argv[1]))
score_trials(store, sys.argv[2], sys.argv[3:])
"""


def agents_call(trial: str, cost_usd: float | None) -> ModelCall:
    return ModelCall(
        trial_id=trial,
        purpose=CallPurpose.AGENT,
        attempt=1,
        key="a" * 64,
        model="m",
        usage=Usage(),
        cost_usd=cost_usd,
        at=datetime.now(UTC),
    )


def question(seen) -> str:
    return seen.body["messages"][-1]["content"]


@pytest.fixture
def verdict(wire):
    """Answer with a score; every answer costs `CALL_USD`."""

    def answer(score: int):
        text = json.dumps({"score": score, "evidence": "It says so."})
        return wire.says(text, input_tokens=900, output_tokens=100)

    return answer


@pytest.fixture
def new_judged(store, new_run, new_task, finished, wire, verdict, tmp_path, monkeypatch):
    """Make a run with finished trials of a task that a judge has to score, leaf by leaf."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(prices))
    wire.respond = lambda seen: verdict(6)
    leaves = tuple(
        Checkpoint(id=f"leaf-{n}", requirement=f"Point {n}.", verifier=Judge(rubric="10 if so."))
        for n in range(LEAVES)
    )
    task = new_task(checkpoints=Checkpoint(id="root", requirement="All.", children=leaves))

    def make(trials: int = 1, cost_usd: float | None = 0.0, also: tuple[Task, ...] = (), **config):
        judge = {"provider": "compatible", "model": "j"}
        run = new_run(task, *also, judge=judge, judge_base_url=wire.openai_url, **config)
        facts = {"final_answer": "A memo.", "cost_usd": cost_usd}
        return run, [finished(run, task, **facts) for _ in range(trials)]

    return make


def test_the_cap_is_never_exceeded_and_what_was_judged_is_not_asked_again(new_judged, store, wire):
    # One call may cost some 0.03 USD or less, as far as anybody knows before it is made.
    run, (trial,) = new_judged(max_usd=0.05)
    report = work.do(store, run.id, 0)
    asked = len(wire.seen)
    assert 1 <= asked < LEAVES
    assert asked * CALL_USD <= 0.05
    assert "the run's money is used up" in report.note
    assert "--max-usd" in store.results(run.id)[0].scoring_error
    assert store.score(trial) is None
    assert work.due(store, run.id, 0) == [trial]
    assert store.spent_usd(run.id) == pytest.approx(asked * CALL_USD)

    # As the next round's execution does when it is done.
    store.forget_replies(run.id)
    store.set_max_usd(run.id, 5.0)
    work.do(store, run.id, 0)
    assert len(wire.seen) == len({question(seen) for seen in wire.seen}) == LEAVES
    assert store.score(trial).root.coverage == pytest.approx(1)
    assert store.score(trial).root.score == pytest.approx(6)
    assert store.spent_usd(run.id) == pytest.approx(LEAVES * CALL_USD)
    assert work.due(store, run.id, 0) == []


def test_what_the_agents_have_spent_is_not_there_for_the_judge(new_judged, store, wire):
    run, (trial,) = new_judged(max_usd=1.0)
    store.record_calls([agents_call(trial, 0.98)])
    report = work.do(store, run.id, 0)
    assert wire.seen == []
    assert (report.done, report.errors) == (0, 1)
    assert store.score(trial) is None


def test_what_needs_no_judge_is_scored_though_nobody_knows_what_was_spent(
    new_judged, store, new_task, finished, wire
):
    plain = new_task("plain")
    run, (judged,) = new_judged(max_usd=1.0, also=(plain,))
    checked = finished(run, plain, final_answer="5")
    store.record_calls([agents_call(judged, None)])
    report = work.do(store, run.id, 0)
    assert (report.done, report.errors, wire.seen) == (1, 1, [])
    assert store.score(checked).root.score == 0
    assert "start a new run" in report.note


def test_what_imported_results_have_cost_was_paid_elsewhere(new_judged, store, wire):
    elsewhere = AgentSpec(harness="import", label="nop", results="results")
    run, (trial,) = new_judged(cost_usd=None, agents=(elsewhere,), max_usd=1.0)
    work.do(store, run.id, 0)
    assert len(wire.seen) == LEAVES
    assert store.score(trial).root.score == pytest.approx(6)


def test_many_trials_stay_below_the_cap_together(new_judged, store, wire):
    run, trials = new_judged(trials=4, max_usd=0.12)
    work.do(store, run.id, 0)
    assert len(wire.seen) >= LEAVES
    assert len(wire.seen) * CALL_USD <= 0.12
    assert any(store.score(trial) is None for trial in trials)


def test_a_cap_needs_the_judges_price(new_judged):
    run, _ = new_judged(max_usd=1.0)
    unknown = run.config.judge.model_copy(update={"model": "other"})
    with pytest.raises(Misuse, match="the judge compatible/other is not in the price table"):
        require(run.config.model_copy(update={"judge": unknown}))


def test_a_killed_scoring_leaves_what_it_paid_for(new_judged, store, store_address, wire, verdict):
    numbers = count()
    wire.respond = lambda seen: verdict(6) if next(numbers) < 3 else wire.waits(60, verdict(0))
    run, (trial,) = new_judged(max_usd=5.0)
    arguments = (store_address.model_dump_json(), run.id, trial)
    scoring = subprocess.Popen([sys.executable, "-c", SCORE_IN_A_PROCESS_OF_ITS_OWN, *arguments])
    deadline = time.monotonic() + 30
    while len(store.judge_calls(trial)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    scoring.kill()
    scoring.wait()
    kept = {call.key for call in store.judge_calls(trial)}
    assert len(kept) == 3

    wire.seen.clear()
    wire.respond = lambda seen: verdict(8)
    work.do(store, run.id, 0)
    assert len(wire.seen) == LEAVES - 3
    assert store.score(trial).root.score == pytest.approx(7)
    judging = store.results(run.id)[0].judging
    assert (judging.calls, judging.tokens) == (LEAVES, LEAVES * 1000)
    assert judging.cost_usd == pytest.approx(LEAVES * CALL_USD)


def test_a_replay_asks_nobody_and_scores_the_same(new_judged, store, wire, verdict):
    numbers = count()

    def respond(seen):
        number = next(numbers)
        return wire.says("well, hm") if number % 3 == 0 else verdict(number % 11)

    wire.respond = respond
    first, trials = new_judged(trials=2, replies="keep")
    work.do(store, first.id, 0)
    asked = len(wire.seen)
    assert asked > LEAVES

    wire.respond = lambda seen: wire.fails(500, "nobody must be asked")
    again, replayed = new_judged(trials=2, replies="replay", max_usd=0.001)
    work.do(store, again.id, 0)
    assert len(wire.seen) == asked
    assert [store.score(t).root for t in replayed] == [store.score(t).root for t in trials]
    assert store.results(again.id)[0].judging == CallEffort()


def test_what_was_not_recorded_stays_due_and_says_so(new_judged, store, wire):
    run, (trial,) = new_judged(replies="replay")
    report = work.do(store, run.id, 0)
    assert (report.done, report.errors) == (0, 1)
    assert "no recorded reply" in report.note
    assert wire.seen == []
    assert work.due(store, run.id, 0) == [trial]


def test_a_judge_that_is_asked_anew_is_paid_by_each_run(new_judged, store, wire):
    for _ in range(2):
        run, _ = new_judged()
        work.do(store, run.id, 0)
        assert store.results(run.id)[0].judging.calls == LEAVES
    assert len(wire.seen) == 2 * LEAVES
