"""How the plan reports talks that an agent cannot take part in."""

import pytest

from stages.prepare import work
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec

USER = {"provider": "openai", "model": "gpt-5-mini"}
PACKAGE = {"turn_mode": "multi", "user": {"instructions": "You want the sum."}}


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def planned(store, new_run, new_task):
    """Return the report on the plan of one agent with a talk and another task."""

    def plan(agent: str, **config: object) -> str:
        tasks = [new_task("talk", package=PACKAGE), new_task("plain")]
        spec = AgentSpec.parse(agent, command=("true",) if agent == "command" else ())
        return work.do(store, new_run(*tasks, agents=(spec,), **config).id).note

    return plan


def test_who_cannot_talk_is_named_with_the_reason(planned):
    assert "cannot do 1 of them" not in planned("nop")
    said = planned("command", user=USER)
    assert "; command cannot do 1 of them: task 'talk' is a talk with a simulated user" in said
    assert said.endswith("function_calling or openai_agents or pydantic_ai")


def test_a_run_without_a_user_says_how_to_name_one(planned):
    said = planned("react:openai/gpt-5.2")
    assert "; react:openai/gpt-5.2 cannot do 1 of them: task 'talk' needs a simulated user" in said
    assert "--user" in said
    assert "cannot do" not in planned("react:openai/gpt-5.2", user=USER)


def test_a_user_under_a_cap_needs_a_price(planned):
    unpriced = {"provider": "openai", "model": "gpt-unheard-of"}
    with pytest.raises(Misuse, match="the simulated user's model openai/gpt-unheard-of"):
        planned("nop", user=unpriced, max_usd=1.0)
