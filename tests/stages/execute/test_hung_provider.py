"""A provider that hangs is to blame for it, whoever calls it; a model that is slow is not."""

import asyncio

import pytest

from environments.models import retry
from environments.models.retry import RetryPolicy
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.deadlines import Deadlines
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.transcript import Ending

ATTEMPT_SECONDS = 0.8
HARNESSES = ("function_calling", "react", "openai_agents", "pydantic_ai")


async def never(seen, request):
    await asyncio.Event().wait()


@pytest.fixture
def ended(wire, evaluate, new_answer_task):
    """Run a trial of an agent; returns how it ended, and why where that is no ending."""

    def run(harness: str, attempt_seconds: float, max_seconds: float) -> tuple:
        agent = AgentSpec.parse(
            f"{harness}:compatible/m",
            base_url=wire.openai_url,
            budget=Budget(max_seconds=max_seconds),
        )
        deadlines = {"attempt_seconds": attempt_seconds}
        outcome, _ = evaluate(agent, new_answer_task(), deadlines=deadlines)
        return outcome.status, outcome.ending, outcome.error or ""

    return run


def test_an_attempt_is_as_long_as_it_always_was():
    default = Deadlines().attempt_seconds
    assert default == RetryPolicy().attempt_seconds == 600 < Budget().max_seconds


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("trial", ["a default trial", "a trial as short as an attempt"])
def test_a_trial_that_was_never_answered_is_not_out_of_time(harness, trial, wire, ended):
    wire.respond = lambda seen: never
    default = Budget().max_seconds / RetryPolicy().attempt_seconds
    share = default if trial == "a default trial" else 1.0
    status, ending, error = ended(harness, ATTEMPT_SECONDS, ATTEMPT_SECONDS * share)
    assert (status, ending) == (OutcomeStatus.INFRASTRUCTURE, None)
    assert "compatible/m at 127.0.0.1" in error


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_provider_that_falls_silent_is_to_blame_for_it(harness, wire, ended, monkeypatch):
    monkeypatch.setattr(retry, "_LEAST_PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(retry, "_PATIENCE", 2.0)
    wire.then(wire.says("", ("list_files", {})) if harness != "react" else wire.says("Hm."))
    wire.respond = lambda seen: never
    status, ending, error = ended(harness, 60, 4)
    assert (status, ending) == (OutcomeStatus.INFRASTRUCTURE, None)
    assert "no answer within" in error


@pytest.mark.parametrize("harness", HARNESSES)
def test_who_begins_a_long_reply_with_little_time_left_runs_out_of_it(harness, wire, ended):
    wire.then(wire.says("", ("list_files", {})) if harness != "react" else wire.says("Hm."))
    wire.respond = lambda seen: never
    assert ended(harness, 60, 4) == (OutcomeStatus.FINISHED, Ending.OUT_OF_TIME, "")


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_slow_model_may_run_out_of_time(harness, wire, ended):
    reply = wire.says("", ("list_files", {})) if harness != "react" else wire.says("Hm.")
    wire.respond = lambda seen: wire.waits(1.5, reply)
    assert ended(harness, 60, 4) == (OutcomeStatus.FINISHED, Ending.OUT_OF_TIME, "")


@pytest.mark.parametrize("harness", HARNESSES)
def test_how_long_an_attempt_may_take_is_the_runs_to_say(harness, wire, ended):
    wire.then(wire.waits(1.5, wire.says("Final Answer: late")), wire.fails(400))
    status, ending, _ = ended(harness, 60, 30)
    assert (status, ending) == (OutcomeStatus.FINISHED, Ending.FINISHED)
    assert len(wire.seen) == 1

    wire.script.clear()
    wire.then(wire.waits(1.5, wire.says("Final Answer: late")), wire.says("Final Answer: prompt"))
    status, ending, _ = ended(harness, 0.5, 30)
    assert (status, ending) == (OutcomeStatus.FINISHED, Ending.FINISHED)
    assert len(wire.seen) == 3
