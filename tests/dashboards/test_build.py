"""The whole page: what is on it, how large it gets, and what it says of what is missing."""

import json
import random
from functools import partial

import pytest
from bs4 import BeautifulSoup

import dashboards.build
from dashboards.build import PAGE_BYTES, build
from dashboards.pages.detail_tables import detail_tables
from dashboards.pages.trial_rows import trials_on_page
from quality.summary import summarise
from taskdata.errors import Misuse
from taskdata.schema.diagnosis import Evidence, Label, ModelLabelling
from taskdata.schema.gate import GateFailure, GateLevel, GateResult
from taskdata.schema.scores import Unscored
from taskdata.schema.transcript import ModelEvent
from taskdata.schema.views import (
    ImageView,
)

AGENT = "react:openai/gpt-5.2"


def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser")


def test_the_page_is_one_document_with_everything_in_its_place(dashboard, night):
    page = soup(dashboard(night))
    assert [len(page.find_all(tag)) for tag in ("html", "head", "body", "main", "h1")] == [1] * 5
    ids = [element["id"] for element in page.find_all(id=True)]
    assert len(ids) == len(set(ids))
    for link in page.select("nav a"):
        assert page.find(id=link["href"][1:]) is not None
    figures = json.loads(page.find(id="figures").string)
    drawn = {element["data-figure"] for element in page.find_all(attrs={"data-figure": True})}
    assert drawn == set(figures)


def test_the_header_names_run_bank_judge_and_sandbox(dashboard, night):
    header = soup(dashboard(night)).header.get_text(" ", strip=True)
    for fact in (night.id, night.release_hash[:10], "bubblewrap", "test", "above 7"):
        assert fact in header
    assert "no judge: rubric leaves unscored" in header


def test_agents_stand_side_by_side_with_errors_beside_their_scores(dashboard, night):
    rows = soup(dashboard(night)).select("#agents table.numbers tbody tr")
    cells = {row.th.get_text(strip=True)[1:]: row.find_all("td")[1:] for row in rows if row.th}
    mean, rate, scored, errors = (c.get_text(" ", strip=True) for c in cells[AGENT][:4])
    assert mean.startswith("6.00")
    assert rate.startswith("50")
    assert (scored, errors) == ("2 of 2", "0")
    scored, errors = (c.get_text(" ", strip=True) for c in cells["nop"][2:4])
    assert (scored, errors) == ("0 of 2 1 due", "1")


def test_every_group_of_results_detail_is_on_the_page_with_interval_and_n(dashboard, night, store):
    page = soup(dashboard(night))
    found = {d.summary.get_text(): d.table for d in page.select("#groups details")}
    agents = summarise(night, store.results(night.id), store.tasks_of_run(night.id)).agents
    assert set(found) == set(detail_tables(agents))
    assert {"By category", "By group of types", "By leaves of the tree"} < set(found)
    assert "Harness and model, per trial" in found
    competing, apart = found["Root SR above k"].find_all("tbody")
    assert AGENT in competing.get_text()
    assert "Controls" in apart.get_text()
    assert [AGENT in apart.get_text(), "nop" in apart.get_text()] == [False, True]
    table = found["By category"]
    columns = [cell.get_text() for cell in table.thead.find_all("th")]
    (row,) = [r for r in table.tbody.find_all("tr") if AGENT in r.get_text()]
    cells = dict(zip(columns, row.find_all(["td", "th"]), strict=True))
    figures = [small.get_text() for small in cells["root SR"].find_all("small")]
    assert cells["root SR"].get_text(" ", strip=True).startswith("50")
    assert figures[-1] == "n 2"
    assert " to " in figures[0]


def test_agents_are_ranked_and_controls_stand_apart(
    dashboard, new_run, new_task, plan, finish, grade
):
    task = new_task()
    scores = {"reference": 10.0, "react:local/low": 2.0, "nop": 0.0, "react:local/high": 8.0}
    run = new_run(task, agents=tuple(scores))
    for agent, score in scores.items():
        trial = plan(run, task, agent)
        finish(trial)
        grade(trial, score)
    table = BeautifulSoup(dashboard(run), "html.parser").select_one("#agents table.numbers")
    competing, apart = (
        [row.get_text(" ", strip=True) for row in body("tr")] for body in table("tbody")
    )
    assert [row.split()[0] for row in competing] == ["1", "2"]
    assert ["high" in competing[0], "low" in competing[1]] == [True, True]
    assert [text.split()[0] for text in apart] == ["Controls:", "○", "□"]
    assert ["reference" in apart[1], "nop" in apart[2]] == [True, True]


def test_missing_verdicts_are_told_wherever_a_score_is(
    dashboard, new_run, new_task, plan, finish, grade, details_of
):
    task = new_task()
    agent = "react:local/small"
    run = new_run(task, agents=(agent,))
    trial = plan(run, task, agent)
    finish(trial)
    grade(trial, Unscored.NO_VERDICT)
    page = dashboard(run)

    agents = soup(page).select_one("#agents").get_text(" ", strip=True)
    assert f"{agent}: no verdict on 3 leaves; each counts 0." in agents
    assert "at most 10.00" in agents
    assert "0.00 to 10.00" in soup(page).select_one("table.trials").get_text(" ", strip=True)
    shown = details_of(page, trial.id)
    assert ["Root score", "0.00 to 10.00"] in shown["facts"]
    leaf = shown["tree"]["children"][0]
    assert (leaf["score"], leaf["unscored"]) == (None, "no verdict")
    assert shown["tree"]["bounds"] == "0.00 to 10.00: verdicts are missing"


def test_every_trial_is_in_the_table_and_has_its_details(dashboard, night, store, details_of):
    page = dashboard(night)
    trials = store.trials(night.id)
    links = {a["href"] for a in soup(page).select("table.trials a[href^='#trial-']")}
    assert links == {f"#trial-{trial.id}" for trial in trials}
    for trial in trials:
        assert details_of(page, trial.id)["id"] == trial.id


def test_details_hold_query_scores_reasons_transcript_and_deliverables(
    dashboard, night, store, details_of
):
    trial = next(t for t in store.trials(night.id, 0) if t.agent == AGENT and t.task_id == "second")
    found = details_of(dashboard(night), trial.id)
    assert found["query"].startswith("Please put the sum")
    assert [leaf["reason"] for leaf in found["tree"]["children"]] == ["found 5"] * 3
    assert found["tree"]["children"][0]["verifier"] == "check:json_values@1"
    assert found["diagnosis"]["facts"][0] == ["Stage", "plan"]
    assert [entry["who"] for entry in found["transcript"]] == ["user", "model", "tool"]
    assert found["deliverables"][0]["name"] == "out.json"
    assert '"sum": 5' in found["deliverables"][0]["blocks"][0]["text"]


def test_details_hold_the_failure_labels_with_their_evidence(dashboard, night, store, details_of):
    trial = next(t for t in store.trials(night.id, 0) if t.agent == AGENT and t.task_id == "second")
    (found,) = [r.diagnosis for r in store.results(night.id) if r.trial.id == trial.id]
    seen = Evidence(says="called 3 times", turn=4, call="c9")
    loop = Label(taxonomy="long_run", name="loop", confidence=0.9, evidence=(seen,))
    store.record_diagnosis(found.model_copy(update={"labels": (loop,), "labeller": "rules@3"}))
    assert details_of(dashboard(night), trial.id)["diagnosis"]["evidence"][-1] == (
        "loop (long run, confidence 0.9): turn 4, call c9: called 3 times"
    )


def test_details_mark_the_labels_of_a_model(dashboard, night, store, details_of):
    trial = next(t for t in store.trials(night.id, 0) if t.agent == AGENT and t.task_id == "second")
    (found,) = [r.diagnosis for r in store.results(night.id) if r.trial.id == trial.id]
    seen = (Evidence(says="I forgot", turn=4),)
    label = Label(
        taxonomy="long_run", name="lost_context", confidence=0.7, evidence=seen, by="openai/m"
    )
    asked = ModelLabelling(model="m-2026", decided=("stage",), rejected="<b>no</b>")
    changes = {"labels": (label,), "labeller": "rules@3+openai/m@1", "by_model": asked}
    store.record_diagnosis(found.model_copy(update=changes))
    shown = details_of(dashboard(night), trial.id)["diagnosis"]
    assert shown["facts"][0] == ["Stage", "plan, by the model"]
    assert ["Labelled by", "rules@3+openai/m@1"] in shown["facts"]
    assert shown["facts"][-2:] == [["Labeller", "m-2026"], ["Replies rejected", "<b>no</b>"]]
    assert shown["evidence"][-1] == (
        "lost context (long run, confidence 0.7, by the model): turn 4: I forgot"
    )


def test_attempts_are_linked_in_both_directions(dashboard, night, store, details_of):
    page = dashboard(night)
    (again,) = store.trials(night.id, 1)
    assert details_of(page, again.id)["earlier"] == again.parent_trial_id
    assert details_of(page, again.id)["feedback"] == "Not there yet."
    assert details_of(page, again.parent_trial_id)["later"] == [
        {"id": again.id, "arm": "checkpoint"}
    ]


def test_lost_trials_are_listed_with_their_cause(dashboard, night):
    lost = soup(dashboard(night)).find(id="lost").get_text(" ", strip=True)
    assert "openai: 503 after 5 tries; check the endpoint" in lost


def test_gates_show_quarantine_levels_and_link_to_the_data_docs_beside(night, store):
    broken = GateFailure(
        expectation="a score is in range",
        level=GateLevel.QUARANTINE,
        column="score",
        unexpected_count=1,
        rows=("t-1",),
    )
    known = {"run_id": night.id, "success": True, "rows": 9, "expectations": 4}
    gates = (
        GateResult(gate="leaf_scores", quarantined=("t-1",), failures=(broken,), **known),
        GateResult(gate="tasks", **known),
    )
    summary = summarise(night, [], {}, gates)
    page = soup(build(store, summary, data_docs={"leaf_scores"}))
    rows = page.select("[aria-label=Gates] tbody tr")
    shown = [[cell.get_text(strip=True) for cell in row.find_all("td")] for row in rows]
    assert shown == [["held", "9", "1", "4", "open"], ["held", "9", "0", "4", "–"]]
    assert [a["href"] for a in page.select("#night td a")] == ["gates/leaf_scores.html"]
    said = page.select_one("#night .notice").get_text(" ", strip=True)
    assert said == "Gate leaf_scores quarantine a score is in range on score : 1 row t-1"
    assert "Data Docs" not in soup(build(store, summary)).find(id="night").get_text()


def test_a_large_run_stays_under_the_limit(
    dashboard, store, new_run, new_task, plan, finish, grade, details_of, data_of
):
    dice = random.Random(3)
    tasks = [new_task(f"task-{i:02}") for i in range(60)]
    run = new_run(*tasks)
    image = ImageView(
        format="PNG",
        width=480,
        height=480,
        mode="RGB",
        grid=(),
        colours={},
        mean_luminance=0,
        contrast=0,
    )
    for task in tasks:
        reply = {"model": "small", "started_at": "2026-03-01T12:00:00Z", "seconds": 1}
        events = [ModelEvent(text=dice.randbytes(6_000).hex(), **reply) for _ in range(20)]
        trial = plan(run, task)
        finish(trial, events=events, files={"a.png": b"x"})
        picture = b"\x89PNG\r\n\x1a\n" + dice.randbytes(60_000)
        grade(trial, 1.0, views={"a.png": image}, preview_png=picture)
    page = dashboard(run)
    assert len(page.encode()) <= PAGE_BYTES
    assert len(page.encode()) > 0.9 * PAGE_BYTES
    assert 0 < len(data_of(page, "pictures")) < 60
    for trial in store.trials(run.id):
        head, more = details_of(page, trial.id)["transcript"][0]["parts"][0][1]
        assert len(head) + more == 12_000


def test_details_that_fit_nowhere_are_left_out_and_the_rest_of_the_page_stays(
    dashboard, night, data_of, monkeypatch
):
    whole = len(dashboard(night).encode())
    monkeypatch.setattr(dashboards.build, "PAGE_BYTES", whole - 2_500)
    page = dashboard(night)
    assert len(page.encode()) <= whole - 2_500
    assert len(data_of(page, "trial-details")) < 5
    assert len(soup(page).select("table.trials tbody tr")) == 5


def test_a_run_without_a_finished_trial_has_a_page(dashboard, new_run, new_task, plan):
    run = new_run(new_task(), agents=("nop", AGENT))
    empty = soup(dashboard(run))
    assert "Nothing has run" in empty.select_one(".answers").get_text()
    plan(run, new_task())
    page = soup(dashboard(run))
    assert "No competing agent has a score" in page.select_one(".answers").get_text()
    assert [row["data-verdict"] for row in page.select("table.trials tbody tr")] == ["due"]


def test_a_run_of_infrastructure_errors_alone_shows_no_score(
    dashboard, new_run, new_task, plan, lose, details_of
):
    run = new_run(new_task(), agents=(AGENT,))
    trial = plan(run, new_task(), AGENT)
    lose(trial, "sandbox: bwrap: no permission", detail="Traceback: it broke here")
    html = dashboard(run)
    page = soup(html)
    assert page.select_one("#agents tbody th + td").get_text(strip=True) == "–"
    assert "1 trial lost to infrastructure errors" in page.select_one(".answer.bad").get_text()
    assert "sandbox: bwrap: no permission" in page.find(id="lost").get_text()
    assert details_of(html, trial.id)["errors"] == [
        "sandbox: bwrap: no permission",
        "Traceback: it broke here",
    ]
    assert details_of(html, trial.id)["tree"] is None


def test_a_lost_artifact_is_named_and_does_not_cost_the_page(
    dashboard, night, store, details_of, kept_file
):
    trial = next(t for t in store.trials(night.id, 0) if t.agent == AGENT)
    lost = store.outcome(trial.id).transcript_sha256
    kept_file(lost).write_bytes(b"bit rot")
    found = details_of(dashboard(night), trial.id)
    assert lost in found["lost"][0]
    assert found["transcript"] == []
    assert found["tree"]["score"] == 9.0


def test_repetitions_show_how_often_any_and_all_succeed(
    dashboard, new_run, new_task, plan, finish, grade
):
    task = new_task()
    run = new_run(task, agents=(AGENT,), repetitions=2)
    for repetition, score in enumerate((9.0, 1.0)):
        trial = plan(run, task, AGENT, repetition=repetition)
        finish(trial)
        grade(trial, score)
    page = soup(dashboard(run))
    rows = page.select("[aria-label=Repetitions] tbody tr")
    shares = [[cell.get_text(strip=True) for cell in row.find_all("td")] for row in rows]
    assert [(row[0], row[1][:3], row[2][:3]) for row in shares] == [
        ("2", "100", "0\u00a0%"),
    ]


def test_an_unknown_run_is_misuse(night, store):
    summary = summarise(night.model_copy(update={"id": "nowhere"}), [], {})
    with pytest.raises(Misuse, match="nowhere"):
        build(store, summary)


def test_a_page_that_lists_some_trials_says_so_and_counts_all(dashboard, night, monkeypatch):
    assert "This page has" not in dashboard(night)
    monkeypatch.setattr(dashboards.build, "trials_on_page", partial(trials_on_page, most=2))

    page = soup(dashboard(night))

    trials = page.find(id="trials")
    assert "This page has 2 of the run's 5 trials" in trials.get_text(" ", strip=True)
    assert len(trials.select("tbody tr")) == 2
    assert len(json.loads(page.find(id="trial-details").string)) == 2
    counted = page.find(id="agents").get_text(" ", strip=True)
    assert "2 of 2" in counted
    assert "0 of 2 1 due" in counted
