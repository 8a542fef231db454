"""The order in which agents are shown."""

from taskdata.schema.estimate import Estimate
from taskdata.schema.ranking import controls, ranked
from taskdata.schema.summary import AgentSummary


def agent(name: str, score: float | None, root_sr: float | None = None) -> AgentSummary:
    estimate, is_control = Estimate(mean=score, ci95=None), name in ("reference", "nop")
    return AgentSummary.model_construct(
        agent=name, is_control=is_control, root_score=estimate, root_sr=root_sr
    )


def names(agents) -> list[str]:
    return [one.agent for one in agents]


def test_agents_are_ranked_by_score_and_controls_stand_apart():
    agents = [agent("nop", 0), agent("a", 3), agent("reference", 10), agent("b", 8)]
    assert names(ranked(agents)) == ["b", "a"]
    assert names(controls(agents)) == ["reference", "nop"]


def test_an_agent_without_a_score_is_last():
    assert names(ranked([agent("a", None), agent("b", 0.0)])) == ["b", "a"]


def test_of_equal_scores_the_success_rate_decides_and_then_the_order_of_the_run():
    agents = [agent("a", 5, 0.1), agent("b", 5, 0.4), agent("c", 5, 0.1)]
    assert names(ranked(agents)) == ["b", "a", "c"]
