"""What one failed trial's cause is called."""

import pytest

from quality.clusters.causes import cause_of, normalised
from quality.clusters.sentences import CHECKS, WHY
from stages.score.library import check_library
from taskdata.schema.checkpoint import Checkpoint, ScriptCheck
from taskdata.schema.diagnosis import LABELS
from taskdata.schema.environment import TaskEnvironment
from taskdata.schema.input_file import InputFile
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("no reply in 30 s", "no reply in 600.5 s", "no reply in <n> s"),
        ("GET https://a.b/x?y=1: 502", "GET http://c/: 503", "GET <address>: <n>"),
        ("/tmp/a1/x.py is gone", "/var/b/y.py is gone", "<path> is gone"),
        ("run 20260301-220000-1f2e ended", "run 20260302-220001-9c3a ended", "run <id> ended"),
        ("at 2026-03-01T22:00:00Z: lost", "at 2026-03-02 01:00: lost", "at <time>: lost"),
        (
            "local/a2.5-b-1.5b: 3 tries",
            "local/a2.5-b-1.5b: 4 tries",
            "local/a2.5-b-1.5b: <n> tries",
        ),
    ],
)
def test_causes_that_differ_in_particulars_alone_are_one_cause(one, other, expected):
    assert normalised(one + "\nTraceback of many lines") == normalised(other) == expected


def test_every_check_and_every_reason_has_a_sentence():
    assert set(CHECKS) == set(check_library())
    assert set(WHY) <= {name for names in LABELS.values() for name in names}


@pytest.fixture
def title(make_task, make_result, failed, with_reasons, delivered):
    """The title of the cause of a trial that delivered these files and failed for these reasons."""

    def of(
        reasons, names=("totals.xlsx", "memo.docx"), stage="reason", labels=(), **outcome
    ) -> str:
        task: Task = make_task()
        scores = {"totals": 10.0, "sheets": 10.0, "answer": 10.0, "tone": 10.0}
        scores |= dict.fromkeys(reasons, 0.0)
        result = make_result(task=task, leaves=scores)
        fields = {"tool_calls": 3, "turns": 3, "deliverables": delivered(*names)} | outcome
        ended = result.outcome.model_copy(update=fields)
        result = result.model_copy(update={"outcome": ended})
        found = cause_of(failed(with_reasons(result, reasons), stage, *labels), task)
        assert found is not None
        return found.title

    return of


def test_the_check_that_cost_most_says_what_is_wrong_with_which_file(title):
    assert (
        title({"sheets": "1 of 3 expected sheets; found: A"})
        == "The XLSX file lacks sheets that were asked for"
    )
    assert (
        title({"answer": "the answer states 3"}) == "The answer does not state what was asked for"
    )
    assert title({"tone": "dull"}) == "The DOCX file does not satisfy the judge"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("no sheet 'Totals'; there are: A", "The XLSX file lacks a sheet that was asked for"),
        ("no column 'month'; the header has a", "The XLSX file lacks columns that were asked for"),
        (
            "the file cannot be read: its content is not that of a XLSX file: not a zip",
            "A file was delivered that cannot be opened as what its name says",
        ),
    ],
)
def test_a_check_that_finds_nothing_to_look_at_tells_of_the_file(title, reason, expected):
    assert title({"totals": reason}) == expected


def test_what_did_not_arrive_is_told_apart(title):
    gone = {"totals": "was not delivered", "sheets": "was not delivered"}
    assert title(gone, names=()) == "No file was delivered"
    assert title(gone, names=("memo.docx",)) == "Only some of the files were delivered"
    assert (
        title(gone, names=("my.xlsx", "memo.docx"))
        == "A file was delivered under another name than the one asked for"
    )


def test_where_the_work_broke_down_a_label_or_the_ending_says_why(title):
    gone = {"totals": "was not delivered", "sheets": "was not delivered"}
    wrong = ("tool_use", "wrong_tool_selection", "read_file: a.docx is no text")
    loop = ("long_run", "loop", "read_file: 3 times")
    assert (
        title(gone, names=(), stage="execute", labels=(loop, wrong))
        == "No file was delivered: read_file was used on a kind of file that it does not handle"
    )
    assert (
        title(gone, names=(), stage="plan", tool_calls=0, turns=2)
        == "No file was delivered: no tool was called"
    )
    assert title(
        gone, names=(), stage="plan", tool_calls=2, turns=2, ending=Ending.OUT_OF_TURNS
    ).endswith(": the agent ran out of turns")
    assert "read_file" not in title({"answer": "3"}, labels=(wrong,)), "the work did not break down"


def test_a_tasks_own_program_says_what_it_misses(make_task, make_result, failed, with_reasons):
    verifier = ScriptCheck(entry="main.py")
    tree = Checkpoint(id="root", requirement="all", verifier=verifier)
    file = InputFile(path="main.py", sha256="a" * 64, size_bytes=1)
    task = make_task(
        checkpoints=tree, deliverables=(), environment=TaskEnvironment(evaluation=(file,))
    )

    def cause(reason):
        result = make_result(task=task, leaves={"root": 0.0}, tool_calls=2, turns=2)
        return cause_of(failed(with_reasons(result, {"root": reason}), "reason"), task)

    said = "main.py does not pass\n--- Check 1 ---\n[FAIL] Menu.docx not found\n"
    assert cause(said).title == "A file that the task's own program looks for is not there"
    wrong = [cause(f"main.py does not pass\n[FAIL] total is {n}, expected 9\n") for n in (3, 4)]
    assert wrong[0] == wrong[1]
    assert wrong[0].title == (
        "The task's own program did not accept the result: [FAIL] total is <n>, expected <n>"
    )


def test_causes_that_read_differently_have_different_keys(make_task, make_result, failed):
    task = make_task()
    low = {leaf.id: 0.0 for leaf in task.checkpoints.leaves()}

    def cause(**outcome):
        result = make_result(task=task, leaves=low)
        fields = {"tool_calls": 0, "turns": 2} | outcome
        ended = result.outcome.model_copy(update=fields)
        return cause_of(failed(result.model_copy(update={"outcome": ended}), "plan"), task)

    found = [cause(), cause(ending=Ending.STUCK), cause(tool_calls=4), cause(turns=None)]
    assert len({one.key for one in found}) == len({one.title for one in found}) == 3
    assert found[1].title == "No file was delivered: no reply could be read as a tool call"


def test_a_trial_that_did_not_fail_has_no_cause(make_task, make_result):
    task = make_task()
    assert cause_of(make_result(task=task), task) is None
