"""Refinement and diagnosis of planning trials through their stages, with a scripted provider."""

import json

import pytest

from stages.diagnose import work as diagnosing
from stages.execute import work as executing
from stages.prepare import work as preparing
from stages.refine import work as refining
from stages.refine.plan_errors import PLAN_TAXONOMY
from stages.score import work as scoring
from taskdata.schema.agent import AgentSpec
from taskdata.schema.diagnosis import FailureStage
from tests.price_cases import CHAIN, SECRET, action, case, next_steps

WRONG = json.dumps({"tool_chain": [action("find_cost", item="lamp").model_dump()]})
RIGHT = json.dumps({"tool_chain": [one.model_dump() for one in CHAIN]})
CRITICISM = "There is no tool find_cost: use find_price for both things, then add."
ARMS = ("none", "coarse", "diagnosis", "self", "self_taxonomy", "critic", "critic_taxonomy")


def _answers(wire, seen):
    system, user = (str(m["content"]) for m in seen.body["messages"][:2])
    if system.startswith("You review an answer"):
        return wire.says(CRITICISM)
    return wire.says(RIGHT if CRITICISM in user else WRONG)


@pytest.fixture
def refined(store, new_run, wire, tmp_path, monkeypatch):
    """Run both rounds of a planner on a case; returns the run and its results by arm."""
    monkeypatch.setattr(preparing, "require", lambda config: None)

    def play(task, answers=_answers, **config):
        wire.respond = lambda seen: answers(wire, seen)
        agent = AgentSpec.parse("planner:compatible/m", base_url=wire.openai_url)
        there = {
            "feedback": ARMS,
            "critic": {"provider": "compatible", "model": "c"},
            "critic_base_url": wire.openai_url,
        }
        run = new_run(task, agents=(agent,), **(there | config))
        preparing.do(store, run.id)
        for round_ in (0, 1):
            if round_:
                assert refining.do(store, run.id, round_).errors == 0
            executing.do(store, run.id, round_, tmp_path / "home")
            scoring.do(store, run.id, round_)
            assert diagnosing.do(store, run.id, round_).errors == 0
        return {result.trial.arm: result for result in store.results(run.id)}

    return play


def _reviews(wire) -> list[str]:
    texts = [[str(m["content"]) for m in seen.body["messages"]] for seen in wire.seen]
    return ["\n".join(t) for t in texts if t[0].startswith("You review an answer")]


def test_every_arm_asks_the_planner_again_with_what_it_was_told(refined, wire, store) -> None:
    by_arm = refined(case())

    assert by_arm[""].root_score == 0.0
    assert {arm for arm, one in by_arm.items() if one.root_score == 10.0} == {
        "self",
        "self_taxonomy",
        "critic",
        "critic_taxonomy",
    }
    asked = [str(seen.body["messages"][1]["content"]) for seen in wire.seen]
    again = [text for text in asked if "You have answered this before" in text]
    assert len(again) == len(ARMS)
    assert all("find_cost" in text for text in again)


def test_reviews_see_the_case_and_the_taxonomy_only_in_its_arms(refined, wire) -> None:
    refined(next_steps())

    reviews = _reviews(wire)
    with_taxonomy = [text for text in reviews if all(m in text for _, m in PLAN_TAXONOMY)]
    assert (len(reviews), len(with_taxonomy)) == (4, 2)
    for text in reviews:
        assert "Result: 120" in text
        assert "find_cost" in text.partition("BEGIN WORK")[2]
        assert "round_to" in text
        assert SECRET not in text


def test_a_wrong_plan_has_its_errors_for_a_diagnosis_and_no_label_of_work(refined) -> None:
    by_arm = refined(case(), feedback=("diagnosis",))

    diagnosis = by_arm[""].diagnosis
    assert (diagnosis.stage, diagnosis.type, diagnosis.labels) == (FailureStage.PLAN, None, ())
    assert any(sentence.startswith("E6") for sentence in diagnosis.evidence)
    feedback = by_arm["diagnosis"].trial.feedback
    assert "hallucination" in feedback
    assert "find_price" not in feedback


def test_no_labeller_is_asked_about_plans(refined, wire) -> None:
    labeller = {"provider": "compatible", "model": "l"}
    there = {"labeller": labeller, "labeller_base_url": wire.openai_url}

    refined(case(), feedback=("none",), **there)

    assert not [seen for seen in wire.seen if seen.body["model"] == "l"]


def test_a_plan_that_is_nearly_right_is_tried_again(refined, wire) -> None:
    """Its grade of 0.8 is above the threshold of other tasks, and it is not correct."""
    found = {"error": "E5", "severity": "trivial", "step": 1, "evidence": "A vague word."}
    other = json.dumps({"tool_chain": [one.model_dump() for one in (*CHAIN[1::-1], *CHAIN[2:])]})

    def answers(wire, seen):
        judges = seen.body["model"] == "j"
        return wire.says(json.dumps({"errors": [found]}) if judges else other)

    judge = {"provider": "compatible", "model": "j"}
    there = {"judge": judge, "judge_base_url": wire.openai_url}
    by_arm = refined(case(), answers, feedback=("none",), **there)

    assert by_arm[""].score.root.planning.grade == 0.8
    assert by_arm["none"].trial.round == 1
