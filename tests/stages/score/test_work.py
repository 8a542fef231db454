"""Scoring stored trials, deliverables rendered in the real sandbox."""

import base64
import io
import json

import pytest
from PIL import Image

from environments.renderers.render import render
from environments.sandbox.providers import sandbox_provider
from stages.score import work
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.task import DeliverableSpec, DeliverableType

GOOD = json.dumps({"sum": 5, "difference": 1, "product": 6}).encode()
HALF = json.dumps({"sum": 5, "difference": 7}).encode()


@pytest.fixture(autouse=True)
def _needs_a_sandbox():
    reason = sandbox_provider("bubblewrap").unavailable()
    if reason:
        pytest.skip(reason)


def test_deliverables_become_scores_and_a_second_pass_changes_nothing(
    store, new_run, task, finished
):
    run = new_run(task)
    good = finished(run, task, {"out.json": GOOD})
    half = finished(run, task, {"out.json": HALF, "notes.txt": b"unasked for"})
    none = finished(run, task, {"result.json": GOOD})
    report = work.do(store, run.id, 0)
    assert (report.due, report.done, report.errors) == (3, 3, 0)
    assert [store.score(t).root.score for t in (good, half, none)] == pytest.approx([10, 10 / 3, 0])
    assert store.score(none).leaves[0].reason == (
        "out.json was not delivered (delivered: result.json)"
    )
    assert [item.name for item in store.rendered(half)] == ["out.json"]
    assert work.due(store, run.id, 0) == []
    assert work.score_trials(store, run.id, [good, half, none]) == 0


def test_a_file_of_the_type_that_was_asked_for_is_scored_wherever_it_lies(
    store, new_run, new_task, finished
):
    check = Check(name="json_values", deliverable="*.json", args={"values": {"sum": 5}})
    leaf = Checkpoint(id="sum", requirement="The sum is right.", verifier=check)
    task = new_task(
        deliverables=(DeliverableSpec(name="*.json", type="json"),),
        checkpoints=Checkpoint(id="root", requirement="r", children=(leaf,)),
    )
    run = new_run(task)
    deep = finished(run, task, {"results/final/Totals.JSON": GOOD, "notes.txt": b"done"})
    none = finished(run, task, {"notes.txt": GOOD})
    work.do(store, run.id, 0)
    assert store.score(deep).root.score == 10
    assert [item.name for item in store.rendered(deep)] == ["results/final/Totals.JSON"]
    assert store.score(none).leaves[0].reason == "*.json was not delivered (delivered: notes.txt)"


def test_hostile_deliverables_score_0_and_stop_nobody(store, new_run, task, finished):
    run = new_run(task)
    hostile = [b"[" * 100_000, b'{"sum": NaN}', b'{"sum": 1e999}', b"\x89PNG\r\n\x1a\n", b""]
    trials = [finished(run, task, {"out.json": content}) for content in hostile]
    good = finished(run, task, {"out.json": GOOD})
    report = work.do(store, run.id, 0)
    assert (report.done, report.errors) == (6, 0)
    for trial_id in trials:
        root = store.score(trial_id).root
        assert (root.score, root.coverage) == (0, 1)
        assert "cannot be read" in root.children[0].leaf.reason
    assert store.score(good).root.score == 10


def test_a_trial_that_cannot_be_scored_stays_due_and_is_taken_up_again(
    store, new_run, task, finished, kept_file
):
    run = new_run(task)
    content = b'{"sum": 5, "difference": 1, "product": 6, "lost": true}'
    lost = finished(run, task, {"out.json": content})
    good = finished(run, task, {"out.json": GOOD})
    path = kept_file(store.outcome(lost).deliverables[0].sha256)
    path.rename(path.with_suffix(".away"))
    report = work.do(store, run.id, 0)
    assert (report.due, report.done, report.errors) == (2, 1, 1)
    assert "first cause" in report.note
    assert store.score(good).root.score == 10
    result = next(r for r in store.results(run.id) if r.trial.id == lost)
    assert result.is_infrastructure_error
    path.with_suffix(".away").rename(path)
    report = work.do(store, run.id, 0)
    assert (report.due, report.done, report.errors) == (1, 1, 0)
    assert store.score(lost).root.score == 10


def test_every_trial_that_cannot_be_scored_is_counted(store, new_run, task, finished, kept_file):
    run = new_run(task)
    lost = [finished(run, task, {"out.json": json.dumps({"lost": n}).encode()}) for n in range(2)]
    for trial_id in lost:
        path = kept_file(store.outcome(trial_id).deliverables[0].sha256)
        path.rename(path.with_suffix(".away"))
    good = finished(run, task, {"out.json": GOOD})
    assert work.score_trials(store, run.id, [*lost, good]) == 2


def test_a_trial_that_has_not_finished_is_not_scored(store, new_run, task, finished):
    run = new_run(task)
    trial_id = finished(
        run, task, {}, status=OutcomeStatus.INFRASTRUCTURE, ending=None, error="server down"
    )
    assert work.due(store, run.id, 0) == []
    assert work.score_trials(store, run.id, [trial_id]) == 0
    assert store.score(trial_id) is None


@pytest.fixture
def judged_task(new_task):
    leaves = (
        Checkpoint(
            id="sum",
            requirement="The sum is right.",
            weight=3,
            verifier=Check(name="json_values", deliverable="out.json", args={"values": {"sum": 5}}),
        ),
        Checkpoint(
            id="style",
            requirement="It is tidy.",
            verifier=Judge(rubric="10 if tidy", deliverables=("out.json",)),
        ),
    )
    return new_task(checkpoints=Checkpoint(id="root", requirement="r", children=leaves))


def test_without_a_judge_the_judged_leaf_is_unscored(store, new_run, judged_task, finished):
    run = new_run(judged_task)
    trial_id = finished(run, judged_task, {"out.json": GOOD})
    work.do(store, run.id, 0)
    root = store.score(trial_id).root
    assert (root.score, root.coverage) == (10, 0.75)


def test_a_configured_judge_scores_its_leaf(store, new_run, judged_task, finished, wire):
    wire.then(wire.says('{"score": 2, "evidence": "one long line"}', model="judge-9"))
    run = new_run(
        judged_task,
        judge={"provider": "compatible", "model": "j"},
        judge_base_url=wire.openai_url,
    )
    trial_id = finished(run, judged_task, {"out.json": GOOD})
    work.do(store, run.id, 0)
    root = store.score(trial_id).root
    assert (root.score, root.coverage) == (8, 1)
    assert root.children[1].leaf.verifier == "judge:judge-9@4"


def test_equal_contents_are_rendered_once(store, new_run, task, finished, monkeypatch):
    rendered = []

    async def counted(sandbox, name):
        rendered.append(name)
        return await render(sandbox, name)

    monkeypatch.setattr("stages.score.rendering.views.render", counted)
    run = new_run(task)
    content = b'{"sum": 5, "difference": 1, "product": 6, "only": "here"}'
    trials = [finished(run, task, {"out.json": content}) for _ in range(3)]
    work.do(store, run.id, 0)
    trials.append(finished(run, task, {"out.json": content}))
    work.do(store, run.id, 0)
    assert [store.score(trial_id).root.score for trial_id in trials] == [10] * 4
    assert rendered == ["deliverable.json"]


PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>endobj\ntrailer<</Root 1 0 R>>\n"
)


@pytest.mark.parametrize(("wanted", "pictures"), [(True, 1), (False, None)])
def test_pages_of_deliverables_are_drawn_where_they_are_wanted(
    store, new_run, new_task, finished, wanted, pictures
):
    verifier = Check(name="file_exists", deliverable="a.pdf")
    task = new_task(
        deliverables=(DeliverableSpec(name="a.pdf", type="pdf"),),
        checkpoints=Checkpoint(id="root", requirement="There is a PDF.", verifier=verifier),
    )
    run = new_run(task, page_pictures=wanted)
    trial_id = finished(run, task, {"a.pdf": PDF})
    work.do(store, run.id, 0)
    (rendered,) = store.rendered(trial_id)
    assert (rendered.pages and len(rendered.pages.pictures)) == pictures
    if rendered.pages is not None:
        assert store.artifacts.read_bytes(rendered.pages.pictures[0]).startswith(b"\x89PNG")


def test_a_judge_that_sees_is_shown_the_pages_of_what_was_delivered(
    store, new_run, new_task, finished, wire
):
    leaves = tuple(
        Checkpoint(
            id=name,
            requirement=f"The {name} is tidy.",
            verifier=Judge(rubric=f"10 if the {name} is.", deliverables=("report.pdf",)),
        )
        for name in ("title", "layout")
    )
    task = new_task(
        query="Make a tidy report.",
        deliverables=(DeliverableSpec(name="report.pdf", type=DeliverableType.PDF),),
        checkpoints=Checkpoint(id="root", requirement="r", children=leaves),
    )
    page = io.BytesIO()
    Image.new("RGB", (300, 400), "navy").save(page, "PDF")
    judge = {"provider": "compatible", "model": "j"}
    sees = {"judging": {"inputs": ["image"]}}
    run = new_run(task, judge=judge, judge_base_url=wire.openai_url, page_pictures=False, **sees)
    trial_id = finished(run, task, {"report.pdf": page.getvalue()}, final_answer="Done.")
    wire.respond = lambda _: wire.says('{"score": 9, "evidence": "It is navy."}')

    work.do(store, run.id, 0)

    assert store.score(trial_id).root.score == 9
    asked = [seen.body["messages"][-1]["content"] for seen in wire.seen]
    assert len(asked) == 2
    assert asked[0][:-1] == asked[1][:-1]
    (picture,) = [part for part in asked[0] if part["type"] == "image_url"]
    data = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
    pixel = Image.open(io.BytesIO(data)).convert("RGB").getpixel((99, 99))
    assert pixel == pytest.approx((0, 0, 128), abs=2)
    assert "Make a tidy report." in asked[0][0]["text"]
    assert store.score(trial_id).leaves[0].unseen == ()
