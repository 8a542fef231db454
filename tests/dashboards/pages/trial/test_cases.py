"""A planning case on its trial's page: whatever a planner wrote is cut and made harmless."""

import json

from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.cases import answered
from stages.score.planning.mark import mark
from taskdata.schema.planning_score import PredictedPlan
from tests.price_cases import (
    CHAIN,
    action,
    answer,
    broken,
    case,
    efficiency,
    next_steps,
    unsolvable,
)


def _page(task, given, cap=CAPS[0]):
    return answered(task.planning, given, mark(task, given or PredictedPlan()), cap)


def test_a_task_that_is_no_case_has_no_such_section():
    assert answered(None, None, None, CAPS[0]) is None


def test_calls_stand_beside_those_of_the_reference_with_their_errors():
    found = _page(case(), answer(action("find_cost", item="lamp"), *CHAIN[1:], plan=("Add.",)))

    assert ["Correct", "no"] in found["facts"]
    assert ["Errors", "E6"] in found["facts"]
    first, second, *_ = found["chain"]
    assert (first["expected"][0], first["predicted"][0]) == ("find_price", "find_cost")
    assert "E6, major, step 1" in first["error"]
    assert (first["marks"], second["marks"]) == ([], [["tool of the reference", True]])
    assert found["said"] == [["Plan", "1. Add."]]
    assert found["expected"][0][0] == "Plan"


def test_steps_are_numbered_after_those_that_were_done():
    given = answer(action("add", numbers="<result of step 9>"))

    (row,) = _page(next_steps(), given)["chain"]

    assert row["place"] == "3"
    assert "step 9" in row["error"]


def test_each_setting_says_what_it_is_about():
    facts = {
        name: value
        for task, given in (
            (broken(), answer(action("find_price", item="lamp"))),
            (efficiency(), answer(action("premium_price", item="lamp"))),
            (unsolvable(), answer(refusal="Which lamp?")),
        )
        for name, value in _page(task, given)["facts"]
    }

    assert facts["After the failure"] == "retry"
    assert facts["Cost of its calls"] == "9, at least 5 is needed"
    assert facts["Traps"] == "premium_price"
    assert facts["Setting"] == "unsolvable (missing information)"


def test_what_has_no_verdict_says_why_and_nothing_answered_is_shown_as_that():
    unread = _page(case(), PredictedPlan(fault="two JSON objects"))
    other = _page(case(), answer(CHAIN[1], CHAIN[0], *CHAIN[2:]))
    nothing = _page(case(), None)

    assert unread["fault"] == "two JSON objects"
    assert dict(unread["facts"])["Correct"].startswith("no: the answer could not be read")
    assert "no judge" in dict(other["facts"])["Correct"]
    assert [row["predicted"][0] for row in nothing["chain"]] == ["none"] * 4


def test_long_and_hostile_answers_are_cut_and_made_visible():
    tight = CAPS[-1]
    many = answer(*[action("find\u202e_price", item="<script>" + "x" * 900)] * 60, left_out=940)

    found = _page(case(), many, tight)

    *rows, last = found["chain"]
    assert len(rows) == tight.nodes
    assert last == {"more": "960 calls not shown"}
    assert rows[0]["predicted"][0] == "find⟨U+202E⟩_price"
    assert len(json.dumps(found)) < 40_000
