"""`nightshift agreement --labels` compares the labels of rules with those of people."""

import json
from contextlib import closing

import pytest
from bs4 import BeautifulSoup

from dashboards.index import build_index
from flows.agreement.label_cards import listed_labellers
from flows.config import load_settings
from taskdata.schema.diagnosis import Diagnosis, Evidence, FailureLevels, Label, ModelLabelling
from taskdata.schema.label_agreement import GivenLabels, LabelAnnotation
from taskdata.store import Store

AGENT, OTHER = "react:openai/one", "react:some/two"
STAGES = ("plan", "reason", "reason")
HEADER = "task,annotator,stage,type,level,tool_use,long_run,arguments,infrastructure"


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr("quality.statistics.bootstrap.RESAMPLES", 49)


@pytest.fixture
def diagnosed(stored_run):
    """A run of two agents: each failed in three tasks and lost a fourth; trial ids by agent."""
    scores = (2.0, 2.0, 2.0, "ValueError: lost")
    trials = stored_run({AGENT: scores, OTHER: scores})
    loop = Label(
        taxonomy="long_run", name="loop", confidence=1, evidence=(Evidence(says="3 times", turn=4),)
    )
    with closing(Store.open(load_settings().address)) as store:
        for own in trials.values():
            for trial, stage in zip(own, STAGES, strict=False):
                store.record_diagnosis(
                    Diagnosis(
                        trial_id=trial,
                        stage=stage,
                        type="reasoning",
                        levels=FailureLevels(leaf=True, composition=False, deliverable=False),
                        evidence=(),
                        labels=(loop,) if stage == "plan" else (),
                        labeller="rules@3",
                    )
                )
    return trials


def annotate(trials, annotator, stages, long_run=()):
    with closing(Store.open(load_settings().address)) as store:
        for trial, stage in zip(trials, stages, strict=False):
            labels = GivenLabels(stage=stage, type="reasoning", level=("leaf",), long_run=long_run)
            store.save_label_annotation(
                LabelAnnotation(trial_id=trial, annotator=annotator, labels=labels, note="=1+1")
            )
        if len(trials) > 3:
            lost = LabelAnnotation(
                trial_id=trials[3],
                annotator=annotator,
                labels=GivenLabels(infrastructure="our_bug"),
            )
            store.save_label_annotation(lost)


def pairs_of(card, kind, name):
    (found,) = [one for one in card["labels"] if (one["kind"], one["name"]) == (kind, name)]
    return {(pair["first"], pair["second"]): pair for pair in found["pairs"]}


def test_annotations_of_a_run_become_a_card(command, diagnosed, home):
    annotate(diagnosed[AGENT], "ada", STAGES)
    annotate(diagnosed[AGENT], "bob", ("plan", "plan", "reason"), ("loop",))

    done = command("agreement", "--labels", "--run", "run-1", "--json")

    assert done.returncode == 0, done.stderr
    (card,) = json.loads(done.stdout)["cards"]
    assert (card["labeller"], card["trials"], card["tasks"]) == ("rules@3", 4, 4)
    assert (card["annotators"], card["evidence"]) == (["ada", "bob"], "run-1")
    plan = pairs_of(card, "stage", "plan")
    assert set(plan) == {("rules@3", "ada"), ("rules@3", "bob"), ("ada", "bob")}
    assert plan["rules@3", "ada"]["kappa"]["mean"] == 1
    assert plan["rules@3", "bob"]["kappa"]["mean"] == pytest.approx(0.4)
    assert plan["rules@3", "bob"]["kappa"]["n"] == 3
    assert pairs_of(card, "infrastructure", "our_bug")["rules@3", "ada"]["kappa"]["n"] == 4
    loop = pairs_of(card, "long_run", "loop")["ada", "bob"]
    assert (loop["by_first"], loop["by_second"], loop["kappa"]["mean"]) == (0, 3, 0)
    handed = pairs_of(card, "long_run", "handed_back")["ada", "bob"]
    assert (handed["kappa"]["mean"], handed["undefined"]) == (None, "neither ever gave it")

    page = BeautifulSoup((home / "judges" / "labels-rules@3.html").read_text(), "html.parser")
    assert "stage: plan" in page.get_text()
    assert "undefined: both always gave it" in page.get_text()


def test_rules_alone_and_with_a_model_are_two_labellers(command, diagnosed):
    """A model gave the stages that ada gives, and loops; to the rules they are undetermined."""
    annotate(diagnosed[AGENT], "ada", STAGES)
    loop = Label(
        taxonomy="long_run",
        name="handed_back",
        confidence=0.5,
        evidence=(Evidence(says="you do it", turn=4),),
        by="openai/labeller",
    )
    with closing(Store.open(load_settings().address)) as store:
        for trial, stage in zip(diagnosed[AGENT], STAGES, strict=False):
            store.record_diagnosis(
                Diagnosis(
                    trial_id=trial,
                    stage=stage,
                    type="reasoning",
                    levels=FailureLevels(leaf=True, composition=False, deliverable=False),
                    evidence=(),
                    labels=(loop,),
                    labeller="rules@3+openai/labeller@1",
                    by_model=ModelLabelling(model="labeller-1", decided=("stage",)),
                )
            )

    done = command("agreement", "--labels", "--run", "run-1", "--json")

    assert done.returncode == 0, done.stderr
    rules, both = json.loads(done.stdout)["cards"]
    assert [rules["labeller"], both["labeller"]] == ["rules@3", "rules@3+openai/labeller@1"]
    assert (rules["trials"], both["trials"]) == (4, 4)
    stages = pairs_of(both, "stage", None)
    assert stages["rules@3", "ada"]["by_both"] == 0
    assert stages["rules@3+openai/labeller@1", "ada"]["kappa"]["mean"] == 1
    handed = pairs_of(both, "long_run", "handed_back")["rules@3", "rules@3+openai/labeller@1"]
    assert (handed["by_first"], handed["by_second"]) == (0, 3)


def test_people_read_tables(command, diagnosed):
    annotate(diagnosed[AGENT], "ada", STAGES)
    told = " ".join(command("agreement", "--labels", "--run", "run-1").stdout.split())
    assert "Labels of rules@3: 4 failed trials, 4 tasks, 1 annotator" in told
    assert "rules@3 and ada: Cohen's kappa" in told
    assert "undefined: both always gave it" in told
    assert "multimodal" not in told


def test_cards_are_listed_where_those_of_judges_are(command, diagnosed, home):
    annotate(diagnosed[AGENT], "ada", STAGES)
    command("agreement", "--labels", "--run", "run-1")
    page = home / "judges" / "labels-rules@3.html"
    page.unlink()
    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        (listed,) = listed_labellers(settings, store)
    assert page.is_file(), "a page that is gone is written again"
    html = BeautifulSoup(build_index([], [], [], [listed]), "html.parser")
    assert html.select_one("#labellers a")["href"] == "judges/labels-rules%403.html"


def test_labels_are_exported_and_read_back(command, diagnosed, tmp_path):
    annotate(diagnosed[AGENT], "ada", STAGES)
    annotate(diagnosed[OTHER], "bob", ("plan", "plan", "reason"))
    out = tmp_path / "labels.csv"
    arguments = ("agreement", "--labels", "--run", "run-1", "--export", str(out), "--json")
    (first,) = json.loads(command(*arguments).stdout)["cards"]
    assert "'=1+1" in out.read_text()
    (again,) = json.loads(command("agreement", str(out), "--labels", "--json").stdout)["cards"]
    assert again["labels"] == first["labels"]


def test_a_file_of_people_is_matched_with_the_labels_of_a_run(command, diagnosed, tmp_path):
    file = tmp_path / "people.csv"
    rows = [f"task-{n},ada,{stage},,leaf,,,,,{AGENT}" for n, stage in enumerate(STAGES)]
    file.write_text("\n".join([f"{HEADER},agent", *rows]))
    done = command("agreement", str(file), "--labels", "--run", "run-1", "--json")
    assert done.returncode == 0, done.stderr
    (card,) = json.loads(done.stdout)["cards"]
    assert (card["trials"], card["evidence"]) == (3, "people.csv, run-1")
    assert pairs_of(card, "stage", None)["rules@3", "ada"]["kappa"]["mean"] == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{HEADER}\ntask-0,ada,plan,,,,,,\n", "2 agents; the file needs a column `agent`"),
        (f"{HEADER},agent\nother,ada,plan,,,,,,,{AGENT}\n", "no label of the file is of a failed"),
        (f"{HEADER},agent\ntask-0,ada,pla,,,,,,,{AGENT}\n", "line 2: stage has no label 'pla'"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(command, diagnosed, tmp_path, text, says):
    file = tmp_path / "people.csv"
    file.write_text(text)
    done = command("agreement", str(file), "--labels", "--run", "run-1")
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("agreement", "--labels", "--run", "run-1"), "nobody has labelled run run-1; `nightshift"),
        (("agreement", "--labels", "--run", "run-1", "--judge", "x"), "leave out --judge"),
        (("annotate", "run-1", "--labels", "--all-leaves"), "leave out --all-leaves"),
        (("annotate", "run-1", "--trials", "3"), "--trials goes with --labels"),
        (("annotate", "run-1", "--labels", "--agent", "x"), "has no agent 'x'"),
    ],
)
def test_what_does_not_go_together_is_said(command, diagnosed, arguments, says):
    done = command(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
