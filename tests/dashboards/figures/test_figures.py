"""Each figure from a few rows: what is drawn, and what it says when there is nothing to draw."""

import json

import pytest

from dashboards.figures.capabilities import capabilities
from dashboards.figures.effort import effort
from dashboards.figures.failures import failures
from dashboards.figures.grouped_estimates import grouped_estimates
from dashboards.figures.headline import headline
from dashboards.figures.histogram import MOST_BARS, histogram
from dashboards.figures.numbers import numbers
from dashboards.figures.refinement import refinement
from dashboards.figures.steps import steps_against_success
from dashboards.figures.success_curve import success_curve
from dashboards.figures.task_scores import MOST_TASKS, TaskScore, task_scores
from dashboards.figures.timings import timings
from dashboards.theme import agent_styles
from taskdata.schema.estimate import Estimate
from taskdata.schema.run import StageReport
from taskdata.schema.summary import GainOverNone, RefinementGain, Regressions, WholeBank

AGENT = "react:openai/gpt-5.2"
STYLES = agent_styles(["nop", AGENT], {"nop"})
PLANNINGS = ("", "+plan_first", "+plan_refine")
HOSTILE = "react:openai/<b>%{x}</b>"


def gain(
    mean: float | None,
    ci95: tuple[float, float] | None = None,
    agent: str = AGENT,
    arm: str = "coarse",
    over_none: float | None = None,
    round_: int = 1,
) -> RefinementGain:
    nothing = Estimate(mean=None, ci95=None)
    known = Estimate(mean=over_none, ci95=None if over_none is None else (over_none - 1, 4.0), n=3)
    return RefinementGain(
        agent=agent,
        round=round_,
        arm=arm,
        trials=3,
        attempts=3,
        errors=0,
        mean_before=2,
        mean_after=3,
        relative=0.5,
        success_before=nothing,
        success_after=nothing,
        gain=Estimate(mean=mean, ci95=ci95, n=3),
        over_none=GainOverNone(difference=known, p_value=None, p_holm=None),
        cost_usd=None,
        cost_per_point_usd=None,
        no_cost_per_point="price unknown",
        regressions=Regressions(worse=0, leaves=0, share=nothing),
        whole_bank=WholeBank(
            trials=3,
            refined=3,
            first=2,
            after=nothing,
            success_first=nothing,
            success_after=nothing,
            gain=nothing,
        ),
    )


def stage(name: str, seconds: float, round_: int = 0) -> StageReport:
    return StageReport(stage=name, run_id="r", round=round_, due=0, done=0, seconds=seconds)


def test_the_headline_shows_means_with_their_intervals(agent_numbers):
    agent = agent_numbers(
        root_score=Estimate(mean=6.0, ci95=(5.0, 8.0), n=4), root_sr=0.5, root_sr_ci95=(0.1, 0.9)
    )
    score, rate = headline([agent], STYLES, threshold=7).data
    assert list(score.x) == [6.0]
    assert (score.error_x.array[0], score.error_x.arrayminus[0]) == (2.0, 1.0)
    assert list(rate.x) == [0.5]
    assert rate.error_x.array[0] == pytest.approx(0.4)


def test_a_mean_of_one_task_stands_without_an_interval(agent_numbers):
    agent = agent_numbers(root_score=Estimate(mean=6.0, ci95=None, n=1), root_sr=0.0)
    score = headline([agent], STYLES, threshold=7).data[0]
    assert (score.error_x.array[0], score.error_x.arrayminus[0]) == (0, 0)
    assert "no interval" in score.customdata[0]


def test_the_curve_leaves_out_what_was_not_measured(agent_numbers):
    shares = {"5": 1.0, "6": None, "7": 0.25, "8": 0.0, "9": 0.0}
    (line,) = success_curve([agent_numbers(root_sr_at=shares)], STYLES).data
    assert list(line.x) == [5, 7, 8, 9]
    assert list(line.y) == [1.0, 0.25, 0.0, 0.0]


def test_groups_without_a_score_are_not_drawn():
    known, unknown = Estimate(mean=4.0, ci95=(3.0, 5.0), n=5), Estimate(mean=None, ci95=None)
    figure = grouped_estimates(
        {AGENT: {"data_analysis": known, "retrieval_qa": unknown}}, STYLES, "score"
    )
    (points,) = figure.data
    assert list(points.y) == ["data analysis"]
    assert points.marker.color == STYLES[AGENT].colour


def test_capabilities_have_a_bar_per_agent(agent_numbers):
    agents = [
        agent_numbers("nop", capability_sr={"logic": 0.0, "creativity": None}),
        agent_numbers(capability_sr={"logic": 0.5, "creativity": None}),
    ]
    bars = capabilities(agents, STYLES).data
    assert [(bar.name, list(bar.x)) for bar in bars] == [("nop", [0.0]), (AGENT, [0.5])]


def test_task_scores_are_means_over_repetitions():
    rows = [TaskScore("nop", "one", 2.0), TaskScore("nop", "one", 4.0), TaskScore(AGENT, "two", 9)]
    (cells,) = task_scores(rows, ["nop", AGENT]).data
    assert list(cells.y) == ["one", "two"]
    assert [list(row) for row in cells.z] == [[3.0, None], [None, 9.0]]


def test_of_many_tasks_those_are_drawn_where_agents_differ_most():
    tasks = [f"task-{i:03}" for i in range(MOST_TASKS + 5)]
    rows = [TaskScore("nop", task, 0) for task in tasks]
    rows += [TaskScore(AGENT, task, i / 10) for i, task in enumerate(tasks)]
    figure = task_scores(rows, ["nop", AGENT])
    assert list(figure.data[0].y) == tasks[5:]
    assert "5 more" in figure.layout.yaxis.title.text


def test_failures_have_a_panel_per_kind_of_label(agent_numbers):
    counts = {
        "stage": {"not_attempted": 3, "reason": 1},
        "type": {"formatting": 3},
        "level": {"leaf": 2, "deliverable": 1},
    }
    panels = failures([agent_numbers(failures=counts, scored=4)], STYLES).data
    assert [list(panel.x) for panel in panels] == [[75, 25], [75], [50, 25]]
    assert list(panels[0].customdata) == ["3 of 4", "1 of 4"]
    assert list(panels[0].y) == ["not attempted", "reason"]


def test_a_bar_of_failures_leads_to_its_trials(agent_numbers):
    counts = {"stage": {"not_attempted": 3, "reason": 0}}
    (bars, *_) = failures([agent_numbers(failures=counts)], STYLES, "runs/r/dashboard.html").data
    agent = "react%3Aopenai%2Fgpt-5.2"
    where = f"#trials?round=0&agent={agent}&stage=not%20attempted&n=3"
    assert bars.meta["links"] == [f"runs/r/dashboard.html{where}", None]


def test_a_gain_is_drawn_against_no_change():
    figure = refinement([gain(1.5, (0.5, 2.5)), gain(None, agent="nop")], STYLES)
    (point,) = figure.data
    assert list(point.x) == [1.5]
    low, high = figure.layout.xaxis.range
    assert low == -high
    assert high > 2.5


def test_gains_over_none_have_a_panel_of_their_own_on_the_same_axis():
    arms = [gain(0.5, (-1, 2), arm="none"), gain(1.5, (0.5, 2.5), arm="self_taxonomy", over_none=1)]
    figure = refinement(arms, STYLES)
    assert [(p.xaxis, p.x[0], p.y[0]) for p in figure.data] == [
        ("x", 0.5, "none"),
        ("x", 1.5, "self taxonomy"),
        ("x2", 1.0, "self taxonomy"),
    ]
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range
    assert figure.layout.xaxis.range[1] > 4
    table = numbers(figure.to_plotly_json())
    assert [row[0] for row in table.rows] == [
        *2 * ["Over the first attempts"],
        "Over the arm none",
    ]


def test_gains_name_agents_and_rounds_only_where_there_are_several():
    figure = refinement([gain(1.0), gain(1.0, agent="nop", round_=2)], STYLES)
    assert [point.y[0] for point in figure.data] == [
        f"{AGENT}<br>coarse, round 1",
        "nop<br>coarse, round 2",
    ]
    assert numbers(figure.to_plotly_json()).rows[1][:2] == ["nop", "nop, coarse, round 2"]


def test_agents_of_similar_names_have_lines_of_their_own():
    agents = [f"function_calling:compatible/{size}-of-the-same-model" for size in ("8b", "70b")]
    figure = refinement([gain(1.0, agent=a) for a in agents], agent_styles(agents, ()))
    assert len({point.y[0] for point in figure.data}) == 2


def test_effort_is_per_trial_that_the_agent_ended_itself(agent_numbers):
    agent = agent_numbers(
        trials=5, errors=1, wall_s=40.0, tokens=800, turns=2.5, cost_usd=None, scored=4
    )
    seconds, tokens, turns, dollars = effort([agent], STYLES).data
    assert [bar.x[0] for bar in (seconds, tokens, turns)] == [10, 200, 2.5]
    assert dollars.texttemplate == "unknown"


def test_effort_that_is_unknown_is_said_to_be(agent_numbers):
    agent = agent_numbers(trials=2, wall_s=None, tokens=None, turns=None, cost_usd=0.5)
    seconds, tokens, turns, dollars = effort([agent], STYLES).data
    assert {bar.texttemplate for bar in (seconds, tokens, turns)} == {"unknown"}
    assert dollars.x[0] == 0.25


def test_steps_stand_against_success_for_agents_whose_turns_are_known(agent_numbers):
    known = agent_numbers(turns=8.0, root_sr=0.25, root_sr_ci95=(0.1, 0.5))
    unknown = agent_numbers("nop", turns=None, root_sr=0.0)
    (point,) = steps_against_success([known, unknown], STYLES).data
    assert (list(point.x), list(point.y), point.name) == ([8.0], [0.25], AGENT)
    assert (list(point.error_y.array), list(point.error_y.arrayminus)) == ([0.25], [0.15])


def test_passes_of_a_stage_are_added_up():
    reports = [stage("execute", 100), stage("execute", 20), stage("execute", 5, round_=1)]
    (bars,) = timings(reports, "#3a78d6").data
    assert list(bars.y) == ["execute", "execute, round 1"]
    assert list(bars.x) == [120, 5]
    assert list(bars.customdata) == [2, 1]


def test_a_histogram_keeps_the_order_given_and_tells_shares():
    (bars,) = histogram({"short": 1, "long": 3}, 4, "#3a78d6").data
    assert list(bars.x) == [1, 3]
    assert [list(row) for row in bars.customdata] == [["short", 0.25], ["long", 0.75]]


def test_names_that_are_cut_to_the_same_label_keep_their_own_bars():
    names = [f"{'a' * 60}{i}{'z' * 60}" for i in range(2)]
    figure = histogram(dict.fromkeys(names, 1), 2, "#3a78d6")
    assert len(set(figure.layout.yaxis.ticktext)) == 1
    assert list(figure.data[0].y) == [0, 1]


def test_a_histogram_of_many_names_draws_the_first():
    counts = {f"source {i}": 100 - i for i in range(MOST_BARS + 5)}
    (bars,) = histogram(counts, 100, "#3a78d6").data
    assert list(bars.x) == [100 - i for i in range(MOST_BARS)]


def test_every_figure_says_so_when_there_is_nothing_to_draw(agent_numbers):
    agents = [agent_numbers(pending=4)]
    figures = [
        headline(agents, STYLES, 7),
        success_curve(agents, STYLES),
        grouped_estimates({AGENT: {}}, STYLES, "score"),
        capabilities(agents, STYLES),
        task_scores([], [AGENT]),
        failures(agents, STYLES),
        refinement([], STYLES),
        effort(agents, STYLES),
        steps_against_success(agents, STYLES),
        timings([], "#3a78d6"),
        histogram({}, 0, "#3a78d6"),
    ]
    for figure in figures:
        assert len(figure.data) == 0
        assert figure.layout.annotations[0].text.endswith((".", "yet."))
        assert figure.layout.height > 0


def test_markup_in_a_name_reaches_no_figure(agent_numbers):
    styles = agent_styles([HOSTILE], ())
    estimate = Estimate(mean=1.0, ci95=(0.0, 2.0), n=2)
    agents = [
        agent_numbers(
            HOSTILE,
            scored=4,
            root_score=estimate,
            root_sr=0.0,
            root_sr_at={"5": 0.0},
            capability_sr={"<b>": 0.0},
            failures={"stage": {"<b>": 1}},
            turns=1.0,
        )
    ]
    figures = [
        headline(agents, styles, 7),
        success_curve(agents, styles),
        grouped_estimates({HOSTILE: {"<b>": estimate}}, styles, "score"),
        capabilities(agents, styles),
        task_scores([TaskScore(HOSTILE, "<b>", 1.0)], [HOSTILE]),
        failures(agents, styles),
        refinement([gain(1.0, agent=HOSTILE)], styles),
        effort(agents, styles),
        timings([stage("<b>", 1.0)], "#3a78d6"),
        histogram({"<b>": 1}, 1, "#3a78d6"),
    ]
    for figure in figures:
        texts = json.dumps(json.loads(figure.to_json()), ensure_ascii=False)
        assert "&lt;b&gt;" in texts
        assert "<b>" not in texts
        templates = [t.hovertemplate or "" for t in figure.data]
        assert not any("&lt;b" in template for template in templates)


def test_ways_of_planning_of_one_model_keep_places_of_their_own(agent_numbers):
    names = [f"function_calling{how}:compatible/a-model-of-ours" for how in PLANNINGS]
    agents = [
        agent_numbers(name, root_score=Estimate(mean=place, ci95=None, n=3), trials=3)
        for place, name in enumerate(names)
    ]
    styles = agent_styles(names, set())
    assert len({trace.y[0] for trace in headline(agents, styles, 7).data}) == 3
    assert len({bar.y[0] for bar in effort(agents, styles).data}) == 3
    (heat,) = task_scores([TaskScore(name, "a-task", 5) for name in names], names).data
    assert len(set(heat.x)) == 3
