"""`nightshift agreement --plans` compares judges of plans with people, in either mode."""

import json
from contextlib import closing
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup

from flows.agreement.cards import listed_judges
from flows.config import load_settings
from stages.prepare.work import first_trial
from taskdata.schema.agent import AgentSpec
from taskdata.schema.plan_agreement import GivenMarks, PlanAnnotation
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.transcript import Ending, Transcript
from taskdata.store import Store
from tests.flows.cli.conftest import NOW, finished_outcome
from tests.planning_cases import make_case, make_case_task, make_mark

OWN, OTHER = "planner:openai/large", "planner:some/small"
JUDGE, BLIND = "judge:openai/large@1", "judge:openai/large[blind]@1"
CASES = 6
RIGHT, WRONG = GivenMarks(grade=1), GivenMarks(grade=0.4, errors=("E2", "E4"))


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr("quality.statistics.bootstrap.RESAMPLES", 49)


def scored(trial, marks, verifier, same):
    planning = make_mark(marks.grade, marks.errors).model_copy(update={"same_as_reference": same})
    points = 10 * marks.grade
    leaf = LeafScore(leaf_id="root", score=points, verifier=verifier, reason="seen")
    root = NodeScore(
        id="root",
        requirement="x",
        weight=1,
        score=points,
        coverage=1,
        leaf=leaf,
        planning=planning,
    )
    return TrialScore(trial_id=trial.id, root=root, scorer_version="1")


def store_run(store, run_id, says, verifier, **config):
    """A run of two agents over six cases; code alone decides the first, as the reference's."""
    tasks = [make_case_task(f"case-{n}", make_case(source=f"source-{n}")) for n in range(CASES)]
    agents = tuple(AgentSpec.parse(name) for name in (OWN, OTHER))
    run = Run(
        id=run_id,
        status=RunStatus.COMPLETED,
        config=RunConfig.model_validate({"bank": "test", "agents": agents, **config}),
        release_hash=store.add_release("test", tuple(tasks), {}).hash,
        code_version="test",
        created_at=NOW,
    )
    store.add_run(run)
    transcript = Transcript(
        events=(), final_answer="", ending=Ending.FINISHED, predicted_plan=PredictedPlan()
    )
    found = {}
    for agent in agents:
        for n, task in enumerate(tasks):
            trial = first_trial(run.id, agent.name, task.content_hash, task, 0)
            store.plan_trials([trial])
            store.record_outcome(finished_outcome(store, trial.id, None, transcript))
            by_code = n == 0
            marks = RIGHT if by_code else says(agent.name, n)
            decider = "plan:code@1" if by_code else verifier
            store.record_score(scored(trial, marks, decider, by_code), ())
            found[agent.name, n] = trial.id
    return found


def truth(n):
    return RIGHT if n % 2 == 0 else WRONG


def of_people(_agent, n):
    return truth(n)


def of_its_own(agent, n):
    return RIGHT if agent == OWN else truth(n)


@pytest.fixture
def night(home, open_store):
    """A night whose judge agrees with people, and its rescoring by the same judge, blind."""
    with closing(open_store(load_settings().address)) as store:
        trials = store_run(store, "run-1", of_people, JUDGE)
        store_run(store, "run-1-blind", of_its_own, BLIND, rescores="run-1", purpose="rescoring")
    return trials


def annotate(trials, annotator="ada", agents=(OWN, OTHER)):
    with closing(Store.open(load_settings().address)) as store:
        for (agent, n), trial_id in trials.items():
            if agent in agents:
                given = PlanAnnotation(
                    trial_id=trial_id, annotator=annotator, marks=truth(n), note="=1+1"
                )
                store.save_plan_annotation(given)


def test_both_modes_of_a_judge_become_one_card(command, night, home):
    annotate(night)
    done = command("agreement", "--plans", "--run", "run-1-blind", "--json")
    assert done.returncode == 0, done.stderr
    (card,) = json.loads(done.stdout)["cards"]
    assert (card["judge"], card["plans"], card["cases"]) == ("openai/large@1", 12, 6)
    assert (card["annotators"], card["evidence"]) == (["ada"], "run-1, run-1-blind")
    sighted, blind = card["with_reference"], card["blind"]
    assert (sighted["whole"]["agreement"]["mean"], sighted["by_code"]) == (1, 2)
    assert (sighted["asked"]["agreement"]["n"], sighted["standard"]["agreement"]["n"]) == (10, 2)
    assert blind["whole"]["precision"]["mean"] == pytest.approx(6 / 9)
    assert card["difference"]["agreement"]["mean"] == pytest.approx(-0.25)
    own, other = blind["bias"]
    assert (own["agent"], own["own"], own["correct"]["mean"]) == (OWN, True, 0.5)
    assert (other["own"], other["correct"]["mean"]) == (False, 0)
    assert blind["self_preference"]["correct"]["mean"] == pytest.approx(0.5)

    page = BeautifulSoup((home / "judges" / "plans-openai-large@1.html").read_text(), "html.parser")
    text = " ".join(page.get_text(" ").split())
    assert "Blind minus with reference" in text
    assert f"{OWN} the judge's own model" in text


def test_people_read_tables(command, night):
    annotate(night)
    annotate(night, "bob", (OWN,))
    told = " ".join(command("agreement", "--plans", "--run", "run-1").stdout.split())
    assert "Judge openai/large@1: 12 plans, 6 cases, 2 annotators" in told
    assert "Bias by agent, blind: judge minus people" in told
    assert "(the judge's own model)" in told


def test_without_a_run_the_latest_one_is_meant(command, night):
    annotate(night)
    (card,) = json.loads(command("agreement", "--plans", "--json").stdout)["cards"]
    assert card["plans"] == 12


def test_a_run_leads_to_the_card_and_says_when_there_is_none(command, night, home):
    told = json.loads(command("results", "run-1", "--json").stdout)["judge_notice"]
    assert "Judge openai/large@1 has no card about plans" in told
    annotate(night)
    command("agreement", "--plans", "--run", "run-1")
    assert json.loads(command("results", "run-1", "--json").stdout)["judge_notice"] is None
    command("report", "run-1")
    page = BeautifulSoup((home / "runs" / "run-1" / "dashboard.html").read_text(), "html.parser")
    (link,) = page.select("dd a.card")
    assert link.text == "Card of judge openai/large@1, plans"
    linked = (home / "runs" / "run-1" / unquote(link["href"])).resolve()
    linked.unlink()
    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        (listed,) = listed_judges(settings, store)
    assert (listed.plans, linked.is_file()) == (12, True), "a page that is gone is written again"


def test_marks_are_exported_and_read_back(command, night, tmp_path):
    annotate(night)
    out = tmp_path / "marks.csv"
    arguments = ("agreement", "--plans", "--run", "run-1", "--export", str(out), "--json")
    (first,) = json.loads(command(*arguments).stdout)["cards"]
    assert "'=1+1" in out.read_text()
    (again,) = json.loads(command("agreement", str(out), "--plans", "--json").stdout)["cards"]
    same = ("with_reference", "blind", "difference", "plans", "between_people")
    assert {name: again[name] for name in same} == {name: first[name] for name in same}


def test_a_file_of_people_is_matched_with_the_plans_of_a_run(command, night, tmp_path):
    file = tmp_path / "people.csv"
    rows = [
        f"case-{n},ada,{truth(n).grade},{' '.join(truth(n).errors)},{OTHER}" for n in range(CASES)
    ]
    file.write_text("\n".join(["task,annotator,grade,errors,agent", *rows]))
    done = command("agreement", str(file), "--plans", "--run", "run-1", "--json")
    assert done.returncode == 0, done.stderr
    (card,) = json.loads(done.stdout)["cards"]
    assert (card["plans"], card["evidence"]) == (6, "people.csv, run-1, run-1-blind")
    assert card["with_reference"]["standard"]["agreement"]["n"] == 1
    assert card["with_reference"]["whole"]["f1"]["mean"] == 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (f"case-9,ada,1,,{OTHER}", "line 2: task: 'case-9' has no plan in the run; did you mean"),
        ("case-1,ada,1,,planner:some/smal", f"line 2: agent: 'planner:some/smal' has no plan in "
         f"the run; did you mean '{OTHER}'?"),
        ("case-1,ada,1,,", f"line 2: agent: is empty; write one of {OWN}, {OTHER}"),
        (f"case-1,ada,0.5,E4,{OTHER}", "line 2: grade: 0.5 is not on the scale; write one of 0,"),
        (f"case-1,ada,0.4,E7,{OTHER}", "line 2: errors: there is no 'E7'; there are E1, E2,"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_refused(command, night, tmp_path, row, says):
    file = tmp_path / "people.csv"
    file.write_text(f"task,annotator,grade,errors,agent\n{row}\n")
    done = command("agreement", str(file), "--plans", "--run", "run-1")
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--run", "run-1"), "nobody has marked the plans of run run-1; `nightshift annotate"),
        (("--run", "run-1", "--labels"), "leave out --labels"),
        (("--run", "run-1", "--threshold", "5"), "leave out --labels and --threshold"),
    ],
)
def test_what_does_not_go_together_is_said(command, night, arguments, says):
    done = command("agreement", "--plans", *arguments)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run-1", "--plans", "--labels"), "give --labels or --plans"),
        (("run-1", "--plans", "--all-leaves"), "leave out --all-leaves: with --plans"),
        (("run-1", "--plans", "--agent", "x"), "has no agent 'x'"),
    ],
)
def test_what_is_asked_about_is_one_thing(command, night, arguments, says):
    done = command("annotate", *arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_run_without_plans_has_nothing_to_compare(command, stored_run):
    stored_run({"nop": (1.0,)})
    done = command("agreement", "--plans")
    assert done.returncode == 2
    assert "run run-1 has no scored plans" in done.stderr
    done = command("annotate", "run-1", "--plans")
    assert done.returncode == 2
    assert "has no plan that could be read; agents answer planning cases with" in done.stderr
