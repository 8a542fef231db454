"""A scripted judge of plans, asked through the score stage and once more blind, beside people."""

import json
from datetime import UTC, datetime

import pytest

from flows.agreement.plans import marks_of_run, plans_of_run
from quality.planning.judge_card import plan_judge_card, plan_judges_of
from stages.prepare.rescore import copy_trials, plan_rescoring, rescoring_config
from stages.score import work
from taskdata.schema.judging import JudgeSettings
from taskdata.schema.plan_agreement import GivenMarks, PlanAnnotation
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.transcript import Ending, Transcript
from tests.price_cases import CHAIN, action, answer, case

AGENT = "planner:compatible/wire-model-1"
JUDGE = {"provider": "compatible", "model": "wire-model-1"}
NOW = datetime(2026, 3, 1, tzinfo=UTC)
REFERENCE = answer(*CHAIN)
OTHER_ORDER = answer(CHAIN[1], CHAIN[0], *CHAIN[2:])
WRONG_ITEM = answer(action("find_price", item="sofa"), *CHAIN[1:])
UNREADABLE = PredictedPlan(fault="two JSON objects")
RIGHT, WRONG = GivenMarks(grade=1), GivenMarks(grade=0.4, errors=("E2",))


def errors(*kinds):
    found = [{"error": e, "severity": "moderate", "step": 1, "evidence": "seen"} for e in kinds]
    return json.dumps({"errors": found})


@pytest.fixture
def judging(wire):
    """A judge that needs the reference to see that a sofa was not asked for."""

    def respond(seen):
        question = json.dumps(seen.body["messages"])
        is_wrong = "sofa" in question and "One answer that is right" in question
        return wire.says(errors("E2") if is_wrong else errors())

    wire.respond = respond
    return {"judge": JUDGE, "judge_base_url": wire.openai_url}


@pytest.fixture
def night(store, new_run, plan_trial, judging):
    """Four answers of an agent, scored; two of them only a judge can tell apart."""
    plans = (REFERENCE, OTHER_ORDER, WRONG_ITEM, UNREADABLE)
    tasks = [case(f"case-{n}") for n in range(len(plans))]
    run = new_run(*tasks, agents=(AGENT,), **judging)
    for task, predicted in zip(tasks, plans, strict=True):
        trial = plan_trial(run, task, AGENT)
        kept = Transcript(
            events=(), final_answer="", ending=Ending.FINISHED, predicted_plan=predicted
        )
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                attempt=1,
                status=OutcomeStatus.FINISHED,
                ending=Ending.FINISHED,
                transcript_sha256=store.artifacts.put_bytes(kept.model_dump_json().encode()),
                sandbox="bubblewrap",
                code_version="test",
                started_at=NOW,
                finished_at=NOW,
            )
        )
        marks = WRONG if predicted in (WRONG_ITEM, UNREADABLE) else RIGHT
        store.save_plan_annotation(PlanAnnotation(trial_id=trial.id, annotator="ada", marks=marks))
    work.do(store, run.id, 0)
    return run


def test_the_same_plans_scored_again_blind_stand_beside_those_with_the_reference(store, night):
    config = rescoring_config(night, judging=JudgeSettings(blind=True))
    blind = plan_rescoring(store, night, config, "blind")
    copy_trials(store, blind)
    work.do(store, blind.id, 0)

    ratings, runs = marks_of_run(store, blind)

    assert [run.id for run in runs] == [night.id, blind.id]
    assert plan_judges_of(ratings) == ["wire-model-1@2"]
    card = plan_judge_card(ratings, "wire-model-1@2", "here", "v1", NOW)
    assert (card.plans, card.with_reference.by_code) == (3, 1), "an unreadable answer has no marks"
    assert card.with_reference.whole.agreement.mean == 1
    assert card.with_reference.whole.error_types.mean == 1
    assert (card.with_reference.standard.agreement.n, card.blind.different.agreement.n) == (1, 1)
    assert card.blind.rater == "wire-model-1[blind]@2"
    assert card.blind.whole.precision.mean == pytest.approx(2 / 3)
    assert (card.blind.whole.recall.mean, card.blind.asked.agreement.mean) == (1, 0.5)
    assert card.difference["agreement"].mean == pytest.approx(-1 / 3)
    (bias,) = card.blind.bias
    assert (bias.own, bias.correct.mean) == (True, pytest.approx(1 / 3))


def test_without_a_judge_the_marks_are_those_of_code_alone(store, night):
    """Cases of one source task are one cluster, however many there are."""
    again = plan_rescoring(
        store, night, rescoring_config(night, judge=None, judge_base_url=None), "code"
    )
    copy_trials(store, again)
    work.do(store, again.id, 0)
    ratings, _ = marks_of_run(store, night)
    of_code = plan_judge_card(ratings, "plan:code@1", "here", "v1", NOW).with_reference
    assert (of_code.plans, of_code.by_code, of_code.unmarked) == (1, 1, 2)
    assert {one.source for one in ratings} == {"lamp-task"}


def test_people_can_mark_what_was_read(store, night):
    assert plans_of_run(store, night) == {(f"case-{n}", AGENT, 0) for n in range(3)}
