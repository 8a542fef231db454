"""A task that names a format and no file: whatever of that type was left is meant."""

import asyncio

import pytest

from stages.score.checking.leaves import check_leaves
from stages.score.evidence import TrialEvidence
from stages.score.found_files import MAX_FILES, looked_at, with_found_files
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.deliverable import is_meant
from taskdata.schema.task import DeliverableSpec, DeliverableType, Provenance
from taskdata.schema.views import JsonView

ANY_JSON = DeliverableSpec(name="*.json", type=DeliverableType.JSON)


@pytest.fixture
def task(new_task):
    sum_ = Check(name="json_values", deliverable="*.json", args={"values": {"sum": 5}})
    judge = Judge(rubric="10 if tidy", deliverables=("*.json", "notes.md"))
    leaves = (
        Checkpoint(id="sum", requirement="r", verifier=sum_),
        Checkpoint(id="style", requirement="r", verifier=judge),
    )
    notes = DeliverableSpec(name="notes.md", type=DeliverableType.MD)
    tree = Checkpoint(id="root", requirement="r", children=leaves)
    return new_task(deliverables=(ANY_JSON, notes), checkpoints=tree)


def checked(task, files):
    evidence = TrialEvidence(
        views={name: JsonView(value=value) for name, value in files.items()},
        delivered=tuple(files),
    )
    return asyncio.run(check_leaves(task.checkpoints.leaves(), evidence))["sum"]


@pytest.mark.parametrize(
    ("path", "name", "meant"),
    [
        ("out.json", "out.json", True),
        ("a/out.json", "out.json", False),
        ("a/b/Out.JSON", "*.json", True),
        ("out.jsonl", "*.json", False),
        ("index.htm", "*.html", True),
        ("photo.JPEG", "*.jpg", True),
        ("services/shop/orders.csv", "*.csv", False),
    ],
)
def test_any_file_of_the_type_is_meant_in_any_folder(path, name, meant):
    assert is_meant(path, name) is meant


def test_a_judge_is_shown_all_files_of_the_type(task):
    found = with_found_files(task, ["z.json", "a/b.json", "notes.md", "more.txt"])
    assert [spec.name for spec in found.deliverables] == ["z.json", "a/b.json", "notes.md"]
    _, style = found.checkpoints.leaves()
    assert style.verifier.deliverables == ("z.json", "a/b.json", "notes.md")
    many = with_found_files(task, [f"{n:03}.json" for n in range(100)])
    assert len(many.checkpoints.leaves()[1].verifier.deliverables) == MAX_FILES + 1


def test_where_nothing_was_left_the_task_stays_as_it_is(task):
    assert with_found_files(task, ["more.txt"]) is task
    leaf = checked(task, {})
    assert (leaf.score, leaf.reason) == (0, "*.json was not delivered (delivered: nothing)")


def test_the_best_file_counts_and_many_guesses_do_not(task):
    two = checked(task, {"draft.json": {"sum": 4}, "out/final.json": {"sum": 5}})
    assert (two.leaf_id, two.score) == ("sum", 10)
    assert two.reason == "out/final.json: 1 of 1 values are right"
    guesses = {f"{n}.json": {"sum": n} for n in range(15)}
    many = checked(task, guesses)
    assert many.score == pytest.approx(2)
    assert many.reason.endswith("15 files where at most 3 are expected")


def test_a_published_task_that_names_no_file_means_any_file_that_was_left(new_task):
    judged = Checkpoint(id="j", requirement="r", verifier=Judge(rubric="10 if right"))
    tree = Checkpoint(id="root", requirement="r", children=(judged,))
    own = new_task(deliverables=(), checkpoints=tree)
    published = own.model_copy(
        update={"provenance": Provenance(source="gta-workflow", license="not stated")}
    )

    (found,) = with_found_files(published, ["a/plan.md", "deck.pptx"]).checkpoints.leaves()
    assert found.verifier.deliverables == ("deck.pptx", "a/plan.md")
    assert looked_at(with_found_files(published, ["deck.pptx"])) == {"deck.pptx"}
    (answer_alone,) = with_found_files(published, []).checkpoints.leaves()
    assert answer_alone.verifier.deliverables == ()
    assert with_found_files(own, ["deck.pptx"]) is own


def test_of_a_published_task_a_judge_sees_whatever_was_left(new_task):
    judged = Checkpoint(
        id="j", requirement="r", verifier=Judge(rubric="10 if right", deliverables=("*.json",))
    )
    tree = Checkpoint(id="root", requirement="r", children=(judged,))
    own = new_task(deliverables=(ANY_JSON,), checkpoints=tree)
    published = own.model_copy(update={"provenance": Provenance(source="gta-workflow")})

    found = with_found_files(published, ["b/out.json", "deck.pptx"])
    assert found.checkpoints.leaves()[0].verifier.deliverables == ("b/out.json", "deck.pptx")
    assert looked_at(found) == {"b/out.json", "deck.pptx"}
    missing = with_found_files(published, ["deck.pptx"])
    assert missing.checkpoints.leaves()[0].verifier.deliverables == ("*.json", "deck.pptx")
    only = with_found_files(own, ["b/out.json", "deck.pptx"])
    assert looked_at(only) == {"b/out.json"}
