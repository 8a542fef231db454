"""A person scores leaves blind: each score is stored at once, and from our own page only."""

import re

import pytest

from flows.agreement.questions import questions
from flows.serving.annotation.scores import annotation_app
from stages.prepare.work import first_trial
from taskdata.errors import Misuse
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.run import Deliverable
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from tests.flows.serving.annotation.pages import (
    HOSTILE,
    LOGIN,
    add_run,
    logged_in,
    outcome,
    send,
    token_of,
)

AGENT = "react:openai/hidden-name"
TREE = Checkpoint(
    id="root",
    requirement="all",
    children=(
        Checkpoint(id="tone", requirement="It reads well", verifier=Judge(rubric="Is it plain?")),
        Checkpoint(id="facts", requirement="It is right", verifier=Judge(rubric="Is it right?")),
        Checkpoint(
            id="sum", requirement="It states 42", verifier=Check(name="answer_number", args={})
        ),
    ),
)


def score_of(trial_id):
    leaves = tuple(
        NodeScore(
            id=leaf.id,
            requirement=leaf.requirement,
            weight=1,
            score=3.0,
            coverage=1,
            leaf=LeafScore(
                leaf_id=leaf.id, score=3.0, verifier="judge:some/judge@1", reason="weak-verdict"
            ),
        )
        for leaf in TREE.children
    )
    root = NodeScore(id="root", requirement="all", weight=1, score=3.0, coverage=1, children=leaves)
    return TrialScore(trial_id=trial_id, root=root, scorer_version="1")


@pytest.fixture
def store(store, new_task):
    """A run of one agent on three tasks, with a hostile answer and a hostile file."""
    tasks = [new_task(f"task-{n}", checkpoints=TREE) for n in range(3)]
    run = add_run(store, tasks, (AGENT, "reference"))
    page = store.artifacts.put_bytes(b"<script>alert(1)</script>")
    for agent in (AGENT, "reference"):
        for task in tasks:
            trial = first_trial(run.id, agent, task.content_hash, task, 0)
            store.plan_trials([trial])
            files = (Deliverable(name='<b>"page.html', sha256=page, size_bytes=25),)
            store.record_outcome(outcome(trial.id, final_answer=HOSTILE, deliverables=files))
            store.record_score(score_of(trial.id), ())
    return store


@pytest.fixture
def served(store):
    """The server as `annotator` sees it, logged in."""

    def serve(annotator="ada", **chosen):
        asked = questions(store, store.run("run-1"), annotator, **chosen)
        return logged_in(annotation_app(store, "run-1", asked, annotator, LOGIN))

    return serve


def post(client, number, score, **asked):
    return send(client, f"/leaf/{number}", score=score, **asked)


def test_neither_agent_nor_verdict_is_on_the_page(served):
    client = served()
    pages = [client.get(f"/leaf/{n}") for n in range(1, 7)]
    assert {page.status_code for page in pages} == {200}
    text = "".join(page.text for page in pages)
    for hidden in (AGENT, "hidden-name", "some/judge", "weak-verdict", "3.0", "run-1"):
        assert hidden not in text
    assert "Is it plain?" in text
    assert client.get("/leaf/7").status_code == client.get("/leaf/0").status_code == 404


def test_what_agents_wrote_is_text(served):
    page = served().get("/leaf/1")
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert" in page.text
    assert "\u202e" not in page.text
    assert '<b>"page' not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self'" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]


def test_files_are_downloads_without_a_type_and_of_this_trial_alone(served, store):
    client = served()
    sha256 = re.search(r"/leaf/1/file/(\w+)", client.get("/leaf/1").text)[1]
    found = client.get(f"/leaf/1/file/{sha256}")
    assert found.content == b"<script>alert(1)</script>"
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["content-disposition"].startswith("attachment; ")
    assert found.headers["x-content-type-options"] == "nosniff"
    other = store.artifacts.put_bytes(b"of nobody")
    for path in (f"file/{other}", f"picture/{sha256}", f"play/{sha256}", f"raw/{sha256}"):
        assert client.get(f"/leaf/1/{path}").status_code == 404


def test_a_score_is_stored_at_once_and_the_next_question_follows(served, store):
    client = served()
    assert client.get("/").headers["location"] == "/leaf/1"
    saved = post(client, 1, "7")
    assert (saved.status_code, saved.headers["location"]) == (303, "/leaf/2")
    (one,) = store.annotations("run-1", "ada")
    assert one.score == 7

    post(client, 1, "10")
    post(client, 2, "unknown")
    assert [a.score for a in store.annotations("run-1")] == [10, None]

    again = served()
    assert again.get("/").headers["location"] == "/leaf/3"
    assert 'value="10" required checked' in again.get("/leaf/1").text
    for number in range(3, 7):
        last = post(again, number, "0")
    assert last.headers["location"] == "/done"
    assert "5 scores of run run-1, and 1 that you could not tell" in again.get("/done").text


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:80"])
def test_forms_of_other_pages_are_refused(served, store, origin):
    assert post(served(), 1, "7", origin=origin).status_code == 403
    assert store.annotations("run-1") == []


def test_what_is_no_answer_is_refused(served, store):
    client = served()
    assert post(client, 1, "7", token="0" * 64).status_code == 403
    for score in ("11", "-1", "7.5", "nan", "", "x" * 5000):
        assert post(client, 1, score).status_code in (400, 413)
    assert store.annotations("run-1") == []


def test_nothing_is_shown_or_taken_without_the_login(served, store):
    client = served()
    token = token_of(client.get("/leaf/1"))
    client.auth = None
    assert client.get("/leaf/1").status_code == 401
    assert post(client, 1, "7", token=token).status_code == 401
    client.auth = tuple(LOGIN.split(":"))
    assert client.get("/", headers={"host": "rebound.example"}).status_code == 400


def test_each_annotator_has_an_order_of_their_own_and_keeps_it(store):
    run = store.run("run-1")
    ada, again, bob = (
        [q.key for q in questions(store, run, name)] for name in ("ada", "ada", "bob")
    )
    assert ada == again
    assert sorted(ada) == sorted(bob)
    orders = {tuple(q.key for q in questions(store, run, f"person {n}")) for n in range(8)}
    assert len(orders) > 4
    # Leaves of a trial follow one another, so that its files are looked at once.
    assert [ada[i][0] == ada[i + 1][0] for i in (0, 2, 4)] == [True] * 3


def test_who_and_what_is_asked_about_can_be_chosen(store):
    run = store.run("run-1")
    assert {q.result.trial.agent for q in questions(store, run, "ada")} == {AGENT}
    controls = questions(store, run, "ada", ["reference"], all_leaves=True)
    assert {q.result.trial.agent for q in controls} == {"reference"}
    assert len(controls) == 9
    with pytest.raises(Misuse, match="no agent 'x'"):
        questions(store, run, "ada", ["x"])
