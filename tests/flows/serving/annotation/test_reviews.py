"""A person reviews tasks on local pages: blind, from our own page only, whatever a task says."""

import pytest

from flows.serving.annotation.reviews import review_app
from stages.release.review import awaiting
from taskdata.schema.construct import CandidateStatus, Construction
from taskdata.schema.input_file import InputFile
from taskdata.schema.review import ChecklistItem
from taskdata.schema.seed import SeedQuery
from tests.flows.serving.annotation.pages import HOSTILE, LOGIN, logged_in, send

YES = dict.fromkeys(ChecklistItem, "yes")


@pytest.fixture
def waiting(store, new_task, new_refresh, new_candidate):
    """Two candidates that two people must agree about; the first one is hostile, and has a file."""
    new_refresh(reviewers=2)
    sha256 = store.artifacts.put_bytes(b"a,b\n<b>1</b>,2\n")
    file = InputFile(path="in.csv", sha256=sha256, size_bytes=15)
    query = SeedQuery(text=HOSTILE, source="internal", attachments=(file,))
    (seed,) = store.add_seeds([query], [], [], "f")
    hostile = new_task("hostile", title=HOSTILE, query=HOSTILE)
    one = new_candidate(hostile, Construction.REVIEW, seed_id=seed)
    draft = store.draft(one.id).model_copy(update={"files": ("in.csv",)})
    step = store.steps(one.id)[0].model_copy(update={"attempt": 2, "draft": draft})
    store.record_step(step)
    new_candidate(new_task("plain"), Construction.REVIEW)
    return sha256


@pytest.fixture
def served(store, waiting):
    """The server as a reviewer sees it, logged in."""

    def serve(reviewer="ada"):
        return logged_in(review_app(store, awaiting(store), reviewer, LOGIN))

    return serve


def post(client, number, **fields):
    return send(client, f"/task/{number}", **{"verdict": "approve", "comment": "", **fields})


def test_a_task_is_shown_whole_and_as_text(served, waiting):
    client = served()
    assert client.get("/").headers["location"] == "/task/1"
    page = client.get("/task/1")
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert" in page.text
    assert "\u202e" not in page.text
    assert "&lt;b&gt;1&lt;/b&gt;" in page.text
    for shown in (
        "The sum is right.",
        "values: {",
        "out.json",
        "no reference solution",
        "None was",
    ):
        assert shown.lower() in page.text.lower()
    for item in ChecklistItem:
        assert item.question in page.text
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    file = client.get(f"/task/1/input/{waiting}")
    assert file.headers["content-disposition"] == 'attachment; filename="in.csv"'
    assert file.headers["content-type"] == "application/octet-stream"
    assert client.get(f"/task/2/input/{waiting}").status_code == 404
    assert client.get("/task/3").status_code == 404


def test_verdict_answers_and_notes_are_stored_and_the_next_task_follows(served, store):
    client = served("  ada ")
    done = post(client, 1, **YES, note_realistic="<i>hm</i>", comment="fine")
    assert (done.status_code, done.headers["location"]) == (303, "/task/2")
    (decision,) = store.reviews("c-hostile")
    assert (decision.reviewer, decision.decision, decision.comment) == ("ada", "approve", "fine")
    assert decision.checklist[0].note == "<i>hm</i>"
    page = client.get("/task/1").text
    assert "&lt;i&gt;hm&lt;/i&gt;" in page
    assert page.count("checked>") == 7
    assert post(client, 2, **YES).headers["location"] == "/done"
    assert "about 2 of 2 tasks" in client.get("/done").text


def test_nobody_sees_what_the_other_said_before_deciding(served, store):
    ada, bob = served("ada"), served("bob")
    post(ada, 1, **YES, comment="it reads well")
    page = bob.get("/task/1").text
    assert "it reads well" not in page
    assert "1 of 2 reviewers" in page
    assert 'value="yes" checked' not in page
    no = {"verdict": "reject", "realistic": "no", "note_realistic": "nobody asks for that"}
    post(bob, 1, **no)
    assert "it reads well" in bob.get("/task/1").text
    page = ada.get("/task/1").text
    assert "The reviewers disagree" in page
    assert "nobody asks for that" in page
    post(ada, 1, verdict="reject", comment="true")
    assert store.candidate("c-hostile").status is CandidateStatus.REJECTED
    assert "hostile waits no longer: it is rejected." in ada.get("/task/1").text


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "needs yes to all 6 items"),
        ({"verdict": "hang"}, "Choose a verdict."),
        ({"realistic": "perhaps"}, "&#39;perhaps&#39; is no answer."),
        ({"note_realistic": "x"}, "but no answer"),
        ({"realistic": "yes", "note_realistic": "x" * 2_001}, "is longer than 2000"),
        ({"realistic": "no", "comment": "still"}, "does not go with no to realistic"),
        ({"verdict": "send_back"}, "needs a reason"),
    ],
)
def test_what_does_not_fit_is_said_and_not_stored(served, store, fields, says):
    client = served()
    page = post(client, 1, **{"comment": "", **fields})
    assert page.status_code == 400
    assert says in page.text
    assert store.reviews("c-hostile") == []


def test_forms_of_other_pages_are_refused(served, store):
    client = served()
    assert post(client, 1, origin="http://evil.example", **YES).status_code == 403
    assert post(client, 1, token="0" * 64, **YES).status_code == 403
    client.auth = None
    assert client.get("/task/1").status_code == 401
    assert store.reviews("c-hostile") == []
