"""`nightshift review` and `refresh`: what makes no sense is said before anything is done."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from flows.cli.reviewing import deciding
from flows.config import load_settings
from stages.construct.proof import prove
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.construct import (
    Construction,
    RefreshStatus,
)
from taskdata.schema.task import ReferenceSolution, ReferenceStep

NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
MODEL = {"provider": "openai", "model": "gpt-5.2"}


@pytest.fixture
def store(home, open_store):
    store = open_store(load_settings().address)
    yield store
    store.close()


@pytest.fixture
def waiting(store, new_task, new_refresh, new_candidate):
    """Two candidates of refresh `r1` that wait for review: `one` and `two`."""
    new_refresh(RefreshStatus.AWAITING_REVIEW, bank="office", model=MODEL)
    for name in ("one", "two"):
        new_candidate(new_task(name), Construction.REVIEW)
    return store


def listed(command, *options):
    return json.loads(command("review", "list", "--json", *options).stdout)["candidates"]


def test_candidates_are_listed_decided_and_listed_no_more(command, waiting):
    assert [entry["task_id"] for entry in listed(command)] == ["one", "two"]
    done = command("review", "reject", "one", "--comment", "no", "--reviewer", "ada")
    assert (done.returncode, "one: rejected" in done.stdout) == (0, True)
    assert [entry["task_id"] for entry in listed(command, "--refresh", "r1")] == ["two"]
    shown = json.loads(command("review", "show", "one", "--json").stdout)
    assert [(d["reviewer"], d["comment"]) for d in shown["decisions"]] == [("ada", "no")]


def test_of_several_candidates_all_are_decided_or_none(command, waiting):
    command("review", "approve", "two", "--yes")
    done = command("review", "approve", "one", "two", "--yes")
    assert done.returncode == 2
    assert "'two' does not wait for review: it is at approved" in done.stderr
    assert [entry["task_id"] for entry in listed(command)] == ["one"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "--refresh", "r9"], "refresh 'r9' is not in the store"),
        (["approve", "one", "--reviewer", ""], "needs a reviewer"),
        (["approve"], "name the candidates"),
        (["reject", "one", "--comment", " "], "needs a reason"),
        (["approve", "one"], "needs yes to all 6 items of the checklist (--yes), or a reason"),
        (["approve", "one", "--unsure", "realistic"], "needs yes to all 6 items"),
        (["approve", "one", "--unsure", "nice"], "'nice' is no item of the checklist; there are"),
        (["approve", "one", "--yes", "--note", "realistic"], "expected ITEM=TEXT"),
        (["approve", "one", "--yes", "--reviewer", "a" * 10_000], "at most 200 characters"),
        (["reject", "one", "--no", "solvable"], "rejecting 'one' needs a reason"),
        (["reject", "one", "--no", "solvable", "--unsure", "solvable"], "both no and unsure"),
        (["reject", "one", "--note", "solvable=x"], "item solvable, which has no answer"),
        (["reject", "one", "--comment", "a" * 10_001], "field comment"),
        (["send-back", "one"], "sending back 'one' needs a reason"),
        (["show", "three"], "'three' is not in the store"),
        (["edit", "one", "--file", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
    ],
)
def test_misuse_decides_nothing(command, waiting, arguments, message):
    done = command("review", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert len(listed(command)) == 2


def test_answers_and_notes_are_stored_with_the_verdict_and_shown(command, waiting):
    note = "realistic=<b>hardly</b>"
    done = command("review", "approve", "one", "--unsure", "realistic", "--note", note)
    assert (done.returncode, "one: approved" in done.stdout) == (0, True)
    (decision,) = waiting.reviews("c-one")
    answers = {one.item.value: (one.answer, one.note) for one in decision.checklist}
    assert answers.pop("realistic") == ("unsure", "<b>hardly</b>")
    assert len(answers) == 5
    assert set(answers.values()) == {("yes", "")}
    shown = command("review", "show", "one").stdout
    assert "yes to 5 of 6; realistic: unsure (<b>hardly</b>)" in " ".join(shown.split())


@pytest.fixture
def two_needed(store, new_task, new_refresh, new_candidate):
    """A candidate of refresh `r1`, `one`, that two reviewers must agree about."""
    new_refresh(RefreshStatus.AWAITING_REVIEW, bank="office", model=MODEL, reviewers=2)
    new_candidate(new_task("one"), Construction.REVIEW)
    return store


def test_a_second_reviewer_does_not_see_the_first_ones_answers_before_deciding(command, two_needed):
    done = command("review", "approve", "one", "--yes", "--comment", "fine", "--reviewer", "ada")
    assert "one: stored; 1 of 2 reviewers have decided" in done.stdout
    assert "--resume" not in done.stdout
    (entry,) = listed(command)
    assert entry["reviewed"] == "1 of 2"

    def seen(who):
        shown = command("review", "show", "one", "--json", "--reviewer", who).stdout
        return [one["reviewer"] for one in json.loads(shown)["decisions"]]

    assert (seen("bob"), seen("Ada")) == ([], ["ada"])
    assert "fine" not in command("review", "show", "one", "--reviewer", "bob").stdout
    no = ("--no", "realistic", "--comment", "nobody asks for that", "--reviewer", "bob")
    told = command("review", "reject", "one", *no).stdout
    assert "disputed (ada: approved, bob: rejected)" in told
    assert seen("bob") == ["ada", "bob"]
    assert listed(command)[0]["is_disputed"] is True
    assert (
        "one: approved" in command("review", "approve", "one", "--yes", "--reviewer", "bo").stdout
    )


def test_reviewers_are_told_how_far_they_agree(command, two_needed):
    assert "No two people" in command("review", "agreement").stdout
    command("review", "approve", "one", "--yes", "--reviewer", "ada")
    command("review", "reject", "one", "--no", "realistic", "--comment", "x", "--reviewer", "bob")
    told = json.loads(command("review", "agreement", "--json").stdout)["agreement"]
    assert (told["reviewers"], told["tasks"]) == (["ada", "bob"], 1)
    items = {one["item"]: (one["pairs"], one["agreed"]) for one in told["items"]}
    assert (items["verdict"], items["realistic"], items["solvable"]) == ((1, 0), (1, 0), (0, 0))
    assert "0 of 1" in command("review", "agreement", "--refresh", "r1").stdout


def test_a_terminal_asks_the_items(command, waiting, monkeypatch):
    def answering(*lines):
        given = iter(lines)
        monkeypatch.setattr(deciding, "is_asked_here", lambda: True)
        monkeypatch.setattr("flows.cli.console.ask", lambda _question: next(given))

    answering("y", "maybe", "u not sure: which year?", "yes", "y", "y", "y")
    assert "one: approved" in command("review", "approve", "one", "--reviewer", "ada").stdout
    (decision,) = waiting.reviews("c-one")
    assert [one.answer for one in decision.checklist] == ["yes", "unsure", *["yes"] * 4]
    assert decision.checklist[1].note == "not sure: which year?"

    answering("y", "y", "y", "y", "n", "y", "b", "the total is never checked")
    assert "two: sent back" in command("review", "approve", "two", "--reviewer", "ada").stdout
    assert waiting.candidate("c-two").stage is Construction.CHECKPOINTS


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "line 1: an anchor or alias is not allowed here"),
        ("a: " + "[" * 20_000 + "]" * 20_000, "nesting deeper than 64"),
        ("a: [b", "not YAML"),
        ("a: !!python/object/apply:os.system [id]", "not YAML"),
        ("- a", "expected a mapping"),
        ("a: " + "x" * (1 << 20), "larger than"),
    ],
)
def test_an_edit_that_is_no_plain_mapping_is_refused(command, waiting, tmp_path, text, message):
    path = tmp_path / "draft.yaml"
    path.write_text(text)
    done = command("review", "edit", "one", "--file", str(path))
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert len(listed(command)) == 2


def test_an_edit_with_text_that_no_database_takes_is_refused(command, waiting, tmp_path):
    draft = waiting.draft("c-one").model_dump(mode="json")
    path = tmp_path / "draft.yaml"
    path.write_text(yaml.safe_dump(draft | {"query": "Add up\0 these."}))
    done = command("review", "edit", "one", "--file", str(path))
    assert done.returncode == 2
    assert "field query holds NUL" in done.stderr
    assert len(listed(command)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "compatible/m"], "needs a base URL"),
        (["--model", "nobody/m"], "unknown provider"),
        (["--model", "openai/gpt-5.2"], "OPENAI_API_KEY"),
        (["--model", "compatible/m", "--base-url", "http://h/v1", "--max-usd", "1"], "price"),
        (["--model", "compatible/m", "--base-url", "http://h/v1", "--base", "x"], "'x' is unknown"),
        (["--model", "compatible/m", "--base-url", "http://h/v1", "--seed", "x"], "seed 'x'"),
        (["--model", "compatible/m", "--base-url", "http://h/v1", "--bank", "starter"], "bundled"),
    ],
)
def test_a_refresh_that_cannot_work_is_not_begun(command, store, options, message):
    done = command("refresh", *options)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert store.refreshes() == []


def test_a_reviewer_reads_what_is_expected_and_what_the_solution_delivered(
    command, store, new_task, new_refresh, new_candidate
):
    new_refresh(RefreshStatus.RUNNING, bank="office", model=MODEL)
    values = '{"sum": 5, "difference": 1, "product": 6}'
    write = ReferenceStep(
        tool="write_file", arguments={"path": "output/out.json", "content": values}
    )
    judged = Checkpoint(
        id="clear",
        requirement="It is clear.",
        verifier=Judge(rubric="A person understands it.", deliverables=("out.json",)),
    )
    task = new_task(
        "sums", reference=ReferenceSolution(steps=(write,), final_answer="It is written.")
    )
    tree = task.checkpoints.model_copy(update={"children": (*task.checkpoints.children, judged)})
    new_candidate(task.model_copy(update={"checkpoints": tree}), Construction.PROVE)
    prove.do(store, "r1")

    shown = command("review", "show", "sums").stdout
    assert 'values: {"sum": 5}' in shown
    assert "rubric: A person understands it." in shown
    assert "1. write_file" in shown
    delivered = shown.partition("What the reference solution delivered")[2]
    assert '"product": 6' in delivered
    assert "It is written." in delivered
    (trial_id,) = re.findall(r"`nightshift show (\w+) --save DIR`", delivered)
    command("show", trial_id, "--save", "taken")
    assert json.loads(Path("taken/out.json").read_text()) == json.loads(values)
    found = json.loads(command("review", "show", "sums", "--json").stdout)
    assert found["played"]["trial"]["id"] == trial_id
