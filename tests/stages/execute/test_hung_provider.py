"""A provider that hangs from the start is to blame for it, whoever calls it."""

import asyncio
from functools import partial

import pytest

from environments.metering import forwarding
from environments.models import client
from environments.models.retry import RetryPolicy
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.run import OutcomeStatus

ATTEMPT_SECONDS = 0.4


async def never(seen, request):
    await asyncio.Event().wait()


@pytest.fixture
def in_proportion(monkeypatch):
    """Make attempts and a trial's budget as short as a test, in proportion to the defaults."""
    default = RetryPolicy()
    policy = partial(RetryPolicy, attempt_seconds=ATTEMPT_SECONDS, first_wait_seconds=0.01)
    monkeypatch.setattr(client, "RetryPolicy", policy)
    monkeypatch.setattr(forwarding, "SILENT_SECONDS", ATTEMPT_SECONDS)
    return Budget(max_seconds=Budget().max_seconds / default.attempt_seconds * ATTEMPT_SECONDS)


def test_programs_wait_as_long_as_our_own_agents():
    assert RetryPolicy().attempt_seconds == forwarding.SILENT_SECONDS < Budget().max_seconds


@pytest.mark.parametrize("harness", ["function_calling", "react", "openai_agents", "pydantic_ai"])
def test_a_default_trial_is_not_out_of_time(harness, wire, evaluate, task, in_proportion):
    wire.respond = lambda seen: never
    agent = AgentSpec.parse(
        f"{harness}:compatible/m", base_url=wire.openai_url, budget=in_proportion
    )
    outcome, _ = evaluate(agent, task)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.INFRASTRUCTURE, None)
    assert "compatible/m at 127.0.0.1" in outcome.error
