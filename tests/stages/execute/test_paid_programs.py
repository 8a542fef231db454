"""Agents that call their model by themselves: a trial whose worker dies does not pay twice."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from aiohttp import web

from environments.models.limits import limiter
from stages.execute import work
from stages.prepare import work as preparing
from taskdata.errors import StoreUnavailable
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.transcript import ModelEvent

PRICES = """
compatible:
  as_of: 2026-01-01
  source: a test
  models:
    m: {input: 10, output: 10, cached_input: 1}
"""
CALL_USD = 0.01
ASKING = """
import json, os, urllib.request
def ask(text, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
         "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answered:
        return answered.read().decode()
def said(text):
    return json.loads(ask(text))["choices"][0]["message"]["content"]
"""
WORKER = """
import sys
from pathlib import Path
from stages.execute import work
from taskdata.store import Store, StoreAddress
database, artifacts, run, home = sys.argv[1:]
store = Store.open(StoreAddress(database_url=database, artifacts_url=artifacts))
work.do(store, run, 0, Path(home))
"""
TALKING = """
first = said("How much is 2+3?")
second = ask("Is it more than " + first, stream=True)
print(first, second.count("Yes"), said("Good."))
"""


@pytest.fixture
def paid(store_address):
    """Ask for the number of answers that the test's run has paid for, and for their USD."""

    def ask() -> tuple[int, float]:
        database = store_address.database_url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(database)) as store:
            found = store.execute(
                "SELECT count(*), total(cost_usd) FROM model_call WHERE model <> ''"
            )
            return found.fetchone()

    return ask


@pytest.fixture
def run_of(store, new_run, new_task, wire, tmp_path, monkeypatch):
    """Plan a run of one trial; every call of its agent costs 0.01 USD."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(prices))
    monkeypatch.setenv("COMPATIBLE_API_KEY", "sk-canary-paid")
    # A process remembers what its runs have spent, and runs of other tests have the same ids.
    monkeypatch.setattr(limiter, "_limiters", {})

    def plan(name, **settings):
        agent = AgentSpec.parse(
            name, base_url=wire.openai_url, budget=Budget(max_reply_tokens=100), **settings
        )
        run = new_run(new_task("one"), agents=(agent,), refinement_rounds=0, max_usd=5.0)
        preparing.do(store, run.id)
        return run

    return plan


@pytest.fixture
def program(run_of):
    command = ("python3", "-c", ASKING + TALKING)
    return lambda: run_of("command:compatible/m", label="my-agent", command=command)


@pytest.fixture
def killed(store, tmp_path, monkeypatch):
    """Run a run's trial; its worker dies before anything of the trial is recorded."""

    def execute(run):
        def dies(outcome):
            raise StoreUnavailable("killed")

        with monkeypatch.context() as patched:
            patched.setattr(store, "record_outcome", dies)
            with pytest.raises(StoreUnavailable, match="killed"):
                work.do(store, run.id, 0, tmp_path)

    return execute


@pytest.fixture
def resumed(store, tmp_path):
    """Run what is due of a run; returns the trial's outcome and its model calls."""

    def execute(run):
        work.do(store, run.id, 0, tmp_path)
        (result,) = store.results(run.id)
        assert result.outcome.status is OutcomeStatus.FINISHED
        events = store.transcript(result.outcome.trial_id).events
        return result.outcome, [event for event in events if isinstance(event, ModelEvent)]

    return execute


def costs(wire, text="", *calls, number=0):
    """Answer, for 0.01 USD, as a stream where that is asked for; call ids differ by number."""

    async def behave(seen, request):
        if not seen.body.get("stream"):
            usual = wire.says(text, *calls, input_tokens=900, output_tokens=100)
            answer = await usual(seen, request)
            body = answer.body.replace(b'"call_0"', f'"call_{number}"'.encode())
            return web.Response(body=body, content_type="application/json")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in (
            '{"choices": [{"index": 0, "delta": {"content": "Yes"}}]}',
            '{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}',
            '{"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 100}}',
            "[DONE]",
        ):
            await response.write(f"data: {event}\n\n".encode())
        return response

    return behave


def test_a_program_whose_worker_dies_pays_once(wire, program, killed, resumed, store, paid):
    wire.respond = lambda seen: costs(wire, "Five.")
    run = program()
    killed(run)
    assert paid() == (len(wire.seen), pytest.approx(3 * CALL_USD))
    assert store.spent_usd(run.id) == pytest.approx(3 * CALL_USD)
    outcome, events = resumed(run)
    assert outcome.final_answer == "Five. 1 Five."
    assert len(wire.seen) == 3
    assert [event.text for event in events] == ["Five.", "Yes", "Five."]
    assert (outcome.turns, outcome.usage.total) == (3, 3_000)
    assert outcome.cost_usd == pytest.approx(3 * CALL_USD)
    assert paid() == (3, pytest.approx(3 * CALL_USD))
    # The trial is over, and its transcript holds the answers.
    assert store.paid_calls(outcome.trial_id) == []


def test_a_program_that_was_cut_short_is_carried_on_where_it_stopped(
    wire, program, resumed, store, paid, tmp_path
):
    wire.then(costs(wire, "Five."), costs(wire), wire.fails(500))
    run = program()
    assert work.do(store, run.id, 0, tmp_path).errors == 1
    assert paid() == (2, pytest.approx(2 * CALL_USD))
    wire.then(costs(wire, "Bye."))
    outcome, _ = resumed(run)
    assert (outcome.attempt, outcome.turns, outcome.final_answer) == (2, 3, "Five. 1 Bye.")
    assert [seen.body["messages"][0]["content"] for seen in wire.seen] == [
        "How much is 2+3?",
        "Is it more than Five.",
        "Good.",
        "Good.",
    ]
    assert paid()[0] == 3


def test_a_run_without_money_left_still_gets_what_it_has_paid_for(
    wire, program, killed, resumed, store
):
    wire.respond = lambda seen: costs(wire, "Five.")
    run = program()
    killed(run)
    store.set_max_usd(run.id, 3 * CALL_USD)
    outcome, _ = resumed(run)
    assert outcome.final_answer == "Five. 1 Five."
    assert len(wire.seen) == 3


def test_kill_9_between_two_calls(wire, program, resumed, store, paid, store_address, tmp_path):
    run = program()
    address = (store_address.database_url, store_address.artifacts_url)
    argv = [sys.executable, "-c", WORKER, *address, run.id, str(tmp_path)]

    async def kills(seen, request):
        os.kill(worker.pid, signal.SIGKILL)
        return web.Response(status=500)

    wire.then(costs(wire, "Five."), costs(wire), kills)
    worker = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    assert worker.wait(timeout=60) == -signal.SIGKILL
    assert paid() == (2, pytest.approx(2 * CALL_USD))
    wire.then(costs(wire, "Bye."))
    outcome, _ = resumed(run)
    assert outcome.final_answer == "Five. 1 Bye."
    assert [seen.body["messages"][0]["content"] for seen in wire.seen][2:] == ["Good."] * 2
    assert paid() == (3, pytest.approx(outcome.cost_usd))


@pytest.mark.parametrize("harness", ["openai_agents", "pydantic_ai"])
def test_an_sdks_loop_whose_worker_dies_pays_once(
    wire, run_of, killed, resumed, store, paid, harness
):
    write = ("write_file", {"path": "output/out.json", "content": '{"sum": 5}'})
    wire.then(
        costs(wire, "First the file.", write, number=1),
        costs(wire, "", ("finish", {"answer": "Done."}), number=2),
    )
    run = run_of(f"{harness}:compatible/m")
    killed(run)
    assert paid() == (2, pytest.approx(2 * CALL_USD))
    outcome, events = resumed(run)
    assert outcome.final_answer == "Done."
    assert [file.name for file in outcome.deliverables] == ["out.json"]
    assert (len(wire.seen), len(events), outcome.tool_calls) == (2, 2, 2)
    assert paid() == (2, pytest.approx(outcome.cost_usd))


def test_a_model_on_this_machine_is_paid_for_by_nobody(
    wire, store, paid, new_run, new_task, tmp_path
):
    wire.respond = lambda seen: costs(wire, "Five.")
    name, command = "local/smollm2-135m", ("python3", "-c", ASKING + TALKING)
    agent = AgentSpec.parse(f"command:{name}", label="my-agent", command=command)
    task = new_task("one")
    run = new_run(task, agents=(agent,), refinement_rounds=0)
    trial = preparing.first_trial(run.id, agent.name, task.content_hash, task, 0)
    store.plan_trials([trial])
    work.execute_trials(store, run.id, [trial.id], {name: (wire.openai_url,)}, tmp_path)
    assert len(wire.seen) == 3
    assert paid() == (0, 0.0)
