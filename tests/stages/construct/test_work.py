"""Due candidates are worked on at once; an outage, a budget or a crash costs none its place."""

import json

import pytest

from stages.construct import classify, generate
from stages.construct.work import spent
from taskdata.schema.construct import CandidateStatus, Construction


def only(store, refresh):
    (candidate,) = store.candidates(refresh.id)
    return candidate


@pytest.mark.parametrize("stage", ["classify", "opinions"])
def test_an_outage_leaves_the_candidate_due_and_is_no_verdict(
    wire, store, author, connect, started, stage, construct
):
    author.says(stage, wire.fails(503))
    refresh = started()
    reports = construct(store, refresh.id, connect)
    candidate = only(store, refresh)
    assert candidate.status is CandidateStatus.OPEN
    assert reports[-1].errors == 1
    assert "HTTP 503" in reports[-1].note
    author.replies.pop(stage)
    author.says("classify", {"verdict": "pass", "reasons": ["Fine."]})
    author.says("opinions", {"findings": []})
    construct(store, refresh.id, connect)
    assert only(store, refresh).stage is Construction.PROVE


def test_one_refused_key_is_not_held_against_the_candidates(wire, store, author, connect, started):
    author.says("generate", wire.fails(401))
    refresh = started("One thing?", "Another thing?")
    report = generate.do(store, refresh.id, connect)
    assert (report.due, report.done, report.errors) == (2, 0, 2)
    assert all(c.status is CandidateStatus.OPEN for c in store.candidates(refresh.id))


def test_content_that_the_provider_refuses_is(wire, store, author, connect, started):
    author.says("generate", wire.fails(400, code="content_policy_violation"))
    refresh = started()
    generate.do(store, refresh.id, connect)
    candidate = only(store, refresh)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert "refused the conversation" in candidate.reason


def test_a_budget_reached_midway_leaves_the_rest_due(store, author, connect, started):
    refresh = started("One?", "Two?", "Three?", "Four?", limits={"max_calls": 2}, concurrency=1)
    report = generate.do(store, refresh.id, connect)
    assert (report.done, report.errors) == (2, 2)
    assert "max_calls = 2" in report.note
    assert spent(store, refresh.id).calls == 2
    again = generate.do(store, refresh.id, connect)
    assert (again.due, again.done) == (2, 0)
    assert author.asked["generate"] == 2
    assert len(store.candidates(refresh.id, stage=Construction.GENERATE)) == 2


def test_a_crash_between_reply_and_record_pays_nothing_twice(
    store, author, connect, started, monkeypatch
):
    refresh = started()

    def crash(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(store, "record_step", crash)
        with pytest.raises(KeyboardInterrupt):
            generate.do(store, refresh.id, connect)
    assert spent(store, refresh.id).calls == 1
    generate.do(store, refresh.id, connect)
    assert (author.asked["generate"], spent(store, refresh.id).calls) == (1, 1)
    (step,) = store.steps(only(store, refresh).id)
    assert (step.calls, step.usage.total) == (1, 1_200)
    assert step.cost_usd == pytest.approx((1_000 * 0.25 + 200 * 2) / 1e6)


def test_a_resumed_refresh_knows_what_calls_without_an_answer_may_have_cost(
    wire, store, author, connect, started
):
    author.says("generate", wire.truncates())
    refresh = started(limits={"max_usd": 0.05})
    report = generate.do(store, refresh.id, connect)
    used, calls = spent(store, refresh.id), len(wire.seen)
    assert (report.errors, used.calls) == (1, 1)
    assert 0 < used.usd <= 0.05

    assert generate.do(store, refresh.id, connect).errors == 1
    assert spent(store, refresh.id).usd <= 0.05
    assert len(wire.seen) <= calls + 1, "what was left paid for no second round"


def test_running_a_stage_again_asks_nothing(store, author, connect, started, construct):
    refresh = started()
    construct(store, refresh.id, connect)
    assert construct(store, refresh.id, connect) == ()
    assert sum(author.asked.values()) == 4


def test_candidates_are_worked_on_at_once_but_not_all(
    wire, store, author, connect, started, scripts
):
    slow = wire.waits(0.1, wire.says(json.dumps(scripts.DRAFT)))
    author.says("generate", slow)
    refresh = started(*(f"Question {n}?" for n in range(6)), concurrency=3)
    generate.do(store, refresh.id, connect)
    assert wire.most_at_once == 3


def test_every_step_says_what_made_it(store, author, connect, started):
    refresh = started()
    generate.do(store, refresh.id, connect)
    classify.do(store, refresh.id, connect)
    made = [(s.prompt_version, s.model_id, s.calls) for s in store.steps(only(store, refresh).id)]
    assert made == [("generate@3", "wire-model-1", 1), ("classify@2", "wire-model-1", 1)]
