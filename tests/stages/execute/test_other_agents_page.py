"""What the page on other agents shows does what it says."""

import re
from pathlib import Path

import pytest

from flows.config import load_settings, run_config
from stages.execute.harness import require_agent
from stages.prepare.work import require_fitting
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.run import OutcomeStatus, RunConfig
from taskdata.schema.task import InputFile
from tests.stages.execute.recipes.page import RECIPES, section

PAGE = Path(__file__).resolve().parents[3] / "docs" / "other-agents.md"


def block(language: str) -> str:
    before_recipes = PAGE.read_text().partition("## Recipes")[0]
    (found,) = re.findall(rf"```{language}\n(.*?)```", before_recipes, re.DOTALL)
    return found


@pytest.fixture
def agents(wire, tmp_path, monkeypatch):
    """The agents of the page, as its settings make them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-page")
    monkeypatch.setenv("OPENAI_BASE_URL", wire.openai_url)
    (tmp_path / "my-agent").mkdir(mode=0o755)
    (tmp_path / "my-agent" / "main.py").write_text(block("python"))
    (tmp_path / "nightshift.toml").write_text(block("toml"))
    found = {agent.name: agent for agent in run_config(load_settings()).agents}
    for agent in found.values():
        require_agent(agent)
    return found


def test_the_program_of_the_page_delivers(wire, evaluate, agents, task):
    wire.then(wire.says('{"sum": 5}', input_tokens=1000, output_tokens=100))
    outcome, _ = evaluate(agents["my-agent"], task)
    assert outcome.status is OutcomeStatus.FINISHED
    assert outcome.final_answer == "The file is there."
    assert [file.name for file in outcome.deliverables] == ["final.txt", "out.json"]
    assert task.query in wire.seen[0].body["messages"][0]["content"]
    assert outcome.cost_usd == pytest.approx(1000 * 1.75e-6 + 100 * 14e-6)


def test_the_budgets_of_the_page_can_be_held(agents):
    config = RunConfig(agents=tuple(agents.values()))
    assert config.agents[0].budget.max_usd
    require_fitting(config)
    unpriced = agents["my-agent"].model_copy(
        update={"model": ModelSpec.parse("compatible/mine"), "base_url": "http://localhost:9/v1"}
    )
    with pytest.raises(Misuse, match=r"prices\.yaml .* or leave the limit out"):
        require_fitting(RunConfig(agents=(unpriced,)))


def test_the_script_of_the_page_delivers(evaluate, agents, new_task, store):
    file = InputFile(path="a.txt", sha256=store.artifacts.put_bytes(b"a"), size_bytes=1)
    outcome, _ = evaluate(agents["my-script"], new_task(files=(file,)))
    assert outcome.final_answer == "Copied what there was."
    assert [deliverable.name for deliverable in outcome.deliverables] == ["a.txt"]


def test_every_recipe_is_an_agent_of_its_own_folder():
    assert set(RECIPES) == set(re.findall(r"^### (.*)$", section(), re.MULTILINE))
    for recipe in RECIPES.values():
        folder = f"agents/{recipe.name}"
        assert (recipe.agent.label, recipe.agent.program) == (recipe.name, folder)
        assert folder in recipe.install
        require_agent(recipe.agent.model_copy(update={"program": None}))


def test_the_adapters_that_the_page_names_exist():
    from stages.execute.harness import HARNESSES

    named = re.findall(r"\| `(\w+):openai/", PAGE.read_text())
    assert named
    for name in named:
        assert HARNESSES[name].metered == "loopback"
