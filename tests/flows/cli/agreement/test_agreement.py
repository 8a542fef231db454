"""`nightshift agreement` makes a judge's card, and runs say what their judge has not shown."""

import json
from contextlib import closing
from urllib.parse import quote, unquote

import pytest
from bs4 import BeautifulSoup
from sqlmodel import select

from dashboards.index import build_index
from flows.agreement.cards import listed_judges
from flows.config import load_settings
from flows.site import write_all
from taskdata.schema.agreement import Annotation
from taskdata.schema.panel import JudgeOpinion
from taskdata.schema.scores import NodeScore
from taskdata.store import Store
from taskdata.tables import ScoreRow
from tests.flows.cli.conftest import LEAVES as LEAVES_OF_A_TASK

JUDGE = "some/model@1"
AGENT, OTHER = "react:openai/one", "react:some/two"
LEAVES = [(9.0, 8.0, 2.0, 5.0), (1.0, 0.0, 10.0, 3.0), (7.5, 6.0, 4.0, 9.0)]


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr("quality.statistics.bootstrap.RESAMPLES", 49)


@pytest.fixture
def judged(stored_run):
    """A run of two agents on three tasks with four judged leaves each; trial ids by agent."""
    return stored_run({AGENT: tuple(LEAVES), OTHER: tuple(LEAVES)})


def annotate(trials, error=0.5, annotator="ada", score=None, given=LEAVES):
    with_store = Store.open(load_settings().address)
    for trial, leaves in zip(trials, given, strict=True):
        for number, own in enumerate(leaves):
            said = min(10.0, own + error) if score is None else score
            with_store.save_annotation(
                Annotation(
                    trial_id=trial, leaf_id=f"leaf-{number}", annotator=annotator, score=said
                )
            )
    with_store.close()


def test_annotations_of_a_run_become_a_card(command, judged, home):
    annotate(judged[AGENT])
    annotate(judged[OTHER], annotator="bob")

    done = command("agreement", "--run", "run-1", "--json")

    assert done.returncode == 0, done.stderr
    (card,) = json.loads(done.stdout)["cards"]
    assert (card["judge"], card["leaves"], card["tasks"]) == (JUDGE, 24, 3)
    assert card["agreement"]["leaf"]["mae"]["mean"] == pytest.approx(11 * 0.5 / 12)
    assert set(card["by_source"]) == {AGENT, OTHER}
    assert card["between_annotators"] is None
    assert card["falls_short"] == ["24 leaves of 30"]
    page = (home / "judges" / "some-model@1.html").read_text()
    assert "24 leaves of 30" in page


def test_a_run_says_first_that_its_judge_has_no_card_or_falls_short(command, judged, home):
    command("report")
    page = (home / "runs" / "run-1" / "dashboard.html").read_text()
    body = page.partition("<body>")[2]
    assert body.index("Judge some/model@1 has no card") < body.index("<h1>")
    assert command("results").stdout.splitlines()[0].startswith("Judge some/model@1 has no card")

    annotate(judged[AGENT], score=5)
    command("agreement", "--run", "run-1")
    told = json.loads(command("results", "--json").stdout)["judge_notice"]
    assert "falls short against people (run-1): 12 leaves of 30; kappa" in told


def test_pages_lead_to_the_cards(command, judged, home):
    annotate(judged[AGENT], score=5)
    command("agreement", "--run", "run-1")
    command("report")
    page = BeautifulSoup((home / "runs" / "run-1" / "dashboard.html").read_text(), "html.parser")
    first = page.select_one("p.notice.bad a")
    assert first.text == "Card of judge some/model@1"
    assert (home / "runs" / "run-1" / unquote(first["href"])).resolve().is_file()
    assert [a["href"] for a in page.select("dd a")] == [first["href"]]

    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        write_all(settings, store)
        (home / "judges" / "some-model@1.html").unlink()
        (listed,) = listed_judges(settings, store)
    assert (home / "judges" / listed.page).is_file(), "a page that is gone is written again"
    site = home / "site"
    for name, selector in (("nights.html", "#judges a"), ("index.html", "p.notice a")):
        link = BeautifulSoup((site / name).read_text(), "html.parser").select_one(selector)
        assert (site / unquote(link["href"])).resolve() == (home / "judges" / listed.page).resolve()
    of_night = BeautifulSoup((site / "nights" / "run-1.html").read_text(), "html.parser")
    assert of_night.select_one("p.notice a")["href"] == f"../../judges/{quote(listed.page)}"
    served = build_index([], [], [listed])
    assert f'href="judges/{quote(listed.page)}"' in served
    assert "falls short, over 12 leaves" in served


def test_minima_are_settings(command, judged, tmp_path):
    (tmp_path / "nightshift.toml").write_text(
        "[agreement]\nkappa = -1\nicc = -1\nmae = 10\nleaves = 1\n"
    )
    annotate(judged[AGENT], score=5)
    assert "reaches what is demanded" in " ".join(
        command("agreement", "--run", "run-1").stdout.split()
    )
    assert json.loads(command("results", "--json").stdout)["judge_notice"] is None


def test_a_file_of_people_is_matched_with_the_scores_of_a_run(command, judged, tmp_path):
    file = tmp_path / "people.csv"
    file.write_text(
        "task,leaf,annotator,score,agent\n"
        + "".join(
            f"task-{t},leaf-{n},ada,{score},{AGENT}\n"
            for t, leaves in enumerate(LEAVES)
            for n, score in enumerate(leaves)
        )
    )
    done = command("agreement", str(file), "--run", "run-1", "--json")
    (card,) = json.loads(done.stdout)["cards"]
    assert card["leaves"] == 12
    assert card["agreement"]["leaf"]["mae"]["mean"] == 0
    assert card["evidence"] == "people.csv, run-1"

    file.write_text("task,leaf,annotator,score\ntask-0,leaf-0,ada,3\n")
    done = command("agreement", str(file), "--run", "run-1")
    assert done.returncode == 2
    assert "2 agents; the file needs a column `agent`" in done.stderr


def test_scores_are_exported_and_read_back(command, judged, tmp_path):
    annotate(judged[AGENT])
    out = tmp_path / "scores.csv"
    first = json.loads(
        command("agreement", "--run", "run-1", "--export", str(out), "--json").stdout
    )
    again = json.loads(command("agreement", str(out), "--json").stdout)
    assert again["cards"][0]["agreement"] == first["cards"][0]["agreement"]
    assert again["cards"][0]["probes"] == first["cards"][0]["probes"]


def test_an_output_passes_or_fails_where_its_task_requires_all(command, stored_run, tmp_path):
    """Each leaf is half a point off, which decides one output of three (leaves from 7 pass)."""
    leaves = [(9.0, 8.0, 8.0, 7.0), (1.0, 0.0, 10.0, 3.0), (7.5, 6.8, 8.0, 9.0)]
    required = LEAVES_OF_A_TASK.model_copy(update={"rule": "all_required", "passes_from": 7.0})
    trials = stored_run({AGENT: tuple(leaves)}, checkpoints=required)
    annotate(trials[AGENT], given=leaves)

    out = tmp_path / "scores.csv"
    done = command("agreement", "--run", "run-1", "--export", str(out), "--json")
    (card,) = json.loads(done.stdout)["cards"]
    assert card["agreement"]["task"]["mae"]["mean"] == pytest.approx(10 / 3)
    (again,) = json.loads(command("agreement", str(out), "--json").stdout)["cards"]
    assert again["agreement"] == card["agreement"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name a CSV file of scores, or --run RUN"),
        (("--run", "run-1"), "nobody has scored run run-1; `nightshift annotate run-1`"),
        (("absent.csv",), "No such file"),
    ],
)
def test_what_is_missing_is_said(command, judged, arguments, says):
    done = command("agreement", *arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_panel_and_each_of_its_judges_has_a_card(command, judged, home):
    """Judge `low` is always two points below what the leaf got, `high` as much above."""
    store = Store.open(load_settings().address)
    with store._writing() as session:
        for row in session.exec(select(ScoreRow)):
            tree = NodeScore.model_validate(row.tree)
            leaves = tuple(_by_panel(node) for node in tree.children)
            row.tree = tree.model_copy(update={"children": leaves}).model_dump(mode="json")
    store.close()
    annotate(judged[AGENT], error=0)

    done = command("agreement", "--run", "run-1", "--json")

    assert done.returncode == 0, done.stderr
    cards = {card["judge"]: card for card in json.loads(done.stdout)["cards"]}
    assert cards.keys() == {"mean(high, low)@2", "high@2", "low@2"}
    errors = {judge: card["agreement"]["leaf"]["mae"]["mean"] for judge, card in cards.items()}
    assert errors["mean(high, low)@2"] == 0
    assert errors["high@2"] > 1 < errors["low@2"]
    assert len(list((home / "judges").glob("*.html"))) == 3


def _by_panel(node: NodeScore) -> NodeScore:
    said = {"low": max(0.0, node.score - 2), "high": min(10.0, node.score + 2)}
    opinions = tuple(
        JudgeOpinion(verifier=f"judge:{name}@2", score=score, reason="so")
        for name, score in said.items()
    )
    update = {"panel": opinions, "verifier": "judge:mean(high, low)@2"}
    return node.model_copy(update={"leaf": node.leaf.model_copy(update=update)})
