"""A scripted provider, the real tools over a real sandbox, and agents that use both."""

import asyncio
from pathlib import Path

import pytest

from environments.models.client import Endpoint
from environments.models.openai import OpenAIClient
from environments.models.retry import RetryPolicy
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from environments.tools.toolbox import Toolbox
from stages.execute.assignment import Assignment
from stages.execute.harness import harness_kind
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript


@pytest.fixture
def play(wire, tmp_path: Path):
    """Let an agent work on a task against the scripted provider; returns its transcript."""
    policy = RetryPolicy(attempts=2, first_wait_seconds=0.01)

    async def work(agent: AgentSpec, task: Task, feedback: str | None) -> Transcript:
        model = None
        if agent.model is not None:
            model = OpenAIClient(Endpoint(agent.model, wire.openai_url, "key"), policy)
        provider = sandbox_provider("bubblewrap")
        with new_workspace(tmp_path / "work", {"notes.txt": b"milk\neggs\n"}) as workspace:
            async with provider.open(workspace, task.resources) as sandbox:
                tools = Toolbox(task.tools, sandbox)
                assignment = Assignment(task.brief(feedback), agent, tools, model)
                try:
                    return await harness_kind(agent.harness).build(agent, task).run(assignment)
                finally:
                    if model is not None:
                        await model.close()

    def run(name: str, task: Task, feedback: str | None = None, **budget) -> Transcript:
        agent = AgentSpec.parse(name, budget=Budget(**budget))
        return asyncio.run(work(agent, task, feedback))

    return run
