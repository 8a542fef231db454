"""What a run is configured with can be stored and read again, or is refused before it is."""

import math

import pytest
from pydantic import ValidationError

from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.run import RunConfig

NOT_FINITE = (math.inf, -math.inf, math.nan)
PLACES = (
    ("max_usd",),
    ("threshold",),
    ("deadlines", "setup_seconds"),
    ("deadlines", "line_seconds"),
    ("deadlines", "attempt_seconds"),
    ("deadlines", "collect_seconds"),
    ("agents", 0, "temperature"),
    ("agents", 0, "budget", "max_seconds"),
    ("agents", 0, "budget", "max_usd"),
)


def put(into, value, *place):
    """Return JSON with the value at a place in it."""
    key, *rest = place
    there = into.get(key, {}) if isinstance(into, dict) else into[key]
    filled = put(there, value, *rest) if rest else value
    return into | {key: filled} if isinstance(into, dict) else [filled]


@pytest.mark.parametrize("number", NOT_FINITE)
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_number_that_json_has_no_word_for_is_refused(place, number):
    plain = RunConfig(agents=(AgentSpec.parse("nop"),)).model_dump(mode="json")
    RunConfig.model_validate(put(plain, 3.0, *place))
    with pytest.raises(ValidationError) as caught:
        RunConfig.model_validate(put(plain, number, *place))
    assert caught.value.errors()[0]["loc"][: len(place)] == place


@pytest.mark.parametrize("usd", [0.0, -5.0, *NOT_FINITE])
def test_a_cap_that_no_run_can_have_is_refused_and_the_run_stays_as_it_was(store, new_run, usd):
    run = new_run(max_usd=2.0)
    with pytest.raises(Misuse, match="max_usd"):
        store.set_max_usd(run.id, usd)
    assert [known.config.max_usd for known in store.runs()] == [2.0]
    store.set_max_usd(run.id, 40.0)
    assert store.run(run.id).config == run.config.model_copy(update={"max_usd": 40.0})


def test_a_limit_of_replies_that_was_named_is_told_from_the_default_also_when_stored():
    named = AgentSpec.parse("command:openai/m", budget={"max_reply_tokens": 4_096})
    silent = AgentSpec.parse("command:openai/m", budget={"max_turns": 100})
    read = [AgentSpec.model_validate_json(each.canonical_json()) for each in (named, silent)]
    assert [each.budget.names_reply_limit for each in read] == [True, False]
    assert [each.budget.max_reply_tokens for each in read] == [4_096, 4_096]


def test_budgets_are_stored_as_ever_where_no_such_limit_was_named():
    stored = {
        "max_turns": 100,
        "max_tokens": 20_000_000,
        "max_reply_tokens": 4_096,
        "max_seconds": 1_800.0,
        "max_usd": None,
    }
    assert AgentSpec.parse("nop").budget.model_dump(mode="json") == stored
    assert not Budget.model_validate(stored).names_reply_limit
    other = AgentSpec.parse("nop", budget={"max_reply_tokens": 9_000}).budget
    assert other.model_dump(mode="json") == stored | {"max_reply_tokens": 9_000}


NOP = (AgentSpec.parse("nop"),)


@pytest.mark.parametrize("field", ["judge", "judges"])
def test_several_judges_are_a_panel_each_at_its_endpoint(field):
    judges = ["openai/a", {"model": "compatible/b", "base_url": "http://b/v1"}, "compatible/c"]
    config = RunConfig(agents=NOP, judge_base_url="http://c/v1", **{field: judges})
    assert RunConfig.model_validate_json(config.model_dump_json()) == config
    assert [(str(one.model), one.base_url) for one in config.every_judge] == [
        ("openai/a", None),
        ("compatible/b", "http://b/v1"),
        ("compatible/c", "http://c/v1"),
    ]
    assert config.judge_name == "median of openai/a, compatible/b, compatible/c"


def test_one_judge_is_no_panel():
    config = RunConfig(agents=NOP, judge=["openai/a"], judge_base_url="http://a/v1")
    assert config == RunConfig(agents=NOP, judge="openai/a", judge_base_url="http://a/v1")
    assert (config.judge_name, len(config.every_judge)) == ("openai/a", 1)
    assert RunConfig(agents=NOP).judge_name is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"judge": ["openai/a", "openai/a"]}, "a judge is named twice"),
        ({"judge": "openai/a", "judges": ["openai/b"]}, "judge and judges are both given"),
        ({"judge": ["openai/a"], "judges": ["openai/b"]}, "give one of them"),
        ({"judges": ["openai/a", "openai/b"], "panel": "best"}, "panel"),
    ],
)
def test_a_panel_that_cannot_be_is_refused(fields, message):
    with pytest.raises(ValidationError, match=message):
        RunConfig(agents=NOP, **fields)


@pytest.mark.parametrize(
    ("given", "arms"),
    [
        ("coarse", ("coarse",)),
        ("none,coarse, diagnosis", ("none", "coarse", "diagnosis")),
        (["self", "critic_taxonomy"], ("self", "critic_taxonomy")),
    ],
)
def test_arms_are_named_in_one_text_or_in_a_list(given, arms):
    config = RunConfig.model_validate({"agents": [AgentSpec.parse("nop")], "feedback": given})
    assert config.feedback == arms
    assert RunConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize("given", ["", [], "none,none", "praise"])
def test_arms_that_no_run_can_have_are_refused(given):
    with pytest.raises(ValidationError) as caught:
        RunConfig.model_validate({"agents": [AgentSpec.parse("nop")], "feedback": given})
    assert caught.value.errors()[0]["loc"][0] == "feedback"
