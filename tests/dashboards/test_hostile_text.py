"""The page holds all that it needs, and is deaf to whatever an agent wrote."""

import base64
import gzip
import hashlib
import re
from datetime import UTC, datetime

import pytest
from bs4 import BeautifulSoup

from dashboards.visible_text import visible
from taskdata.schema.gate import GateFailure, GateResult
from taskdata.schema.plan import Plan, PlanReply, PlanStep, PlanVersion
from taskdata.schema.run import RunStatus
from taskdata.schema.views import (
    Cell,
    CsvView,
    HtmlView,
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
    reply = PlanReply(text=POISON, model=POISON, started_at=datetime.now(UTC), seconds=1)
    first = plan(run, task, agent)
    finish(
        first,
        text=POISON,
        answer=POISON,
        files=dict.fromkeys(views, b"x"),
        rejected_files=(POISON,),
        model_id=POISON,
        prompt_version=POISON,
        planned=Plan(
            draft=PlanVersion(fault=POISON, replies=(reply,)),
            refined=PlanVersion(
                steps=(PlanStep(purpose=POISON, tool=POISON),), criticism=POISON, replies=(reply,)
            ),
        ),
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


def plotly_of(page: str) -> str:
    packed = soup(page).select("script#plotly")
    assert len(packed) == 1
    return gzip.decompress(base64.b64decode(packed[0].string)).decode()


def test_there_is_one_copy_of_plotly(dashboard, night):
    page = dashboard(night)
    assert "plotly.js v" in plotly_of(page)
    assert "plotly.js v" not in page
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
    allowed = [*code(page), plotly_of(page)]
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in allowed]
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
