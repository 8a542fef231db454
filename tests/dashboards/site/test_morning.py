"""This morning says what changed, in words that promise no more than the values hold."""

import pytest

from taskdata.schema.estimate import Estimate
from taskdata.schema.night import (
    ClusterChange,
    EffortChange,
    ErrorChange,
    FailureCluster,
    Morning,
)

STEADY = {"solver": {"a": [8.0], "b": [8.0]}}


@pytest.fixture
def nights(new_night):
    return [new_night(0, STEADY), new_night(1, STEADY)]


def against(**known) -> Morning:
    fields = {"run_id": "night-1", "baseline": ("night-0",), "false_alarm_rate": 0.05}
    return Morning(**(fields | known))


def card(page, question: str):
    return next(c for c in page.select(".answer") if c.h2.get_text() == question)


def text(element) -> str:
    return " ".join(element.get_text(" ", strip=True).split())


def test_a_confirmed_regression_comes_first_with_its_interval_and_its_trials(
    page, nights, new_change
):
    change = new_change(
        confirmed_by="again", rerun=Estimate(mean=-1.4, ci95=None), after_trials=("t1",)
    )
    found = page(nights, against(changes=(change,), noise_floor=0.3))
    worse = card(found, "What got worse?")
    assert "1 confirmed regression" in text(worse)
    assert "bad" in worse["class"]
    said = text(found.select_one(".changes"))
    assert "solver fell by 1.50 points over all tasks (8.00 to 6.50;" in said
    assert "95 % interval −2.00 to −1.00; 12 tasks; p < 0.001)" in said
    assert "showed it again : −1.40" in said
    links = [a["href"] for a in found.select(".changes a")]
    assert links == [
        "../runs/again/dashboard.html",
        "../runs/night-1/dashboard.html#trial-t1",
    ]
    assert "differences of mean root score below 0.30 points raise no alarm" in text(found)


def test_an_improvement_of_one_task_leads_to_the_task_and_to_both_nights(page, nights, new_change):
    better = new_change(
        scope="task a", before=2, after=8, difference=Estimate(mean=6, ci95=None), tasks=1
    )
    found = page(nights, against(changes=(better,)))
    assert "rose by 6.00 points on a (2.00 to 8.00; p < 0.001)." in text(found)
    assert [a["href"] for a in found.select(".changes a")] == [
        "tasks/a.html",
        "../runs/night-1/dashboard.html#task-a",
        "../runs/night-0/dashboard.html#task-a",
    ]
    assert "good" in card(found, "What got better?")["class"]


def test_a_fall_that_three_tasks_cannot_prove_is_never_all_right(page, nights, new_change):
    fall = new_change(
        before=8.04,
        after=4.76,
        tasks=3,
        difference=Estimate(mean=-3.28, ci95=None),
        p_value=None,
        verdict="none",
    )
    worse = card(page(nights, against(changes=(fall,))), "What got worse?")
    assert "8.04 → 4.76" in text(worse)
    assert "bad" in worse["class"]


def test_a_change_within_the_noise_is_none(page, nights, new_change):
    quiet = new_change(
        before=8.0,
        after=7.8,
        difference=Estimate(mean=-0.2, ci95=(-0.5, 0.1)),
        p_value=0.3,
        verdict="none",
    )
    found = page(nights, against(changes=(quiet,), noise_floor=0.4))
    worse = card(found, "What got worse?")
    assert "Nothing outside the noise" in text(worse)
    assert "no more than chance brings: solver, all tasks: 8.00 → 7.80" in text(worse)
    assert "bad" not in worse["class"]
    assert "No agent changed by more than chance explains." in text(found)


def test_a_first_night_has_nothing_to_compare_with_and_says_so(page, new_night):
    night = new_night(0, STEADY)
    found = page([night], Morning(run_id=night.run_id, false_alarm_rate=0.05))
    assert "Nothing to compare with yet" in text(card(found, "What changed?"))
    assert "solver: 8.00 of 10" in text(card(found, "Who is ahead?"))
    assert "There is nothing to compare with yet." in text(found.select_one("#changes"))
    assert found.select("[data-figure]") == []


def test_errors_gates_and_controls_are_the_nights_own_trouble(page, new_night):
    scores = {"solver": {"a": [None], "b": [8.0]}, "reference": {"a": [6.0], "b": [10.0]}}
    night = new_night(0, scores, gates={"scores": False}, error_causes={"503": 1})
    worked = card(
        page([night], Morning(run_id="night-0", false_alarm_rate=0)), "Did the night itself work?"
    )
    assert text(worked) == (
        "Did the night itself work? No 1 trial of 4 lost to infrastructure errors "
        "gate scores does not hold control reference succeeded in 1 of 2 trials and must in all"
    )


def test_a_judge_who_gives_the_reference_nine_of_ten_is_no_trouble(page, new_night):
    night = new_night(0, {"reference": {"a": [9.0], "b": [7.1]}, "nop": {"a": [0.0]}})
    worked = card(
        page([night], Morning(run_id="night-0", false_alarm_rate=0)), "Did the night itself work?"
    )
    assert "good" in worked["class"]


def test_causes_and_efforts_stand_beside_what_they_were(page, nights):
    cluster = FailureCluster(
        key="k",
        title="no file was left",
        stage="handoff",
        trials=2,
        agents=("solver",),
        tasks=("a",),
        example="t9",
    )
    morning = against(
        clusters=(ClusterChange(cluster=cluster, change="new", first_seen="night-1", nights=1),),
        errors=(ErrorChange(cause="503", before=7, after=0),),
        efforts=(
            EffortChange(agent="solver", what="cost_usd", before=0.5, after=0.9, usual=(0.4, 0.6)),
        ),
    )
    found = page(nights, morning)
    assert "1 new cause 2 trials: no file was left 0 lasting, 0 gone" in text(
        card(found, "Why do trials fail?")
    )
    assert found.select_one('a[href="../runs/night-1/dashboard.html#trial-t9"]')
    assert "503 0 7" in text(found.select_one("#infrastructure"))
    assert "$0.50 → $0.90" in text(found.select_one("#effort"))
    assert text(found.select_one("#effort b")) == "$0.90"


def test_what_a_judge_has_not_shown_comes_before_everything(page, nights):
    said = "Judge <b>some/model@1 has no card"
    found = page(nights, against(judge_notice=said))
    notice, title = found.select_one("p.notice.bad"), found.select_one("h1")
    assert text(notice) == said
    assert title in notice.find_all_next("h1")
    assert not page(nights, against()).select("p.notice.bad")
