"""What a night means against those before it."""

from datetime import timedelta

import pytest

from dashboards.pages.answers import answers
from quality.history import morning_of
from quality.history.flags import flagged
from taskdata.schema.estimate import Estimate
from taskdata.schema.night import FailureCluster, Night, NightTask
from taskdata.schema.summary import AgentSummary, RunHeader, RunSummary

AGENT = "manus"
CATEGORIES = ("data_analysis", "education_instruction", "creative_design")


@pytest.fixture
def make_night(simulated):
    """Make a night of one agent from its scores, task by task; keywords replace fields."""

    def make(number, scores, agent=AGENT, settings=None, **fields):
        rows = [score if isinstance(score, tuple) else (score,) for score in scores]
        tasks = tuple(
            NightTask(
                task_id=f"t{i:02d}",
                task_hash=f"{i:064x}",
                title="A task",
                tier="workflow",
                category=CATEGORIES[i % 3],
                leaves=3,
            )
            for i in range(len(rows))
        )
        values = {
            "run_id": f"night-{number}",
            "created_at": simulated.START + timedelta(days=number),
            "status": "completed",
            "settings": simulated.settings((agent,), **(settings or {})),
            "tasks": tasks,
            "cells": tuple(
                simulated.cell(agent, task.task_id, row, f"night-{number}")
                for task, row in zip(tasks, rows, strict=True)
            ),
        }
        return Night.model_validate(values | fields)

    return make


def change_of(morning, scope="all", agent=AGENT):
    return next(c for c in morning.changes if (c.agent, c.scope) == (agent, scope))


# Two nights of one agent that was imported: 13 of 18 tasks succeed, then 6 of them.
GOOD = (10, 10, 8.5, 9, 10, 8, 10, 9.5, 10, 8, 9, 10, 10, 4, 6, 3, 5, 4.72)
BAD = (10, 2, 8.5, 1.5, 10, 3, 9, 2, 8, 2, 2.5, 3, 9.5, 2, 4.7, 3, 3, 2)


def test_two_imported_nights_of_which_the_second_is_much_worse_are_a_suspected_regression(
    make_night,
):
    first, second = make_night(1, GOOD), make_night(2, BAD)
    morning = morning_of(second, [first])
    found = change_of(morning)
    assert (round(found.before, 2), round(found.after, 2)) == (8.04, 4.76)
    assert (found.success_before, found.success_after) == (13 / 18, 6 / 18)
    assert found.verdict == "suspected"
    assert found.difference.ci95[1] < 0
    assert found.floor < 3.28
    assert morning.noise_floor == found.floor
    assert any("only one comparable night" in note for note in morning.notes)


def summary_of(run_id):
    header = RunHeader(
        id=run_id,
        status="completed",
        bank="office@1",
        release_hash="c" * 64,
        code_version="1",
        created_at="2026-03-03T02:00:00Z",
        finished_at="2026-03-03T05:00:00Z",
        threshold=7.0,
        judge=None,
        sandbox="bubblewrap",
        repetitions=1,
        refinement_rounds=0,
        tasks=18,
    )
    agent = AgentSummary(
        agent=AGENT,
        trials=18,
        scored=18,
        errors=0,
        pending=0,
        root_score=Estimate(mean=4.76, ci95=(3.0, 6.4), n=18),
        root_sr=6 / 18,
        root_sr_ci95=(0.16, 0.56),
        root_sr_at={},
        pass_at_k={},
        pass_hat_k={},
        leaf_sr=None,
        tool_sr=None,
        coverage=1.0,
        capability_sr={},
        category={},
        deliverable_type={},
        tier={},
        cost_usd=0.0,
        wall_s=0.0,
        turns=None,
        tokens=None,
        score_per_usd=None,
        failures={},
    )
    return RunSummary(run=header, agents=(agent,), refinement=())


def test_the_page_of_the_second_night_does_not_say_in_green_that_nothing_went_wrong(
    make_night, make_result
):
    first, second = make_night(1, GOOD), make_night(2, BAD)
    results = [make_result(agent=AGENT)]
    quiet = answers(summary_of("night-1"), results)
    assert [card.tone for card in quiet if "work" in card.question] == ["good"]
    cards = answers(summary_of("night-2"), results, morning_of(second, [first]))
    assert cards[0].question == "Did anything get worse?"
    assert cards[0].tone == "bad"
    assert cards[0].headline == "Yes: 1 suspected regression"
    assert "8.04 then 4.76" in cards[0].details[0]
    assert "good" not in {card.tone for card in cards}


def test_a_page_compared_with_an_equal_night_says_so_and_nothing_is_hidden(make_night, make_result):
    morning = morning_of(make_night(2, GOOD), [make_night(1, GOOD)])
    cards = answers(summary_of("night-2"), [make_result(agent=AGENT)], morning)
    assert (cards[0].headline, cards[0].tone) == ("Nothing beyond chance", "plain")
    assert cards[-1].tone == "good"


def test_a_first_night_has_nothing_to_be_compared_with_and_says_so(make_night):
    morning = morning_of(make_night(1, GOOD), [])
    assert (morning.baseline, morning.changes, morning.clusters) == ((), (), ())
    assert "first night" in morning.notes[0]


@pytest.mark.parametrize(
    "other",
    [
        {"judge": "openai/gpt-5.2"},
        {"threshold": 6.0},
        {"min_coverage": 0.8},
        {"scorer_version": "2"},
        {"tool_backends": "search=tavily"},
        {"agents": {AGENT: "b" * 64}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_night_of_other_settings_is_no_baseline_and_the_setting_is_named(make_night, other):
    before = make_night(1, GOOD)
    before = before.model_copy(update={"settings": before.settings.model_copy(update=other)})
    morning = morning_of(make_night(2, BAD), [before])
    assert (morning.baseline, morning.changes) == ((), ())
    name = next(iter(other))
    assert (f"settings of {AGENT}" if name == "agents" else name) in morning.differs
    assert any("No earlier night is comparable" in note for note in morning.notes)


def test_an_older_comparable_night_is_the_baseline_where_the_last_one_is_not(make_night):
    nights = [make_night(1, GOOD), make_night(2, GOOD, settings={"judge": "openai/gpt-5.2"})]
    morning = morning_of(make_night(3, BAD), nights)
    assert morning.baseline == ("night-1",)
    assert morning.differs == {"judge": ("openai/gpt-5.2", "none")}


def test_of_another_release_only_tasks_of_the_same_content_are_compared(make_night):
    other = make_night(1, GOOD[:9], settings={"release_hash": "d" * 64, "bank": "office@0"})
    morning = morning_of(make_night(2, BAD), [other])
    assert change_of(morning).tasks == 9
    assert morning.differs["bank"] == ("office@0", "office@1")
    assert any("9 of 18 are the same" in note for note in morning.notes)


def test_tasks_of_the_same_id_and_another_content_are_not_compared(make_night):
    other = make_night(1, GOOD, settings={"release_hash": "d" * 64})
    changed = tuple(t.model_copy(update={"task_hash": "e" * 64}) for t in other.tasks)
    other = other.model_copy(update={"tasks": changed})
    assert morning_of(make_night(2, BAD), [other]).baseline == ()


def test_lost_trials_count_on_neither_side(make_night):
    before = make_night(1, [*GOOD, None])
    after = make_night(2, [None, *GOOD[1:], 5.0])
    found = change_of(morning_of(after, [before]))
    assert (found.tasks, found.difference.mean) == (17, 0.0)


def test_controls_are_not_compared(make_night):
    nights = [make_night(n, s, controls=(AGENT,)) for n, s in ((1, GOOD), (2, BAD))]
    assert morning_of(nights[1], nights[:1]).changes == ()


def test_later_nights_and_confirming_re_runs_are_no_history(make_night):
    night = make_night(2, BAD)
    others = [make_night(3, GOOD), make_night(1, GOOD, confirms="night-0")]
    assert morning_of(night, others).baseline == ()


@pytest.fixture
def steady(make_night, simulated):
    """Seven nights in which scores vary by half a point."""
    random = simulated.np.random.default_rng(3)
    return [
        make_night(n, [min(10.0, max(0.0, s + random.normal(0, 0.5))) for s in GOOD])
        for n in range(7)
    ]


def test_a_regression_alarms_in_its_first_night_and_lasts_in_the_next(make_night, steady):
    worse = [make_night(n, [max(0.0, score - 2.0) for score in GOOD]) for n in (7, 8)]
    first = morning_of(worse[0], steady)
    second = morning_of(worse[1], [*steady, worse[0]])
    assert change_of(first).verdict == "suspected"
    assert (change_of(second).verdict, change_of(second).since) == ("lasting", "night-7")
    assert flagged(worse[0], steady)[AGENT] == tuple(f"t{i:02d}" for i in range(18))
    assert not any(c.verdict == "suspected" for c in second.changes)


def test_a_re_run_confirms_what_is_there_again_and_refutes_what_is_not(make_night, steady):
    low = [max(0.0, score - 2.0) for score in GOOD]
    night = make_night(7, low)
    again = make_night(8, [(s, s, s) for s in low], run_id="again", confirms="night-7")
    other = make_night(8, [(s, s, s) for s in GOOD], run_id="again", confirms="night-7")
    confirmed = morning_of(night, steady, [again])
    refuted = morning_of(night, steady, [other])
    assert (change_of(confirmed).verdict, change_of(confirmed).confirmed_by) == (
        "confirmed",
        "again",
    )
    assert change_of(confirmed).rerun.mean == pytest.approx(change_of(confirmed).difference.mean)
    assert change_of(refuted).verdict == "refuted"
    assert confirmed.confirmed_regressions[0].scope == "all"
    assert refuted.confirmed_regressions == []
    stray = again.model_copy(update={"confirms": "night-3"})
    assert change_of(morning_of(night, steady, [stray])).verdict == "suspected"


def test_one_task_that_flips_is_shown_without_an_alarm_until_repetitions_are_enough(make_night):
    rows = [(9.0,) * 5] * 18
    nights = [make_night(n, rows) for n in range(7)]
    flipped = make_night(7, [(0.0,) * 5, *rows[1:]])
    found = change_of(morning_of(flipped, nights), "task t00")
    assert (found.success_before, found.success_after, found.verdict) == (1.0, 0.0, "suspected")
    assert found.after_trials == flipped.cells[0].trial_ids
    single = [make_night(n, [9.0] * 18) for n in range(7)]
    once = make_night(7, [0.0, *[9.0] * 17])
    found = morning_of(once, single)
    assert change_of(found, "task t00").verdict == "none"
    assert change_of(found).verdict == "none"
    assert change_of(found, "category data_analysis").verdict == "none"
    assert flagged(once, single) == {AGENT: ("t00",)}


def cluster(key, trials):
    return FailureCluster(
        key=key, title=key, stage="plan", trials=trials, agents=(AGENT,), tasks=("t",), example="x"
    )


def test_clusters_are_new_lasting_or_gone_and_errors_stand_beside(make_night):
    nights = [
        make_night(1, GOOD, clusters=(cluster("old", 3),), error_causes={"down": 2}),
        make_night(2, GOOD, clusters=(cluster("old", 4), cluster("was", 1))),
    ]
    night = make_night(
        3, GOOD, clusters=(cluster("old", 5), cluster("fresh", 2)), error_causes={"slow": 1}
    )
    morning = morning_of(night, nights)
    found = {
        c.cluster.key: (c.change, c.first_seen, c.nights, c.trials_before) for c in morning.clusters
    }
    assert found == {
        "fresh": ("new", "night-3", 1, 0),
        "old": ("lasting", "night-1", 3, 4),
        "was": ("gone", "night-2", 0, 1),
    }
    assert [(e.cause, e.before, e.after) for e in morning.errors] == [("slow", 0, 1)]


def test_a_cluster_that_another_night_told_apart_is_not_new(make_night):
    apart = make_night(1, GOOD, clusters=(cluster("slow", 3), cluster("late", 1)))
    merged = cluster("slow", 5).model_copy(update={"merged": ("late",)})
    (change,) = morning_of(make_night(2, GOOD, clusters=(merged,)), [apart]).clusters
    assert (change.change, change.first_seen, change.trials_before) == ("lasting", "night-1", 4)


def test_effort_is_compared_per_trial_over_the_same_tasks(make_night):
    def dear(night):
        cells = tuple(c.model_copy(update={"cost_usd": 0.05}) for c in night.cells)
        return night.model_copy(update={"cells": cells})

    nights = [make_night(n, GOOD) for n in (1, 2)]
    morning = morning_of(dear(make_night(3, GOOD)), nights)
    cost = next(e for e in morning.efforts if e.what == "cost_usd")
    assert (cost.before, cost.after) == (pytest.approx(0.01), pytest.approx(0.05))
    assert cost.usual == (pytest.approx(0.01), pytest.approx(0.01))
