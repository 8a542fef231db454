"""What programs of tasks see and say, and who is at fault when they say nothing."""

import json

import pytest

from taskdata.schema.scores import Unscored
from taskdata.schema.transcript import Ending, Transcript


@pytest.fixture
def tasks(bank):
    return {task.id: task for task in bank.tasks}


def test_an_exit_code_is_a_verdict_and_the_output_its_evidence(scored, tasks):
    task = tasks["sorted-names"]
    good = scored(task, {"sorted.txt": b"Amin\nNils\nVera\n"})["in_order"]
    assert (good.score, good.reason.splitlines()) == (
        10,
        ["evaluation/main.py passes", "the list is in order"],
    )
    assert good.verifier.startswith("script:evaluation/main.py@")
    wrong = scored(task, {"sorted.txt": b"Nils\nAmin\nVera\n"})["in_order"]
    assert wrong.score == 0
    assert "expected ['Amin', 'Nils', 'Vera'], found ['Nils', 'Amin', 'Vera']" in wrong.reason
    nothing = scored(task)["in_order"]
    assert nothing.score == 0
    assert "a file that the agent did not leave" in nothing.reason


def test_a_score_may_stand_on_the_last_line(scored, tasks):
    task = tasks["harbour-dues"]
    dues = b"boat,dues\nSkua,36\nTern,24\nGannet,%d\n"
    assert scored(task, {"dues.csv": dues % 60})["dues"].score == 10
    two = scored(task, {"dues.csv": dues % 61})["dues"]
    assert two.score == pytest.approx(20 / 3)
    assert "not right: Gannet" in two.reason


def test_one_run_of_a_program_may_score_several_leaves(scored, tasks):
    task = tasks["ferry-log"]
    empty = Transcript(events=(), final_answer="45", ending=Ending.FINISHED)
    leaves = scored(task, answer="45", transcript=empty)
    assert {leaf_id: leaf.score for leaf_id, leaf in leaves.items()} == {
        "minutes": 10,
        "log_was_read": 0,
    }
    assert leaves["minutes"].reason == "answered '45'"


@pytest.mark.parametrize(
    ("code", "settings", "reason"),
    [
        ("import a_library_that_is_not_there", {}, "ModuleNotFoundError"),
        ("while True: pass", {"seconds": 1}, "more CPU time"),
        ("import socket; socket.create_connection(('127.0.0.1', 5432))", {}, "Refused"),
        ("print('done')", {"verdict": "json_file"}, "left no result.json"),
        ("import os\nwhile True: os.fork()", {"seconds": 20}, "more processes"),
    ],
)
def test_a_program_that_fails_whatever_was_delivered_is_no_zero_of_the_agent(
    scored, task_with, code, settings, reason
):
    leaf = scored(task_with(code, **settings), {"out.json": b"{}"})["leaf"]
    assert (leaf.score, leaf.unscored) == (None, Unscored.SCRIPT_FAILED), leaf.reason
    assert reason in leaf.reason
    assert not leaf.unscored.was_asked


def test_a_program_that_only_this_deliverable_breaks_counts_within_the_bounds(scored, task_with):
    code = "import json; json.load(open('/workspace/input/deliverables/out.json'))"
    task = task_with(code)
    assert scored(task, {"out.json": b"{}"})["leaf"].score == 10
    assert scored(task)["leaf"].score == 0
    broken = scored(task, {"out.json": b"no JSON"})["leaf"]
    assert (broken.score, broken.unscored) == (None, Unscored.CHECK_FAILED)


LOOK = """
import json, os, socket
from pathlib import Path
seen = {str(p.relative_to("/workspace/input")) for p in Path("/workspace/input").rglob("*")}
try:
    Path("/workspace/input/deliverables/out.json").write_text("changed")
    changed = True
except OSError:
    changed = False
try:
    socket.create_connection(("1.1.1.1", 443), timeout=1)
    online = True
except OSError:
    online = False
found = {"seen": sorted(seen), "changed": changed, "online": online, "left": os.listdir("output")}
Path("output/result.json").write_text(json.dumps({"score": 1, "reason": json.dumps(found)}))
"""


def test_a_program_reads_what_was_left_and_changes_nothing_and_reaches_nobody(scored, task_with):
    task = task_with(LOOK, verdict="json_file", full_score=1)
    files = {
        "out.json": b"{}",
        "result.json": b'{"score": 1}',
        "sitecustomize.py": b"raise SystemExit(0)",
        "conftest.py": b"raise SystemExit(0)",
    }
    leaf = scored(task, files, answer="done")["leaf"]
    assert leaf.score == 10
    found = json.loads(leaf.reason)
    assert (found["changed"], found["online"], found["left"]) == (False, False, [])
    own = {f"{folder}/{name}" for folder in ("deliverables", "workspace") for name in files}
    fixed = {"answer.txt", "transcript.json", "programs/evaluation/main.py"}
    folders = {"deliverables", "workspace", "groundtruth", "services", "programs"}
    assert set(found["seen"]) == own | fixed | folders | {"programs/evaluation"}
