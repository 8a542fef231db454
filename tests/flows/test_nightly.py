"""The night's DAG."""

from flows.nightly import stages_of
from flows.stage_flows import STAGE_FLOWS
from flows.stage_names import STAGES
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import RunConfig


def keys(rounds):
    config = RunConfig(agents=(AgentSpec.parse("nop"),), refinement_rounds=rounds)
    return [call.key for call in stages_of(config)]


def test_a_night_without_refinement():
    assert keys(0) == [
        "gate-tasks",
        "prepare",
        "execute-0",
        "score-0",
        "diagnose-0",
        "gate-scores",
        "publish",
    ]


def test_every_refinement_round_adds_feedback_execution_scoring_and_diagnosis():
    assert keys(2)[5:9] == ["refine-1", "execute-1", "score-1", "diagnose-1"]
    assert keys(2)[9:13] == ["refine-2", "execute-2", "score-2", "diagnose-2"]


def test_a_night_that_is_confirmed_plans_the_re_run_before_it_is_published():
    config = RunConfig(agents=(AgentSpec.parse("nop"),), refinement_rounds=0)
    assert [call.key for call in stages_of(config, confirms=True)][-3:] == [
        "gate-scores",
        "confirm",
        "publish",
    ]


def test_a_rescoring_has_no_stage_in_which_agents_work():
    config = RunConfig(
        agents=(AgentSpec.parse("nop"),), refinement_rounds=1, purpose="rescoring", rescores="r"
    )
    assert [call.key for call in stages_of(config, confirms=True)] == [
        "prepare",
        "score-0",
        "diagnose-0",
        "score-1",
        "diagnose-1",
        "gate-scores",
        "publish",
    ]


def test_no_two_calls_of_a_night_share_a_key():
    assert len(set(keys(3))) == len(keys(3))


def test_the_cheap_list_of_stage_names_is_the_list_of_flows():
    assert set(STAGES) == set(STAGE_FLOWS)
