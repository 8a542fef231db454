"""The whole page: self-contained, small, and deaf to whatever an agent wrote."""

import base64
import hashlib
import json
import random
import re

import pytest
from bs4 import BeautifulSoup

import dashboards.build
from dashboards.build import PAGE_BYTES, build
from dashboards.visible_text import visible
from quality.summary import summarise
from taskdata.errors import Misuse
from taskdata.schema.gate import GateFailure, GateLevel, GateResult
from taskdata.schema.run import RunStatus
from taskdata.schema.scores import Unscored
from taskdata.schema.transcript import ModelEvent
from taskdata.schema.views import (
    Cell,
    CsvView,
    HtmlView,
    ImageView,
    JsonView,
    Paragraph,
    Sheet,
    Table,
    TextView,
    UnreadableView,
    WorkbookView,
)

POISON = (
    "</script><script>window.pwned=1</script><!--<img src=x onerror=window.pwned=1>"
    "\"' onmouseover=window.pwned=1 x='<svg onload=window.pwned=1>"
    "<a href='javascript:window.pwned=1'>{{7*7}}</a>\u202egnp\x1b[2J]]>&lt;b&gt;%{x}"
)
AGENT = "react:openai/gpt-5.2"
URL_ATTRIBUTES = ("src", "href", "srcset", "data", "action", "formaction", "poster", "background")


@pytest.fixture
def poisoned(store, new_task, new_run, plan, finish, grade, lose, png):
    """A run in which everybody wrote poison wherever they could write at all."""
    task = new_task("sum-two", title=POISON, query=POISON)
    other = new_task("other", title=POISON, query=POISON)
    agent = "react:openai/<img/src=x/onerror=window.pwned=1>\"'"
    run = new_run(task, other, agents=(agent,))
    name = "<img src=x onerror=window.pwned=1>.xlsx"
    views = {
        name: WorkbookView(
            sheets=(Sheet(name=POISON, cells={"A1": Cell(value=POISON)}, rows=1, columns=1),)
        ),
        "a.json": JsonView(value={POISON: [POISON]}),
        "a.csv": CsvView(table=Table(rows=((POISON, POISON), (POISON,)))),
        "a.html": HtmlView(
            title=POISON,
            headings=(Paragraph(text=POISON, level=1),),
            text=POISON,
            links=(POISON, "javascript:window.pwned=1"),
        ),
        "a.txt": TextView(text=POISON),
        "a.pdf": UnreadableView(reason=POISON),
    }
    first = plan(run, task, agent)
    finish(
        first,
        text=POISON,
        answer=POISON,
        files=dict.fromkeys(views, b"x"),
        rejected_files=(POISON,),
        model_id=POISON,
        prompt_version=POISON,
    )
    grade(first, 2.0, reason=POISON, views=views, preview_png=b"<svg onload='x'/>", evidence=POISON)
    second = plan(run, task, agent, round_=1, feedback=POISON)
    finish(second, text=POISON, files={"a.txt": b"x"})
    grade(second, 3.0, reason=POISON, views={"a.txt": TextView(text="x")}, preview_png=png)
    lose(plan(run, other, agent), cause=POISON, detail=POISON)
    broken = GateFailure(expectation=POISON, column=POISON, unexpected_count=1, rows=(POISON,))
    store.record_gate(
        GateResult(
            gate="scores", run_id=run.id, success=False, rows=1, expectations=1, failures=(broken,)
        )
    )
    store.set_run_status(run.id, RunStatus.FAILED, POISON)
    return run


def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser")


def code(page: str) -> list[str]:
    return [s.string for s in soup(page).find_all("script") if not s.get("type")]


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [t for pair in value.items() for part in pair for t in texts(part)]
    return [t for part in value for t in texts(part)] if isinstance(value, list) else []


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


def test_attempts_are_linked_in_both_directions(dashboard, night, store, details_of):
    page = dashboard(night)
    (again,) = store.trials(night.id, 1)
    assert details_of(page, again.id)["earlier"] == again.parent_trial_id
    assert details_of(page, again.id)["feedback"] == "Not there yet."
    assert details_of(page, again.parent_trial_id)["later"] == [again.id]


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


def test_there_is_one_copy_of_plotly(dashboard, night):
    page = dashboard(night)
    assert sum("plotly.js v" in script for script in code(page)) == 1
    assert page.count("Plotly.newPlot") >= 1


def test_nothing_is_loaded_from_anywhere(dashboard, night):
    page = soup(dashboard(night))
    for element in page.find_all(True):
        for name in URL_ATTRIBUTES:
            if name in element.attrs:
                assert element[name].startswith("#") or element[name] == "data:,"
    styles = " ".join(style.string for style in page.find_all("style"))
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_policy_allows_the_scripts_of_the_page_and_no_other(dashboard, night):
    page = dashboard(night)
    policy = soup(page).find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in code(page)]
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert rules["script-src"].split() == [f"'sha256-{value}'" for value in hashes]


def test_no_poison_becomes_markup(dashboard, poisoned, night):
    """The poisoned page has exactly the kinds of elements and handlers that a clean one has."""
    page, clean = soup(dashboard(poisoned)), soup(dashboard(night))
    assert code(str(page)) == code(str(clean))
    assert {e.name for e in page.find_all(True)} <= {e.name for e in clean.find_all(True)} | {
        "h4",
        "ul",
        "li",
    }
    for element in page.find_all(True):
        assert not [name for name in element.attrs if name.startswith("on")]
    assert {a["href"][:1] for a in page.find_all("a")} == {"#"}
    assert page.find(string=re.compile("onerror")) is not None


def test_poison_is_shown_as_the_text_it_is(dashboard, poisoned, store, details_of):
    html = dashboard(poisoned)
    page = soup(html)
    assert page.select_one("table.trials a")["title"] == visible(POISON[:160])
    assert visible(POISON) in page.find(id="lost").get_text()
    assert visible(POISON) in page.header.get_text()
    assert visible(POISON) in page.find(id="night").get_text()
    assert "49" not in page.header.get_text()
    trial = next(t for t in store.trials(poisoned.id, 0) if t.task_id == "sum-two")
    found = details_of(html, trial.id)
    for place in ("title", "query", "answer"):
        assert found[place] == visible(POISON)
    assert found["refused"] == [visible(POISON)]
    assert found["tree"]["children"][0]["reason"] == visible(POISON)
    assert found["diagnosis"]["evidence"] == [visible(POISON)]
    assert visible(POISON) in found["transcript"][2]["parts"][1]


def test_no_data_can_end_its_element_or_hide_a_character(
    dashboard, poisoned, store, data_of, details_of
):
    html = dashboard(poisoned)
    for element in soup(html).find_all("script", type="application/json"):
        assert "<" not in element.string
    for trial in store.trials(poisoned.id):
        for text in texts(details_of(html, trial.id)):
            assert text == visible(text)
    for text in texts(data_of(html, "figures")):
        assert "<img" not in text
        assert "<b>" not in text
    assert "\u202e" not in html
    assert "\x1b" not in html


def test_a_preview_that_is_no_png_is_no_picture(dashboard, poisoned, data_of, png):
    pictures = data_of(dashboard(poisoned), "pictures")
    assert list(pictures.values()) == [base64.b64encode(png).decode()]


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
