"""Who is ahead, how sure that is, and who gets there for less."""

import json

from bs4 import BeautifulSoup

from dashboards.site.leaderboard import pareto
from dashboards.site.write import write_site
from quality.summary import summarise
from taskdata.schema.estimate import Estimate
from taskdata.schema.ranking import standings
from taskdata.schema.summary import AgentComparison, AgentSummary, RunSummary
from tests.dashboards.site.nights import first_morning

NAMES = ("best", "good", "poor")


def summary(*surely_ahead: tuple[str, str]) -> RunSummary:
    """Three agents; of each pair given, the first is surely ahead of the second."""
    scores = dict(zip(NAMES, (8.0, 7.0, 3.0), strict=True))
    agents = [
        AgentSummary.model_construct(
            agent=name,
            is_control=False,
            root_sr=None,
            root_score=Estimate(mean=score, ci95=None, n=9),
        )
        for name, score in scores.items()
    ]
    comparisons = [
        AgentComparison.model_construct(
            first=first, second=second, difference=Estimate(mean=-2.0, ci95=(-3.0, -1.0), n=9)
        )
        for first, second in surely_ahead
    ]
    return RunSummary.model_construct(agents=tuple(agents), comparisons=tuple(comparisons))


def test_whoever_is_neither_ahead_nor_behind_may_hold_either_rank():
    ranks = [(s.summary.agent, s.rank) for s in standings(summary(("best", "poor")))]
    assert ranks == [("best", "1 to 2"), ("good", "1 to 3"), ("poor", "2 to 3")]


def test_three_sure_differences_leave_no_rank_open():
    pairs = (("best", "good"), ("best", "poor"), ("good", "poor"))
    assert [s.rank for s in standings(summary(*pairs))] == ["1", "2", "3"]


def test_the_front_holds_nobody_whom_another_beats_for_no_more():
    points = {"cheap": (1.0, 0.2), "beaten": (2.0, 0.2), "middle": (2.0, 0.5), "dear": (9.0, 0.9)}
    assert pareto(points) == ["cheap", "middle", "dear"]


def test_the_leaderboard_has_gains_by_arm_apart_from_its_scores(
    store, new_run, new_task, plan, finish, grade, new_night, tmp_path
):
    tasks = [new_task("a"), new_task("b")]
    run = new_run(*tasks, agents=("solver",), feedback=("none", "coarse"), refinement_rounds=1)
    for task, scores in zip(tasks, ((2.0, 3.0, 8.0), (4.0, 3.0, 6.0)), strict=True):
        for arm, score in zip(("", "none", "coarse"), scores, strict=True):
            trial = plan(run, task, "solver", round_=int(bool(arm)), arm=arm)
            finish(trial, cost_usd=0.5)
            grade(trial, score)
    numbers = summarise(run, store.results(run.id), store.tasks_of_run(run.id))
    night = new_night(0, {"solver": {"a": [2.0], "b": [4.0]}})
    write_site(tmp_path / "site", [night], {"night-0": first_morning(night)}, numbers)

    html = (tmp_path / "site" / "leaderboard.html").read_text(encoding="utf-8")
    tables = json.loads(BeautifulSoup(html, "html.parser").find(id="tables").string)
    _, coarse = tables["refinement"]["rows"]
    assert coarse[:7] == ["solver", "coarse", 1, 2, 3.0, 7.0, 4.0]
    assert coarse[9] == 4.0
    assert coarse[-1] == 0.125
    assert tables["headline"]["rows"][0][:2] == ["solver", 3.0]
