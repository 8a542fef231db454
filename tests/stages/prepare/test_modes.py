"""Which agents a run over planning cases has, and what cannot be mixed."""

import pytest

from stages.execute.harness import in_mode, require_agent
from stages.prepare.modes import in_mode_of
from stages.prepare.select import select
from taskdata.banks.found import find_bank
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import RunConfig
from tests.price_cases import case, unsolvable, write_bank


@pytest.fixture
def bank(tmp_path, new_task):
    """A folder with these tasks."""
    return lambda *tasks: str(write_bank(tmp_path / "bank", *tasks))


def _config(bank: str, *agents: str | AgentSpec, **more: object) -> RunConfig:
    specs = [a if isinstance(a, AgentSpec) else AgentSpec.parse(a) for a in agents]
    return RunConfig(bank=bank, agents=tuple(specs), **more)


def _names(config: RunConfig) -> list[str]:
    return [agent.name for agent in config.agents]


def test_agents_with_a_model_become_planners_with_the_same_settings(store, bank) -> None:
    agents = (
        AgentSpec.parse("react:openai/gpt-5.2", reasoning_effort="low"),
        AgentSpec.parse("function_calling:openai/gpt-4o", text_tool_calls=True),
        AgentSpec.parse("pydantic_ai:openai/gpt-5.1", label="ours"),
        "reference",
        "nop",
    )
    run = select(store, _config(bank(case(), unsolvable()), *agents), "night")

    names = ["planner:openai/gpt-5.2", "planner:openai/gpt-4o", "ours", "reference", "nop"]
    assert _names(run.config) == names
    assert run.config.agents[0].reasoning_effort == "low"
    for agent in run.config.agents[:2]:
        require_agent(agent)


def test_two_ways_of_working_with_one_model_are_one_planner(store, bank) -> None:
    folder = bank(case())
    config = _config(folder, "react:openai/gpt-4o", "function_calling:openai/gpt-4o")

    assert _names(select(store, config, "night").config) == ["planner:openai/gpt-4o"]

    differ = AgentSpec.parse("function_calling:openai/gpt-4o", temperature=0.5)
    with pytest.raises(Misuse, match="give one of them a label"):
        select(store, _config(folder, "react:openai/gpt-4o", differ), "other")


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("react_steps:openai/gpt-4o", "cannot answer planning cases"),
        ("react+plan_first:openai/gpt-4o", "cannot answer planning cases"),
    ],
)
def test_agents_of_other_modes_are_refused(store, bank, agent, says) -> None:
    with pytest.raises(Misuse, match=says):
        select(store, _config(bank(case()), agent), "night")


def test_planning_cases_are_not_mixed_with_tasks_to_be_done(store, bank, new_task) -> None:
    folder = bank(case(), new_task())

    with pytest.raises(Misuse, match="choose one kind with --task"):
        select(store, _config(folder, "nop"), "night")
    alone = select(store, _config(folder, "react:openai/m", tasks=("lamp-and-desk",)), "alone")
    assert _names(alone.config) == ["planner:openai/m"]
    done = select(store, _config(folder, "react:openai/m", tasks=("sum-two",)), "done")
    assert _names(done.config) == ["react:openai/m"]


@pytest.mark.parametrize("mode", ["end-to-end", "step-by-step"])
def test_a_mode_that_carries_out_is_refused_for_planning_cases(store, bank, mode) -> None:
    folder = bank(case())

    with pytest.raises(Misuse, match="leave --mode out"):
        in_mode_of(find_bank(store, folder), _config(folder, "nop"), mode)


def test_plan_mode_and_planners_are_refused_for_tasks_to_be_done(store, bank, new_task) -> None:
    folder = bank(new_task())
    found = find_bank(store, folder)

    with pytest.raises(Misuse, match="--mode plan: only plans"):
        in_mode_of(found, _config(folder, in_mode(AgentSpec.parse("react:a/m"), "plan")), "plan")
    with pytest.raises(Misuse, match="--mode plan"):
        in_mode_of(found, _config(folder, "nop"), "plan")
    with pytest.raises(Misuse, match="agent 'planner:a/m'"):
        select(store, _config(folder, "planner:a/m"), "night")
