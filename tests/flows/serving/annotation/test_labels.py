"""A person labels failed trials blind: labels are stored at once, and unknown ones are refused."""

import pytest
from bs4 import BeautifulSoup

from flows.agreement.label_questions import label_questions
from flows.serving.annotation.labels import labelling_app
from stages.prepare.work import first_trial
from taskdata.errors import Misuse
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.diagnosis import Diagnosis, Evidence, FailureLevels, Label
from taskdata.schema.label_agreement import GivenLabels
from taskdata.schema.run import Deliverable, OutcomeStatus
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.transcript import (
    Ending,
    MessageEvent,
    ModelEvent,
    ToolCall,
    ToolEvent,
    Transcript,
)
from tests.flows.serving.annotation.pages import (
    HOSTILE,
    LOGIN,
    NOW,
    add_run,
    logged_in,
    outcome,
    send,
)

AGENT = "react:openai/hidden-name"
TREE = Checkpoint(
    id="root",
    requirement="all",
    children=(
        Checkpoint(
            id="sum", requirement="It states 42", verifier=Check(name="answer_number", args={})
        ),
    ),
)
CALL = ToolCall(id="call-7", tool="ReadCSV", arguments={"path": HOSTILE})
TRANSCRIPT = Transcript(
    events=(
        MessageEvent(role="user", text="Add it up."),
        ModelEvent(text=HOSTILE, model="hidden-name", started_at=NOW, seconds=1),
        ToolEvent(call=CALL, text="no such file", error="refused", started_at=NOW, seconds=1),
    ),
    final_answer=HOSTILE,
    ending=Ending.FINISHED,
)


def score_of(trial_id):
    leaf = LeafScore(leaf_id="sum", score=0.0, verifier="check:x@1", reason="found 41")
    node = NodeScore(
        id="sum", requirement="It states 42", weight=1, score=0.0, coverage=1, leaf=leaf
    )
    root = NodeScore(
        id="root", requirement="all", weight=1, score=0.0, coverage=1, children=(node,)
    )
    return TrialScore(trial_id=trial_id, root=root, scorer_version="1")


def outcome_of(store, trial_id, error=None):
    transcript = store.artifacts.put_bytes(TRANSCRIPT.model_dump_json().encode())
    page = store.artifacts.put_bytes(b"<script>alert(1)</script>")
    if error:
        lost = {"status": OutcomeStatus.INFRASTRUCTURE, "ending": None, "error": error}
        return outcome(trial_id, transcript_sha256=transcript, final_answer=HOSTILE, **lost)
    return outcome(
        trial_id,
        transcript_sha256=transcript,
        final_answer=HOSTILE,
        deliverables=(Deliverable(name="a.html", sha256=page, size_bytes=25),),
    )


def diagnosis_of(trial_id, stage):
    label = Label(
        taxonomy="tool_use",
        name="hallucinated_parameter",
        confidence=1,
        evidence=(Evidence(says="evidence-of-rules"),),
    )
    return Diagnosis(
        trial_id=trial_id,
        stage=stage,
        levels=FailureLevels(leaf=True, composition=False, deliverable=False),
        evidence=("sentence-of-rules",),
        labels=(label,) if stage else (),
        labeller="rules@3",
    )


@pytest.fixture
def store(store, new_task):
    """A run of two agents on four tasks: two trials of each failed, one succeeded, one was lost."""
    tiers = ("workflow", "atomic", "workflow", "workflow")
    tasks = [new_task(f"task-{n}", checkpoints=TREE, tier=tier) for n, tier in enumerate(tiers)]
    agents = (AGENT, "react:openai/other")
    run = add_run(store, tasks, agents)
    for agent in agents:
        for number, task in enumerate(tasks):
            trial = first_trial(run.id, agent, task.content_hash, task, 0)
            store.plan_trials([trial])
            error = "Timeout: the model did not answer" if number == 3 else None
            store.record_outcome(outcome_of(store, trial.id, error))
            if error is None:
                store.record_score(score_of(trial.id), ())
                store.record_diagnosis(diagnosis_of(trial.id, None if number == 2 else "reason"))
    return store


@pytest.fixture
def served(store):
    """The server as `annotator` sees it, logged in."""

    def serve(annotator="ada", most=None):
        asked = label_questions(store, store.run("run-1"), annotator, most=most)
        return logged_in(labelling_app(store, "run-1", asked, annotator, LOGIN))

    return serve


def post(client, number, **fields):
    return send(client, f"/trial/{number}", **fields)


def of_task(client, store, task_id, annotator="ada"):
    """The number of the page of a trial of this task."""
    asked = label_questions(store, store.run("run-1"), annotator)
    return next(n for n, one in enumerate(asked, start=1) if one.task.id == task_id)


def test_neither_agent_nor_any_label_of_the_trial_is_on_the_page(served):
    client = served()
    pages = [client.get(f"/trial/{n}") for n in range(1, 7)]
    assert {page.status_code for page in pages} == {200}
    text = "".join(page.text for page in pages)
    for hidden in ("hidden-name", "openai", "rules", "evidence-of", "sentence-of", "run-1"):
        assert hidden not in text
    assert not BeautifulSoup(text, "html.parser").select("input[checked][name=tool_use]")
    assert client.get("/trial/7").status_code == client.get("/trial/0").status_code == 404


def test_the_record_shows_with_its_places_and_as_text(served, store):
    client = served()
    page = client.get(f"/trial/{of_task(client, store, 'task-0')}")
    assert "<script>alert" not in page.text
    assert "\u202e" not in page.text
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    html = BeautifulSoup(page.text, "html.parser")
    places = [button["data-place"] for button in html.select("button.place")]
    assert places == ["turn 1", "call call-7", "leaf sum"]
    for text in ("Add it up.", "no such file", "refused", "It states 42", "found 41"):
        assert text in html.get_text()
    assert html.select_one("a[href*='/file/']")


def test_every_label_can_be_chosen_and_says_what_it_means(served, store):
    client = served()
    html = BeautifulSoup(
        client.get(f"/trial/{of_task(client, store, 'task-1')}").text, "html.parser"
    )
    chosen = {(i["name"], i["value"]) for i in html.select("#labels input[value]")}
    assert {("stage", "handoff"), ("type", "formatting"), ("level", "composition")} <= chosen
    assert {("tool_use", "no_verification"), ("long_run", "loop")} <= chosen
    assert {("arguments", "no_action"), ("infrastructure", "our_bug")} <= chosen
    meaning = html.select_one("input[value=handed_back]").parent["title"]
    assert meaning.startswith("the agent's final answer leaves the rest")
    workflow = client.get(f"/trial/{of_task(client, store, 'task-0')}").text
    assert 'name="arguments"' not in workflow


def test_labels_are_stored_at_once_and_shown_again(served, store):
    client = served()
    assert client.get("/").headers["location"] == "/trial/1"
    number = of_task(client, store, "task-0")
    given = {
        "stage": "reason",
        "type": "reasoning",
        "level": ["leaf", "deliverable"],
        "tool_use": ["missing_parameter", "no_verification"],
        "place": "call call-7",
        "note": "It read\r\nthe wrong file.",
    }
    saved = post(client, number, **given)
    assert saved.status_code == 303
    (one,) = store.label_annotations("run-1", "ada")
    assert one.labels == GivenLabels(
        stage="reason",
        type="reasoning",
        level=("leaf", "deliverable"),
        tool_use=("missing_parameter", "no_verification"),
    )
    assert (one.place, one.note) == ("call call-7", "It read\nthe wrong file.")

    again = BeautifulSoup(served().get(f"/trial/{number}").text, "html.parser")
    marked = {i["value"] for i in again.select("input[checked]")} - {""}
    assert marked == {"reason", "reasoning", "leaf", "deliverable", *one.labels.tool_use}
    assert again.select_one("textarea").text == one.note

    post(client, number, stage="plan")
    assert [a.labels.stage for a in store.label_annotations("run-1")] == ["plan"]
    for other in range(1, 7):
        last = post(client, other, stage="undetermined")
    assert last.headers["location"] == "/done"
    assert "6 of 6 failed trials of run run-1 have your labels" in client.get("/done").text


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "stage: is missing; it is one of not_attempted, plan"),
        ({"stage": "guessing"}, "stage has no label &#39;guessing&#39;; there are: not_attempted"),
        (
            {"stage": "plan", "tool_use": "missing_param"},
            "did you mean &#39;missing_parameter&#39;?",
        ),
        ({"stage": "plan", "infrastructure": "sandbox"}, "has only the label of infrastructure"),
        ({"stage": "plan", "place": "call 99"}, "no place of this trial; click one"),
        ({"stage": "plan", "place": "page 3"}, "is no place; write"),
    ],
)
def test_what_is_no_label_is_refused_with_a_way_out_and_stays_in_the_form(
    served, store, fields, says
):
    refused = post(served(), 1, note="kept", **fields)
    assert refused.status_code == 400
    assert "Not saved." in refused.text
    assert says in refused.text
    assert ">kept</textarea>" in refused.text
    assert store.label_annotations("run-1") == []


def test_forms_of_other_pages_and_large_ones_are_refused(served, store):
    assert post(served(), 1, origin="http://evil.example", stage="plan").status_code == 403
    assert post(served(), 1, token="0" * 64, stage="plan").status_code == 403
    assert post(served(), 1, stage="plan", note="x" * 40_000).status_code == 413
    client = served()
    client.auth = None
    assert client.get("/trial/1").status_code == 401
    assert store.label_annotations("run-1") == []


def test_a_lost_trial_shows_its_error_and_has_only_the_label_of_its_loss(served, store):
    client = served()
    number = of_task(client, store, "task-3")
    assert "the model did not answer" in client.get(f"/trial/{number}").text
    assert post(client, number, stage="", infrastructure="provider").status_code == 303
    (one,) = store.label_annotations("run-1")
    assert one.labels == GivenLabels(infrastructure="provider")


def test_a_sample_is_the_same_for_everybody_and_takes_turns_over_agents(store):
    run = store.run("run-1")

    def ids(annotator, most=None):
        asked = label_questions(store, run, annotator, most=most)
        return [one.result.trial.id for one in asked]

    assert ids("ada", 4) == ids("ada", 4)
    assert set(ids("ada", 4)) == set(ids("bob", 4))
    assert len({tuple(ids(f"person {n}")) for n in range(6)}) > 3, "each has an order"
    sampled = label_questions(store, run, "ada", most=4)
    strata = {(one.result.trial.agent, one.task.tier) for one in sampled}
    assert len(strata) == 4
    assert {one.task.id for one in label_questions(store, run, "ada")} == {
        "task-0",
        "task-1",
        "task-3",
    }
    with pytest.raises(Misuse, match="no agent 'x'"):
        label_questions(store, run, "ada", ["x"])
