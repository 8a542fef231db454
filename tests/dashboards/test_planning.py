"""The section about plans on a run's page."""

import pytest
from bs4 import BeautifulSoup

from taskdata.schema.planning import Form, Infeasibility, Setting
from taskdata.schema.planning_score import Behaviour
from taskdata.schema.scores import NodeScore, TrialScore
from tests.planning_cases import make_case, make_case_task, make_mark

GOOD, BAD = "planner:openai/gpt-5.2", "planner:openai/small"


def cases():
    """Cases of every setting from four source tasks, with what each agent's answer earns."""
    for n in range(4):
        source = f"source-{n}"
        yield f"whole-{n}", make_case(source=source, steps=4 + 6 * n), 1.0, 0.4, {}
        for k in (1, 2, 3):
            case = make_case(
                Setting.STEP_WISE, source=source, horizon=k, position=2 * n, length=8, steps=k
            )
            yield f"next-{n}-{k}", case, 1.0, 0.6 if k > 1 else 1.0, {}
        for form, count in ((Form.HOLISTIC, 2 + 2 * n), (Form.STEP_WISE, 4)):
            base = f"whole-{n}" if form is Form.HOLISTIC else f"next-{n}-1"
            case = make_case(
                Setting.EXTRANEOUS, form=form, source=source, distractors=count, base_case=base
            )
            yield f"more-{n}-{form[0]}", case, 1.0, 0.4, {"extraneous": ["d0"] * n}
        broken = make_case(Setting.BROKEN, source=source)
        yield f"broken-{n}", broken, 1.0, 0.2, {"behaviour": Behaviour.RETRY}
        kind = list(Infeasibility)[n]
        yield f"un-{n}", make_case(Setting.UNSOLVABLE, source=source, infeasibility=kind), 1, 0, {}
        priced = make_case(Setting.EFFICIENCY, source=source, optimum=6)
        yield f"cheap-{n}", priced, 1.0, 1.0, {"cost": 6 + n, "traps": ["t"] if n else []}


@pytest.fixture
def planning_night(store, new_run, plan, finish):
    made = [(make_case_task(name, case), *rest) for name, case, *rest in cases()]
    run = new_run(*(task for task, *_ in made), agents=(GOOD, BAD, "reference"))
    for task, good, bad, fields in made:
        for agent, grade in ((GOOD, good), (BAD, bad), ("reference", 1.0)):
            trial = plan(run, task, agent)
            finish(trial)
            errors = [] if grade == 1 else ["E4", "E2"]
            own = fields if agent == BAD else {k: v for k, v in fields.items() if k == "cost"}
            mark = make_mark(grade, errors, form=task.planning.form, **own)
            root = NodeScore(
                id="root",
                requirement="The plan is right.",
                weight=1,
                score=10 * grade,
                coverage=1,
                planning=mark,
            )
            store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), [])
    return run


@pytest.fixture
def section(dashboard, planning_night):
    return BeautifulSoup(dashboard(planning_night), "html.parser").find(id="planning")


def test_every_setting_and_agent_has_its_row(section):
    table = section.find("table")
    settings = {row.find_all("td")[0].text for row in table.tbody.find_all("tr")}
    assert settings == {
        "holistic",
        "step wise",
        "extraneous holistic",
        "extraneous step wise",
        "broken",
        "unsolvable",
        "efficiency",
    }
    first = [row for row in table.tbody.find_all("tr") if BAD in row.th.get("title", row.th.text)]
    assert len(first) == len(settings)


def test_every_figure_is_drawn(section, data_of, dashboard, planning_night):
    names = {figure["data-figure"] for figure in section.find_all(attrs={"data-figure": True})}
    figures = data_of(dashboard(planning_night), "figures")
    assert len(names) == 10
    assert all(figures[name]["data"] for name in names)


def test_calls_of_distractors_are_drawn_by_their_number(data_of, dashboard, planning_night):
    drawn = data_of(dashboard(planning_night), "figures")["plan-extraneous"]["data"]
    lines = {(line["name"], line["xaxis"]): (line["x"], line["y"]) for line in drawn}
    assert lines[BAD, "x"] == ([2, 4, 6, 8], [0, 1, 2, 3])
    assert lines[GOOD, "x2"] == ([4], [0])


def test_errors_are_a_closed_line_over_six_kinds_with_its_numbers(
    data_of, dashboard, planning_night
):
    page = dashboard(planning_night)
    trace = next(t for t in data_of(page, "figures")["plan-errors"]["data"] if t["name"] == BAD)
    assert trace["theta"][0] == trace["theta"][-1]
    assert trace["r"][:6] == [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    rows = data_of(page, "tables")["plan-errors"]["rows"]
    assert [BAD, "E4", 1.0, "logic"] in [row[-4:] for row in rows]


def test_distractors_and_comparisons_are_told_in_percentage_points(section):
    regions = {one["aria-label"]: one for one in section.find_all(attrs={"role": "region"})}
    effect = regions["With distractors and without"].tbody
    assert "+0.0" in effect.text
    compared = regions["Agents on the same planning cases"].tbody
    assert "-100.0" in compared.text
    assert "reference" not in compared.text


def test_a_run_without_planning_cases_has_no_such_section(dashboard, night):
    assert BeautifulSoup(dashboard(night), "html.parser").find(id="planning") is None


def test_agents_that_plan_first_stand_beside_those_that_do_not(
    dashboard, store, new_run, new_task, plan, finish, grade
):
    names = ("react:openai/m", "react+plan_first:openai/m")
    tasks = [new_task("first"), new_task("second", title="Another sum")]
    run = new_run(*tasks, agents=names)
    for name, scores in zip(names, ((2.0, 4.0), (5.0, 6.0)), strict=True):
        for task, score in zip(tasks, scores, strict=True):
            trial = plan(run, task, name)
            finish(trial)
            grade(trial, score)
    section = BeautifulSoup(dashboard(run), "html.parser").find(id="planning")
    rows = [[cell.text for cell in row.find_all("td")] for row in section.tbody.find_all("tr")]
    assert [row[0] for row in rows] == ["direct", "plan first"]
    assert rows[1][3].startswith("+2.50")


def test_the_groups_of_each_table_have_the_name_of_what_they_are(section):
    tables = [one.table for one in section.find_all("details") if "in numbers" in one.text]
    heads = [[cell.text for cell in table.thead.find_all("th")] for table in tables]
    assert [head[1] for head in heads] == ["Setting", "Actions", "Part", "Steps", "Medium"]
    # No answer of this night stands apart.
    assert not any(head[-1].startswith("Apart") for head in heads)


def test_answers_that_stand_apart_have_a_column(dashboard, store, new_run, plan, finish):
    run = new_run(make_case_task("a", make_case()), agents=(BAD,))
    (task,) = store.tasks_of_run(run.id).values()
    trial = plan(run, task, BAD)
    finish(trial)
    mark = make_mark(0.0).model_copy(update={"unreadable": True, "correct": False})
    root = NodeScore(id="root", requirement="x", weight=1, score=0, coverage=1, planning=mark)
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), [])
    table = BeautifulSoup(dashboard(run), "html.parser").find(id="planning").table
    assert table.thead.find_all("th")[-1].text.startswith("Apart")
    assert table.tbody.find_all("td")[-1].text == "1 unreadable"
