"""A person marks plans blind: marks are stored at once, and those that do not fit are refused."""

import pytest
from bs4 import BeautifulSoup

from flows.agreement.plan_questions import plan_questions
from flows.serving.annotation.plans import marking_app
from stages.prepare.work import first_trial
from stages.score.planning.mark import mark
from stages.score.planning.scored import root_of
from taskdata.errors import Misuse
from taskdata.schema.input_file import InputFile
from taskdata.schema.plan_agreement import GivenMarks
from taskdata.schema.planning import GradeRule, PlanReference
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.scores import TrialScore
from taskdata.schema.transcript import Ending, Transcript
from tests.flows.serving.annotation.pages import HOSTILE, LOGIN, add_run, logged_in, outcome, send
from tests.price_cases import (
    CHAIN,
    SECRET,
    STEPS,
    action,
    answer,
    case,
    extraneous,
    next_steps,
    unsolvable,
)

AGENT, OTHER = "planner:openai/hidden-name", "planner:openai/other"
DISTRACTED = answer(action("find_review", item=HOSTILE), *CHAIN)
RULE = GradeRule(requirement="Both prices are added.")


@pytest.fixture
def store(store):
    """A run of two agents on five cases; code has marked the answers, one could not be read."""
    sheet = InputFile(
        path="in/prices.txt", sha256=store.artifacts.put_bytes(b"lamp 30"), size_bytes=7
    )
    reference = PlanReference(plan=STEPS, chain=CHAIN, rules=(RULE,))
    given = (
        (
            case(files=(sheet,), media=("in/prices.txt",), reference=reference),
            answer(*CHAIN),
        ),
        (extraneous(), DISTRACTED),
        (next_steps(), answer(refusal="Too hard.")),
        (unsolvable(), PredictedPlan(final_answer="150")),
        (case("unreadable"), PredictedPlan(fault="two JSON objects")),
    )
    run = add_run(store, [task for task, _ in given], (AGENT, OTHER))
    for agent in (AGENT, OTHER):
        for task, predicted in given:
            trial = first_trial(run.id, agent, task.content_hash, task, 0)
            store.plan_trials([trial])
            transcript = Transcript(
                events=(), final_answer="", ending=Ending.FINISHED, predicted_plan=predicted
            )
            kept = store.artifacts.put_bytes(transcript.model_dump_json().encode())
            store.record_outcome(outcome(trial.id, transcript_sha256=kept))
            root = root_of(task, predicted, mark(task, predicted))
            store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
    return store


@pytest.fixture
def served(store):
    """The server as `annotator` sees it, logged in."""

    def serve(annotator="ada"):
        asked = plan_questions(store, store.run("run-1"), annotator)
        return logged_in(marking_app(store, "run-1", asked, annotator, LOGIN))

    return serve


def post(client, number, **fields):
    return send(client, f"/plan/{number}", **fields)


def of_task(store, task_id, annotator="ada"):
    """The number of the page of a plan for this case."""
    asked = plan_questions(store, store.run("run-1"), annotator)
    return next(n for n, one in enumerate(asked, start=1) if one.task.id == task_id)


def test_neither_agent_nor_any_mark_nor_a_tools_role_is_on_the_page(served):
    client = served()
    pages = [client.get(f"/plan/{n}") for n in range(1, 9)]
    assert {page.status_code for page in pages} == {200}
    text = "".join(page.text for page in pages)
    for hidden in ("hidden-name", "openai", "run-1", "distractor", "plan:code"):
        assert hidden not in text
    assert "of no use" not in text, "what code found about the plan"
    html = BeautifulSoup(text, "html.parser")
    assert not html.select("input[checked]")
    for folded in html.select("#reference"):
        folded.extract()
    assert SECRET not in html.get_text(), "what a planner must not see stands in the fold alone"
    assert client.get("/plan/9").status_code == client.get("/plan/0").status_code == 404


def test_the_case_and_the_answer_show_as_text_and_the_reference_is_folded(served, store):
    client = served()
    page = client.get(f"/plan/{of_task(store, extraneous().id)}")
    assert "<script>alert" not in page.text
    assert "\u202e" not in page.text
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    html = BeautifulSoup(page.text, "html.parser")
    assert "alert('owned')" in html.select_one("#plan").get_text()
    names = [summary.get_text() for summary in html.select("#tools summary")]
    assert [name.split(":")[0] for name in names] == sorted(
        t.name for t in extraneous().planning.tools
    )

    html = BeautifulSoup(client.get(f"/plan/{of_task(store, case().id)}").text, "html.parser")
    folded = html.select_one("#reference details")
    assert not folded.has_attr("open")
    for text in (STEPS[0], "find_price", RULE.requirement):
        assert text in folded.get_text()
    link = html.select_one("a[href*='/input/']")["href"]
    file = client.get(link)
    assert (file.content, file.headers["content-type"]) == (b"lamp 30", "application/octet-stream")
    assert client.get(link.replace("/input/", "/file/")).status_code == 404
    assert client.get(link[:-1] + "x").status_code == 404

    html = BeautifulSoup(client.get(f"/plan/{of_task(store, next_steps().id)}").text, "html.parser")
    assert "the next tool call, or the final answer" in html.get_text()
    assert "120" in html.select_one("#prefix").get_text()
    assert "Too hard." in html.select_one("#plan").get_text()


def test_marks_are_stored_at_once_and_shown_again(served, store):
    client = served()
    assert client.get("/").headers["location"] == "/plan/1"
    saved = post(client, 1, grade="0.4", errors=["E4", "E2"], note="It adds\r\nnothing.")
    assert saved.headers["location"] == "/plan/2"
    (one,) = store.plan_annotations("run-1", "ada")
    assert one.marks == GivenMarks(grade=0.4, errors=("E2", "E4"))
    assert one.note == "It adds\nnothing."

    again = BeautifulSoup(served().get("/plan/1").text, "html.parser")
    assert {i["value"] for i in again.select("input[checked]")} == {"E2", "E4", "0.4"}
    assert again.select_one("textarea").text == one.note

    post(client, 1, grade="1")
    assert [a.marks for a in store.plan_annotations("run-1")] == [GivenMarks(grade=1)]
    for number in range(1, 9):
        last = post(client, number, grade="1")
    assert last.headers["location"] == "/done"
    assert "8 of 8 plans of run run-1 have your marks" in client.get("/done").text


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "Choose a grade."),
        ({"grade": "good"}, "&#39;good&#39; is no grade."),
        ({"grade": "0.5", "errors": "E4"}, "0.5 is not on the scale; write one of"),
        ({"grade": "0.4"}, "name what is wrong (E1 to E6), or grade 1"),
        ({"grade": "1", "errors": "E4"}, "a plan with an error has at most 0.8"),
        ({"grade": "0.4", "errors": "E7"}, "Input should be &#39;E1&#39;"),
    ],
)
def test_marks_that_do_not_fit_are_refused_with_a_way_out_and_stay_in_the_form(
    served, store, fields, says
):
    refused = post(served(), 1, note="kept", **fields)
    assert refused.status_code == 400
    assert "Not saved." in refused.text
    assert says in refused.text
    assert ">kept</textarea>" in refused.text
    assert store.plan_annotations("run-1") == []


def test_forms_of_other_pages_and_large_ones_are_refused(served, store):
    assert post(served(), 1, origin="http://evil.example", grade="1").status_code == 403
    assert post(served(), 1, token="0" * 64, grade="1").status_code == 403
    assert post(served(), 1, grade="1", note="x" * 40_000).status_code == 413
    client = served()
    client.auth = None
    assert client.get("/plan/1").status_code == 401
    assert store.plan_annotations("run-1") == []


def test_a_sample_is_the_same_for_everybody_and_takes_turns_over_agents(store):
    run = store.run("run-1")

    def ids(annotator, most=None):
        return [one.result.trial.id for one in plan_questions(store, run, annotator, most=most)]

    assert sorted(ids("ada", 4)) == sorted(ids("bob", 4))
    assert ids("ada") != ids("bob")
    asked = plan_questions(store, run, "ada", (AGENT,))
    assert {one.result.trial.agent for one in asked} == {AGENT}
    assert "unreadable" not in {one.task.id for one in asked}
    with pytest.raises(Misuse, match="has no agent"):
        plan_questions(store, run, "ada", ("nobody",))
