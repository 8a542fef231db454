"""Tallies over nights, and what they say about tasks."""

import pytest

from dashboards.site.history import gather
from dashboards.site.task_facts import task_facts
from dashboards.site.trends import nights_axis, release_changes
from tests.dashboards.site.nights import task_of


def test_an_agent_has_its_means_over_the_trials_that_count(new_night):
    history = gather([new_night(0, {"solver": {"a": [8.0, None], "b": [5.0, 8.0]}})])
    own = history.nights[0].agents["solver"]
    assert (own.score, own.success, own.errors) == (7.0, pytest.approx(2 / 3), 1)
    assert own.each(own.cost_usd) == pytest.approx(2.0 / 3)


def test_an_unknown_price_leaves_the_whole_unknown(new_night):
    night = new_night(0, {"solver": {"a": [8.0], "b": [8.0]}})
    cells = (night.cells[0].model_copy(update={"cost_usd": None}), night.cells[1])
    own = gather([night.model_copy(update={"cells": cells})]).nights[0].agents["solver"]
    assert own.each(own.cost_usd) is None
    assert own.each(own.wall_s) == 30.0


def test_a_night_that_confirms_another_stands_in_no_history(new_night):
    scores = {"solver": {"a": [8.0]}}
    history = gather([new_night(0, scores), new_night(1, scores, confirms="night-0")])
    assert [night.run_id for night in history.nights] == ["night-0"]
    assert [night.run_id for night in history.confirming] == ["night-1"]
    assert len(history.tasks["a"].results) == 1


def test_an_agent_keeps_its_colour_when_others_come(new_night):
    one = new_night(0, {"second": {"a": [8.0]}})
    two = new_night(1, {"first": {"a": [8.0]}, "second": {"a": [8.0]}, "nop": {"a": [0.0]}})
    assert gather([one]).styles["second"] == gather([one, two]).styles["second"]


def test_a_new_release_is_marked_where_it_begins(new_night):
    scores = {"solver": {"a": [8.0]}}
    banks = ["office@1", "office@1", "office@2", "office@2"]
    nights = gather([new_night(n, scores, bank=bank) for n, bank in enumerate(banks)]).nights
    assert release_changes(nights) == [(2, "office@2")]


def test_flips_are_turns_of_one_agent_from_night_to_night(new_night):
    good, bad = {"a": [9.0]}, {"a": [1.0]}
    nights = [
        new_night(place, {"steady": good, "moody": own})
        for place, own in enumerate([good, bad, bad, good])
    ]
    history = gather(nights)
    assert task_facts(history, history.tasks["a"]).flips == 2


def test_a_telling_task_follows_the_agents_and_a_contrary_one_does_not(new_night):
    def scores(strong: float, weak: float) -> dict:
        return {
            "strong": {"with": [strong], "against": [weak], "other": [9.0]},
            "weak": {"with": [weak], "against": [strong], "other": [1.0]},
        }

    history = gather([new_night(0, scores(8, 2)), new_night(1, scores(7, 3))])
    found = {name: task_facts(history, task) for name, task in history.tasks.items()}
    assert found["with"].discrimination > 0.8
    assert found["against"].discrimination < -0.8


def test_facts_begin_anew_when_the_task_is_another(new_night):
    nights = [new_night(n, {"solver": {"a": [score]}}) for n, score in enumerate([1.0, 9.0])]
    changed = nights[1].model_copy(update={"tasks": (task_of("a", version=2),)})
    history = gather([nights[0], changed])
    facts = task_facts(history, history.tasks["a"])
    assert (facts.nights, facts.score, facts.flips) == (1, 9.0, 0)
    assert history.tasks["a"].changed == [1]


@pytest.mark.parametrize(
    ("scores", "suspicion"),
    [
        (
            {"reference": {"a": [6.0, 9.0]}},
            "When last scored, the control reference succeeded in 1 of 2 trials and must in all.",
        ),
        (
            {"nop": {"a": [4.0]}},
            "When last scored, the control nop has 4.00 and must have at most 1.",
        ),
        (
            {"one": {"a": [1.0, 2.0]}, "two": {"a": [0.0]}},
            "No agent has ever solved it: 2 agents failed in 3 trials.",
        ),
    ],
)
def test_a_task_that_may_be_broken_is_named_with_its_reason(new_night, scores, suspicion):
    history = gather([new_night(0, scores)])
    assert task_facts(history, history.tasks["a"]).suspicions == (suspicion,)


def test_a_sound_task_is_under_no_suspicion(new_night):
    scores = {"reference": {"a": [9.0]}, "nop": {"a": [0.5]}, "one": {"a": [1]}, "two": {"a": [9]}}
    history = gather([new_night(0, scores)])
    assert task_facts(history, history.tasks["a"]).suspicions == ()


def test_a_few_nights_have_one_tick_each_and_no_day_twice(new_night):
    scores = {"solver": {"a": [8.0]}}
    one = nights_axis(gather([new_night(0, scores)]).nights)
    assert one["ticktext"] == [" 1 Mar"]
    assert one["range"][0] < one["tickvals"][0] < one["range"][1]
    three = nights_axis(gather([new_night(n, scores) for n in (0, 1, 3)]).nights)
    assert three["ticktext"] == [" 1 Mar", " 2 Mar", " 4 Mar"]
    far_apart = [new_night(n, scores) for n in (0, 1, 90)]
    assert "ticktext" not in nights_axis(gather(far_apart).nights)
