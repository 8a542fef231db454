"""`nightshift review` and `refresh`: what makes no sense is said before anything is done."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

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
    command("review", "approve", "two")
    done = command("review", "approve", "one", "two")
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
