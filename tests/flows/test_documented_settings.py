"""What the guides say can be written into settings can be."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from environments.mcp.servers import server
from environments.models.money.prices import PriceTable
from flows.config import LOCAL_BUDGET, LOCAL_PLANNING_BUDGET, Settings, refresh_config, run_config
from quality.limits import GateLimits
from stages.score.asked_again import filled
from stages.score.library import validate_check
from taskdata.schema.checkpoint import Check, Checkpoint, Verifier
from taskdata.schema.deadlines import Deadlines
from taskdata.schema.package import TaskPackage
from taskdata.schema.safety import SafetyRules
from taskdata.schema.service import MailService, PostgresqlService
from taskdata.schema.task import Resources

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("block", blocks("agents.md", "toml"))
def test_settings_of_agents_and_limits_are_taken(block):
    told = tomllib.loads(block)
    run, config = told.get("run", {}), run_config(Settings(**told))
    for provider, limits in run.get("limits", {}).items():
        assert config.limits[provider].model_dump(exclude_defaults=True) == limits
    for agent, given in zip(config.agents, run.get("agents", ()), strict=False):
        if isinstance(given, str):
            assert agent.name == given
            continue
        assert agent.base_url == given.get("base_url")
        assert agent.budget.model_dump().items() >= given.get("budget", {}).items()


def test_the_panel_of_the_guide_is_taken():
    (block,) = [block for block in blocks("scoring.md", "toml") if "panel" in block]
    config = run_config(Settings(**tomllib.loads(block)))
    assert config.judge_name == "mean of openai/gpt-5.2, compatible/my-judge"
    assert config.every_judge[1].base_url == "http://localhost:8001/v1"


def test_settings_of_a_refresh_are_taken():
    (block,) = [block for block in blocks("task-bank.md", "toml") if "[refresh]" in block]
    given = tomllib.loads(block)["refresh"]
    config = refresh_config(Settings(refresh=given))
    assert str(config.model) == given["model"]
    assert config.limits.model_dump(exclude_defaults=True) == given["limits"]


def test_the_safety_rules_that_are_told_are_the_defaults():
    (block,) = [block for block in blocks("task-bank.md", "toml") if "[safety]" in block]
    told = tomllib.loads(block)
    assert set(told["safety"]) == set(SafetyRules.model_fields)
    assert Settings(**told).safety == SafetyRules()


def test_the_deadlines_that_are_told_are_the_defaults():
    (block,) = [block for block in blocks("agents.md", "toml") if "deadlines" in block]
    told = tomllib.loads(block)
    assert Settings(**told).stage_seconds == Settings().stage_seconds
    assert run_config(Settings(run=told["run"])).deadlines == Deadlines()


def test_a_price_table_is_taken():
    (block,) = blocks("agents.md", "yaml")
    table = TypeAdapter(PriceTable).validate_python(yaml.safe_load(block))
    assert table["compatible"].models["my-model"].output == 1.6
    assert table["compatible"].models["another"] is None


def test_what_a_task_has_around_it_is_taken():
    task = yaml.safe_load(blocks("environments.md", "yaml")[0])
    assert Resources.model_validate(task["resources"]).network[0] == "api.example.org"
    database, mail = task["environment"]["services"]
    assert PostgresqlService.model_validate(database).user == "agent"
    assert MailService.model_validate(mail).accounts[0].address == "ana@example.org"


def test_a_check_of_what_a_service_holds_is_taken():
    leaf = Checkpoint.model_validate(yaml.safe_load(blocks("environments.md", "yaml")[1]))
    assert isinstance(leaf.verifier, Check)
    validate_check(leaf.verifier)


def test_the_package_of_a_talk_and_a_leaf_that_asks_again_are_taken():
    (block,) = blocks("talks.md", "yaml")
    package = TaskPackage.model_validate(yaml.safe_load(block)["package"])
    assert (package.turn_mode, package.misplaced) == ("multi", None)
    (leaf,) = [block for block in blocks("scoring.md", "yaml") if "asked_again" in block]
    verifier = TypeAdapter(Verifier).validate_python(yaml.safe_load(leaf)["verifier"])
    validate_check(filled(verifier.check, 1.08))


def test_a_server_at_a_url_is_taken(tmp_path):
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "servers.yaml").write_text(blocks("environments.md", "yaml")[2])
    assert server("weather", tmp_path).check.tool == "forecast"


def test_the_readme_says_how_little_room_the_built_in_model_has():
    told = (DOCS.parent / "README.md").read_text()
    budget = LOCAL_BUDGET
    assert f"{budget.max_turns} turns of at most {budget.max_reply_tokens} tokens" in told


def test_the_guide_to_planning_says_how_long_a_local_plan_may_be():
    told = " ".join((DOCS / "planning.md").read_text().split())
    budget = LOCAL_PLANNING_BUDGET
    assert f"a reply of at most {budget.max_reply_tokens} tokens" in told
    assert f"{budget.max_seconds / 60:g} minutes for two of them" in told


def test_minima_of_judges_are_taken():
    (block,) = blocks("agreement.md", "toml")
    told = tomllib.loads(block)
    assert Settings(**told).agreement.model_dump() == told["agreement"]
    # The documented values are the defaults.
    assert Settings(**told).agreement == Settings(agreement={}).agreement


def test_the_limits_of_gates_that_are_told_are_all_there_are_with_their_defaults():
    (block,) = [block for block in blocks("task-bank.md", "toml") if "[gates." in block]
    told = tomllib.loads(block)["gates"]
    assert told == GateLimits().model_dump(mode="json")
    assert Settings(gates=told).gates == GateLimits()


@pytest.mark.parametrize(
    "table",
    [
        {"seeds": {"text_lenght": [1, 2]}},
        {"seeds": {"text_length": [9, 2]}},
        {"bank": {"max_source_share": 6}},
        {"scores": {}},
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(table):
    with pytest.raises(ValidationError):
        Settings(gates=table)
