"""Each recipe of docs/other-agents.md: the program is installed by its own line, and does a task.

The provider is scripted: first a call of the program's own shell, or what stands in for one, that
writes the deliverable, then the end. Installing takes minutes and a gigabyte or two, so
`make recipes` runs these tests and `make test` does not.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_cache_path

from stages.execute.harness import require_agent
from stages.score import work as score
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.transcript import Ending
from tests.stages.execute.recipes.page import RECIPES, Recipe
from tests.stages.execute.recipes.streaming import USAGE, replies

pytestmark = pytest.mark.recipes

ROOT = Path(__file__).resolve().parents[4]
CACHE = user_cache_path("nightshift-recipes")

DELIVERABLE = '{"sum": 5, "difference": 1, "product": 6}'
SHELL = f"echo '{DELIVERABLE}' > output/out.json"
SHELLS: dict[str, dict[str, Any]] = {
    "bash": {"command": SHELL},
    "Bash": {"command": SHELL, "description": "Write the file"},
    "run_shell_command": {"command": SHELL, "is_background": False},
    "exec_command": {"cmd": SHELL},
    "shell": {"command": ["sh", "-c", SHELL]},
    "shell_command": {"command": SHELL},
}
"""Arguments with which a program's tool runs a line of shell, by the tool's name."""
WRITTEN = {
    "aider": f"output/out.json\n```\n{DELIVERABLE}\n```\n",
    "smolagents": (
        f"Thought: I write it.\n<code>\nopen('output/out.json', 'w').write('{DELIVERABLE}')\n"
        "final_answer('Done.')\n</code>"
    ),
}
"""What the model of a program without such a tool writes instead."""


@pytest.fixture(params=RECIPES)
def recipe(request) -> Recipe:
    return RECIPES[request.param]


@pytest.fixture
def agent(recipe, wire, monkeypatch) -> AgentSpec:
    """The recipe's agent, installed, its model behind the scripted provider."""
    folder = CACHE / recipe.name
    if not (folder / ".installed").exists():
        line = recipe.install.replace("agents/", f"{CACHE}/")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["sh", "-c", line], cwd=ROOT, check=True, timeout=900)
        (folder / ".installed").touch()
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, "sk-canary-recipes")
    dialect = "anthropic" if recipe.agent.model.provider == "anthropic" else "openai"
    changes = {"program": str(folder), "base_url": wire.base_url(dialect)}
    agent = recipe.agent.model_copy(update=changes)
    require_agent(agent)
    return agent


def scripted(name: str, seen):
    """Let the program's model call its shell once, then say that it is done."""
    tools = [tool.get("name") or tool["function"]["name"] for tool in offered(seen.body)]
    turns = [turn for turn in conversation(seen.body) if is_models(turn)]
    shells = [tool for tool in tools if tool in SHELLS]
    if name in WRITTEN and not turns:
        return replies(WRITTEN[name])
    if turns and name == "mini-swe-agent":
        submit = {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}
        return replies("Done.", ("bash", submit), number=2)
    if turns or not shells:
        return replies("Done.")
    return replies("I write it.", (shells[0], SHELLS[shells[0]]))


def offered(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [tool for tool in body.get("tools") or () if "name" in tool or "function" in tool]


def conversation(body: dict[str, Any]) -> list[dict[str, Any]]:
    turns = body.get("messages") or body.get("input") or []
    return [turn for turn in turns if isinstance(turn, dict)]


def is_models(turn: dict[str, Any]) -> bool:
    """Whether a turn shows that the model has called its shell before."""
    if turn.get("type") == "function_call_output" or turn.get("role") == "tool":
        return True
    parts = turn["content"] if isinstance(turn.get("content"), list) else []
    return any(part.get("type") == "tool_result" for part in parts if isinstance(part, dict))


def test_a_program_does_its_task_and_its_tokens_are_counted(
    recipe, agent, wire, evaluate, task, store
):
    wire.respond = lambda seen: scripted(recipe.name, seen)

    outcome, transcript = evaluate(agent, task)

    said = "\n\n".join(event.text for event in transcript.events)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.FINISHED, Ending.FINISHED), said
    assert "out.json" in [file.name for file in outcome.deliverables], said
    assert outcome.turns == len(wire.seen) >= 1
    assert outcome.usage.input_tokens == USAGE[0] * outcome.turns
    assert outcome.usage.output_tokens == USAGE[1] * outcome.turns
    assert outcome.cost_usd > 0
    (run,) = store.runs()
    score.do(store, run.id, 0)
    assert [result.root_score for result in store.results(run.id)] == [10.0]
