"""A whole run over planning cases with scripted planners, and what another judge says of it."""

import json
from contextlib import closing

import pytest

from flows.config import as_planner, load_settings, run_config
from stages.execute import work as execute
from stages.prepare import work as preparing
from stages.prepare.rescore import copy_trials, plan_rescoring, rescoring_config
from stages.prepare.select import select
from stages.score import work as score
from taskdata.schema.agent import ModelSpec
from taskdata.store import Store
from tests.price_cases import (
    CHAIN,
    broken,
    case,
    efficiency,
    extraneous,
    next_steps,
    unsolvable,
    write_bank,
)
from tests.soak import at_length_only

REACT = "react:compatible/good"
GOOD, BAD = "planner:compatible/good", "planner:compatible/bad"
PLANS = ("--planning", "--json")
MADE = (case, next_steps, extraneous, broken, efficiency)
CASES = {
    made.planning.setting.value: made
    for made in (
        *(make(query=f"What do the lamp and the desk cost? ({make.__name__})") for make in MADE),
        unsolvable(query="What does the lamp cost? (unsolvable)"),
    )
}
OTHER_ORDER = (CHAIN[1], CHAIN[0], *CHAIN[2:])
NO_ERRORS = json.dumps({"errors": []})
ONE_ERROR = json.dumps(
    {"errors": [{"error": "E4", "severity": "moderate", "step": 1, "evidence": "It is seen."}]}
)


def _told(planning, chain, refusal=None) -> str:
    calls = [one.model_dump(mode="json") for one in chain]
    if planning.horizon:
        return json.dumps({"actions": calls, "final_answer": None, "refusal": refusal})
    return json.dumps({"plan": ["As called."], "tool_chain": calls, "refusal": refusal})


def _right(planning) -> str:
    return _told(planning, planning.reference.chain, planning.reference.refusal or None)


def _wrong(planning) -> str:
    """Answer in another order where a judge must say what that is worth, and else refuse."""
    if planning.setting == "holistic":
        return _told(planning, OTHER_ORDER)
    if planning.setting == "unsolvable":
        return "I will find out."
    return _told(planning, (), "I cannot.")


@pytest.fixture
def scripted(wire):
    """Planners and judges by the names of their models; a blind judge finds an error."""

    def respond(seen):
        model, said = seen.body["model"], json.dumps(seen.body["messages"])
        if model in ("judge", "strict"):
            with_reference = "One answer that is right" in said
            reply = NO_ERRORS if with_reference and model == "judge" else ONE_ERROR
            return wire.says(reply, model=model)
        planning = next(c.planning for c in CASES.values() if c.query in said)
        return wire.says((_right if model == "good" else _wrong)(planning), model=model)

    wire.respond = respond
    return wire


@pytest.fixture
def settings_of(home, scripted):
    """Write the settings; `blind`: of the judge."""

    def write(*, blind: bool = False) -> None:
        (home.parent / "nightshift.toml").write_text(
            f'[key_hosts]\ncompatible = ["{scripted.url}"]\n'
            f'[run]\njudge_base_url = "{scripted.openai_url}"\n'
            f"[judge]\nblind = {str(blind).lower()}\n"
        )

    return write


@pytest.fixture
def bank(home) -> str:
    """A folder with a case of each setting."""
    return str(write_bank(home.parent / "cases", *CASES.values()))


def test_scripted_planners_answer_a_case_of_each_setting_stage_by_stage(
    command, home, scripted, settings_of, bank
):
    settings_of()
    settings = load_settings()
    agents = [{"name": name, "base_url": scripted.openai_url} for name in (REACT, BAD)]
    config = run_config(settings, bank=bank, agents=agents, judge="compatible/judge")
    with closing(Store.open(settings.address)) as store:
        run = select(store, config, "night", as_planner=as_planner)
        preparing.do(store, run.id)
        execute.do(store, run.id, 0, home)
        score.do(store, run.id, 0)
        told = json.loads(command("results", "--planning", "--json").stdout)
        _require_marks(told)

        again = plan_rescoring(
            store, run, rescoring_config(run, judge=ModelSpec.parse("compatible/strict")), "strict"
        )
        copy_trials(store, again)
        score.do(store, again.id, 0)
    _require_found_wrong(told, json.loads(command("results", again.id, *PLANS).stdout))


@pytest.mark.soak
@at_length_only
def test_a_whole_run_of_scripted_planners_is_judged_again(
    nightshift, home, scripted, settings_of, bank
):
    settings_of()
    agents = ("--agent", REACT, "--agent", BAD, "--judge", "compatible/judge")
    at = ("--base-url", scripted.openai_url, "--rounds", "0")
    done = nightshift("run", "--bank", bank, *agents, *at, timeout=600)
    assert done.returncode == 0, done.stderr
    asked = len(scripted.seen)
    told = json.loads(nightshift("results", *PLANS).stdout)
    _require_marks(told)

    for judge, blind in (("strict", False), ("judge", True)):
        settings_of(blind=blind)
        again = nightshift("rescore", told["run"], "--judge", f"compatible/{judge}", timeout=600)
        assert again.returncode == 0, again.stderr
        found = json.loads(nightshift("results", *PLANS).stdout)
        assert found["run"].startswith(f"{told['run']}-")
        _require_found_wrong(told, found)
    assert "One answer that is right" not in json.dumps(scripted.seen[-1].body)
    assert len(scripted.seen) == asked + 2, "each judge is asked once, and no planner"


def _require_marks(told) -> None:
    good, bad = (_agent(told, name) for name in (GOOD, BAD))
    assert {name: marks["correct"]["mean"] for name, marks in good["settings"].items()} == {
        "holistic": 1,
        "step_wise": 1,
        "extraneous_holistic": 1,
        "broken": 1,
        "unsolvable": 1,
        "efficiency": 1,
    }
    assert good["refusals"]["missing_information"]["mean"] == 1
    assert good["behaviours"]["replace"]["mean"] == 1
    assert good["costs"]["over_optimum"]["mean"] == 0
    right = {name for name, marks in bad["settings"].items() if marks["correct"]["mean"]}
    assert right == {"holistic"}, "the judge finds the other order right"
    assert bad["settings"]["unsolvable"]["unreadable"] == 1
    assert bad["settings"]["broken"]["errors"]["E2"]["mean"] == 1
    assert bad["behaviours"]["refuse"]["mean"] == 1


def _require_found_wrong(told, found) -> None:
    """The other judge finds the other order wrong, and nothing else is different."""
    marks = _agent(found, BAD)["settings"]["holistic"]
    assert (marks["correct"]["mean"], marks["errors"]["E4"]["mean"]) == (0, 1)
    assert _agent(found, GOOD) == _agent(told, GOOD)


def _agent(told, name):
    return next(one for one in told["agents"] if one["agent"] == name)
