"""What a trial offers: the task's own tools and servers, and unrelated ones on purpose."""

import asyncio
import sys

from environments.mcp.offer import Offer, offered, server_tools
from environments.ports import Workspace
from environments.sandbox.providers import sandbox_provider
from taskdata.schema.task import Resources, TaskEnvironment


def test_without_an_environment_the_tools_are_the_tasks(new_task):
    assert offered(new_task(tools=("Solver", "Calculator"))) == Offer(("Solver", "Calculator"), ())


def test_without_distractors_nothing_is_reordered(new_task):
    task = new_task(
        tools=("Solver", "Calculator"), environment=TaskEnvironment(servers=("word", "excel"))
    )

    assert offered(task) == Offer(("Solver", "Calculator"), ("word", "excel"))


def test_distractors_are_mixed_in_and_offered_once(new_task):
    task = new_task(
        tools=("Solver",),
        environment=TaskEnvironment(
            servers=("word",), distractors=("mcp:memory", "Plot", "mcp:word", "Calculator")
        ),
    )

    assert offered(task) == Offer(("Calculator", "Plot", "Solver"), ("memory", "word"))


def test_a_task_without_distractors_keeps_its_hash(new_task):
    around = TaskEnvironment(servers=("word",))
    stored = new_task(environment=around).model_dump(mode="json")

    assert "distractors" not in stored["environment"]
    before_there_were_any = "72118426be21eb19a9cf4c2b88ba10d2862817f5e226a5020eb1dc50e069cdff"
    assert around.digest() == before_there_were_any


def test_distractors_change_the_hash_and_are_kept(new_task):
    plain = new_task(environment=TaskEnvironment(servers=("word",)))
    harder = new_task(environment=TaskEnvironment(servers=("word",), distractors=("Plot",)))

    assert harder.content_hash != plain.content_hash
    assert type(harder).model_validate_json(harder.model_dump_json()) == harder


def test_a_trial_without_servers_starts_none(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "environments.mcp.client.trial", None)
    workspace = Workspace(tmp_path)
    workspace.output.mkdir()

    async def run():
        async with (
            sandbox_provider("bubblewrap").open(workspace, Resources()) as sandbox,
            server_tools(Offer(("Plot",), ()), sandbox, workspace, Resources(), tmp_path) as tools,
        ):
            return tools

    assert asyncio.run(run()) == ()
