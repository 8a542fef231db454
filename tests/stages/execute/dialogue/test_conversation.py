"""What is on record of a conversation however it ends."""

import asyncio

import pytest

from environments.models.openai.chat import OpenAIClient
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.tool_runtime.toolbox import Toolbox
from stages.execute.assignment import Assignment
from stages.execute.dialogue.conversation import Conversation
from stages.execute.dialogue.journal import Journal
from taskdata.schema.agent import AgentSpec


class NoSandbox:
    """A sandbox that must not be used."""


def test_a_call_that_is_cut_off_leaves_the_evidence_of_its_attempts(wire, task):
    wire.then(wire.fails(503, "overloaded"), wire.waits(30, wire.says("late")))
    agent, journal = AgentSpec.parse("function_calling:compatible/m"), Journal()

    async def cut_off() -> None:
        endpoint = Endpoint(agent.model, wire.openai_url, "key")
        client = OpenAIClient(endpoint, RetryPolicy(first_wait_seconds=0.01))
        talk = Conversation(
            Assignment(task.brief(None), agent, Toolbox((), NoSandbox()), client, journal),
            "function_calling_v3",
        )
        asking = asyncio.create_task(talk.ask())
        while len(wire.seen) < 2:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await client.close()

    asyncio.run(cut_off())
    told = [event.text for event in journal.events[-2:]]
    assert "attempt 1: HTTP 503" in told[0]
    assert "attempt 2" in told[1]
    assert "we cut it off" in told[1]
