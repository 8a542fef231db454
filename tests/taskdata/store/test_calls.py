"""Paid calls are counted once, and a cost that is unknown as the most that it can be."""

import pytest

from taskdata.schema.agent import ModelSpec
from taskdata.schema.effort import CallEffort
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.run import (
    OutcomeStatus,
)
from taskdata.schema.transcript import Usage
from tests.paid import paid
from tests.taskdata.store.records import NOW, outcome_of, trial_of


def test_what_a_judge_was_paid_is_told_apart_from_what_the_trial_has_cost(store, new_run, new_task):
    task, judge = new_task("one"), ModelSpec.parse("openai/gpt-5.2")
    run = new_run(task, judge=judge)
    trial = trial_of(run, task)
    store.plan_trials([trial])
    call = ModelCall(
        trial_id=trial.id,
        purpose=CallPurpose.JUDGE,
        key="a" * 64,
        model="gpt-5.2-2026",
        usage=Usage(input_tokens=90, output_tokens=10),
        cost_usd=0.25,
        at=NOW,
        reply={"text": "{}"},
    )
    store.record_calls([call, call, paid_call(trial, cost_usd=4.0)])
    store.record_outcome(outcome_of(trial, cost_usd=4.0))

    both = CallEffort(calls=2, tokens=200, cost_usd=0.5)
    assert store.results(run.id)[0].judging == both
    assert store.past_judging(judge) == both
    assert store.past_judging(ModelSpec.parse("openai/other")) == CallEffort()
    assert paid(store, run.id) == (1, 4.0)
    assert store.spent_usd(run.id) == pytest.approx(4.5)

    store.forget_replies(run.id)
    assert store.paid_calls(trial.id) == []
    assert store.judge_calls(trial.id) == [call, call]


def paid_call(trial, **changes):
    fields = {
        "trial_id": trial.id,
        "purpose": CallPurpose.AGENT,
        "attempt": 1,
        "key": "a" * 64,
        "model": "gpt-5.2-2026",
        "usage": Usage(input_tokens=90, output_tokens=10),
        "cost_usd": 0.25,
        "at": NOW,
        "reply": {"text": "{}"},
    }
    return ModelCall(**fields | changes)


def test_a_reply_that_later_attempts_get_again_was_paid_for_once(store, planned):
    run, trial = planned
    store.record_calls([paid_call(trial)])
    for number in (1, 2):
        broken = outcome_of(trial, OutcomeStatus.INFRASTRUCTURE, number, error="x", cost_usd=0.25)
        store.record_outcome(broken)
    store.record_outcome(outcome_of(trial, attempt=3, cost_usd=0.25))
    assert store.spent_usd(run.id) == 0.25


def test_replies_that_other_runs_paid_for_are_no_money_of_this_one(store, planned):
    run, trial = planned
    store.record_outcome(outcome_of(trial, cost_usd=3.0))
    assert store.spent_usd(run.id) == 0.0


def test_a_cost_that_is_unknown_counts_as_the_most_that_it_can_be(store, planned):
    run, trial = planned
    unknown = paid_call(trial, cost_usd=None, cost_at_most_usd=0.5)
    store.record_calls([paid_call(trial), unknown])
    assert store.spent_usd(run.id) == 0.75
    assert paid(store, run.id) == (2, None), "which is no cost that is known"
    assert store.paid_calls(trial.id)[1] == unknown

    store.record_calls([paid_call(trial, cost_usd=None)])
    assert store.spent_usd(run.id) is None
