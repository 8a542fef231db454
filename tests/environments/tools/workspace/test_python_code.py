import time

import pytest

from taskdata.schema.tool import ToolErrorKind


def test_prints_and_files_come_back(run, workspace):
    code = "import sys\nprint('ü', 1)\nprint('warned', file=sys.stderr)\nopen('output/a.txt', 'w')"
    result = run("python_execute", code=code)
    assert (result.error, result.text, result.files) == (None, "ü 1\nwarned", ("output/a.txt",))


def test_silence_is_said(run):
    assert run("python_execute", code="x = 1").text == "The code ran and printed nothing."


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("print('before')\n1 / 0", "before\nTraceback"),
        ("x = = 1", "SyntaxError"),
        ("raise SystemExit(3)", "exit code 3"),
        ("import nonsense", "No module named 'nonsense'"),
    ],
)
def test_a_failing_program_shows_its_traceback(refused, code, text):
    shown = refused("python_execute", code=code)
    assert text in shown
    assert "/tmp" not in shown


def test_a_program_that_takes_too_long_keeps_what_it_printed(run):
    code = "import time\nprint('so far')\ntime.sleep(60)"
    result = run("python_execute", code=code, timeout_seconds=0.5)
    assert result.error is ToolErrorKind.LIMIT
    assert result.text.endswith("(timeout_seconds).\nso far")


def test_endless_output_is_cut_in_the_middle(run):
    result = run("python_execute", code="print('first')\nprint('x' * 10_000_000)\nprint('last')")
    assert result.text.startswith("first\nxxx")
    assert result.text.endswith("xxx\nlast")
    assert "bytes left out" in result.text
    assert len(result.text) < 510_000


def test_the_traceback_of_a_failed_program_is_not_lost_behind_what_it_printed(refused):
    shown = refused("python_execute", code="print('first')\nprint('x' * 300_000)\n1 / 0")
    assert "characters left out" in shown
    assert shown.endswith("ZeroDivisionError: division by zero")
    assert len(shown) < 70_000


def test_a_process_left_behind_is_not_waited_for(run):
    code = "import subprocess\nsubprocess.Popen(['sleep', '20'], start_new_session=True)\nprint(1)"
    started = time.monotonic()
    assert run("python_execute", code=code).text == "1"
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import os; os.kill(os.getpid(), 9)", ToolErrorKind.LIMIT),
        ("import os; os.kill(os.getpid(), 24)", ToolErrorKind.LIMIT),
        ("import os; os.kill(os.getpid(), 11)", ToolErrorKind.REFUSED),
        ("raise MemoryError", ToolErrorKind.LIMIT),
    ],
)
def test_how_the_process_ended_decides_the_kind_of_error(run, code, kind):
    assert run("python_execute", code=code).error is kind


def test_plots_need_no_display(run):
    code = (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('output/p.png')\n"
        "print(plt.get_backend())"
    )
    assert run("python_execute", code=code).text.lower() == "agg"
