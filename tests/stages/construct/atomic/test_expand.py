"""New atomic tasks: written by a model, run by the tools, kept only if both agree."""

import json

import pytest

from stages.construct.atomic import expand
from taskdata.banks.loader import load_bank
from taskdata.schema.construct import CandidateStatus, Construction, Origin
from taskdata.schema.task import Tier


@pytest.fixture
def says(wire, filled_in):
    """Let the model answer with forms that differ from the usual one in these ways."""

    def script(*changes: dict[str, object]) -> None:
        wire.then(*(wire.says(json.dumps(filled_in(**change))) for change in changes))

    return script


@pytest.fixture
def expanding(released, refresh, exemplar):
    """A refresh that wants one expansion of the exemplar, which keeps the tools."""
    released(exemplar())
    return refresh(expansions=1)


def only_candidate(store):
    (candidate,) = store.candidates("r1")
    return candidate


def test_an_expansion_is_drafted_and_its_chain_recorded(store, expanding, says):
    says({})
    report = expand.do(store, "r1")
    assert (report.stage, report.due, report.done, report.errors) == ("expand", 1, 1, 0)
    candidate = only_candidate(store)
    assert (candidate.origin, candidate.tier) == (Origin.EXPANSION, Tier.ATOMIC)
    assert candidate.stage is Construction.VALIDATE
    (step,) = store.steps(candidate.id)
    assert (step.stage, step.verdict, step.facts["way"]) == (
        Construction.GENERATE,
        "drafted",
        "keep",
    )
    table, total = step.draft.reference.steps
    assert "beet" in table.result
    assert total.result == "53"
    assert (step.calls, step.model_id, step.prompt_version) == (1, "wire-model-1", "expand@2")


def test_the_model_is_shown_what_the_exemplars_tools_answer(store, expanding, says, wire):
    says({})
    expand.do(store, "r1")
    asked = json.dumps(wire.seen[0].body["messages"])
    assert "kale" in asked
    assert "keep the tools" in asked


def test_a_tool_that_misbehaves_stops_the_sample(store, expanding, says, filled_in):
    first, second = filled_in()["steps"]
    says({"steps": [first, second | {"arguments": '{"expression": "40 / 0"}'}]})
    expand.do(store, "r1")
    candidate = only_candidate(store)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert candidate.reason.startswith("step 2, Calculator: refused:")
    assert store.steps(candidate.id)[0].verdict == "misbehaved"


def test_an_answer_that_no_result_shows_stops_the_sample(store, expanding, says, filled_in):
    first, second = filled_in()["steps"]
    says({"steps": [first, second | {"arguments": '{"expression": "40 + 14"}'}]})
    expand.do(store, "r1")
    candidate = only_candidate(store)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert candidate.reason == "no tool's result shows 53"
    assert store.steps(candidate.id)[0].verdict == "unsupported"


def test_a_form_that_breaks_a_rule_goes_back_to_the_model(store, expanding, says, wire):
    says({"query": "Please run ReadCSV and sum up leek and beet."}, {})
    expand.do(store, "r1")
    step = store.steps(only_candidate(store).id)[0]
    assert (step.verdict, step.calls) == ("drafted", 2)
    assert "names the tool ReadCSV" in wire.seen[1].body["messages"][-1]["content"]


def test_what_a_model_never_gets_right_is_quarantined(store, expanding, says):
    says(*[{"tools": ["ReadCSV", "Solver"]}] * 3)
    expand.do(store, "r1")
    candidate = only_candidate(store)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert "no answer of the model could be used" in candidate.reason


def test_an_endpoint_that_is_down_leaves_the_candidate_due(store, expanding, says, wire):
    wire.then(wire.fails(401, "who are you"))
    report = expand.do(store, "r1")
    assert (report.due, report.done, report.errors) == (1, 0, 1)
    says({})
    assert expand.do(store, "r1").done == 1
    assert expand.do(store, "r1").due == 0


def test_planning_is_idempotent_and_needs_no_released_base(store, refresh):
    planned = refresh(base="starter", expansions=9)
    assert expand.plan(store, planned) == 9
    assert expand.plan(store, planned) == 0
    candidates = store.candidates("r1")
    known = {task.content_hash for task in load_bank("starter").tasks}
    assert {c.exemplar for c in candidates} <= known
    assert all(store.task(c.exemplar).tier is Tier.ATOMIC for c in candidates)
    assert len({c.aim for c in candidates}) > 1
