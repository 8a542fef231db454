"""A scripted provider, the real tools over a real sandbox, and agents that use both."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from environments.models.openai.chat import OpenAIClient
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from environments.tool_runtime.toolbox import Toolbox
from environments.toolkit.host_tool import HostToolContext
from stages.execute import work
from stages.execute.assignment import Assignment
from stages.execute.dialogue.journal import Journal
from stages.execute.harness import harness_kind
from stages.prepare.work import first_trial
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.run import OutcomeStatus, Run, RunConfig, RunStatus, TrialOutcome
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript
from taskdata.store import Store

NOTES = {"notes.txt": b"milk\neggs\n"}


@pytest.fixture
def play(wire, tmp_path: Path):
    """Let an agent work on a task against the scripted provider; returns its transcript."""
    policy = RetryPolicy(attempts=2, first_wait_seconds=0.01)

    async def work(
        agent: AgentSpec, task: Task, feedback: str | None, files: Mapping[str, bytes]
    ) -> Transcript:
        model = None
        if agent.model is not None:
            model = OpenAIClient(Endpoint(agent.model, wire.openai_url, "key"), policy)
        provider = sandbox_provider("bubblewrap")
        with new_workspace(tmp_path / "work", files) as workspace:
            async with provider.open(workspace, task.resources) as sandbox:
                journal = Journal()
                assignment = Assignment(
                    brief=task.brief(feedback),
                    agent=agent,
                    tools=Toolbox(
                        task.tools, sandbox, HostToolContext(events=lambda: tuple(journal.events))
                    ),
                    model=model,
                    journal=journal,
                    input_folder=workspace.input,
                    sandbox=sandbox,
                )
                try:
                    return await harness_kind(agent.harness).build(agent, task).run(assignment)
                finally:
                    if model is not None:
                        await model.close()

    def run(
        name: str,
        task: Task,
        feedback: str | None = None,
        files: Mapping[str, bytes] = NOTES,
        settings: Mapping[str, object] | None = None,
        **budget: object,
    ) -> Transcript:
        agent = AgentSpec.parse(name, budget=Budget.model_validate(budget), **(settings or {}))
        return asyncio.run(work(agent, task, feedback, files))

    return run


@pytest.fixture
def evaluate(store: Store, tmp_path: Path):
    """Run one trial of an agent through the whole stage; returns its outcome and transcript.

    Of a trial that came to nothing there is an outcome only.
    """

    def run(
        agent: AgentSpec, task: Task, feedback: str | None = None, **config: object
    ) -> tuple[TrialOutcome, Transcript | None]:
        run = Run(
            id=f"run-{len(store.runs())}",
            status=RunStatus.RUNNING,
            config=RunConfig.model_validate({"bank": "test", "agents": [agent], **config}),
            release_hash=store.add_release("test", (task,), {}).hash,
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_run(run)
        trial = first_trial(run.id, agent.name, task.content_hash, task, 0)
        store.plan_trials([trial.model_copy(update={"feedback": feedback})])
        work.do(store, run.id, 0, tmp_path / "home")
        outcome = store.outcome(trial.id)
        found = outcome.status is OutcomeStatus.FINISHED
        return outcome, store.transcript(trial.id) if found else None

    return run
