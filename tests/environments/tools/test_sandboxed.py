"""The host's half against programs that end in every way but the right one."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from environments.ports import Completed
from environments.tools.catalogue import catalogue
from taskdata.errors import SandboxFailed
from taskdata.schema.tool import ToolErrorKind, ToolResult


class OddPython:
    """A sandbox whose Python runs `code` and never mind what it was asked to run."""

    def __init__(self, code: str, limit: Any = None) -> None:
        self.code = code
        self.limit = limit

    def python(self) -> Sequence[str]:
        return (sys.executable, "-c", self.code)

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", wall_seconds: float | None = None
    ) -> Completed:
        done = subprocess.run(argv, input=stdin, capture_output=True, check=False)
        return Completed(done.returncode, done.stdout, done.stderr, 1.25, self.limit)


def read_csv(code: str, limit: Any = None) -> ToolResult:
    tool = catalogue()["ReadCSV"]
    return asyncio.run(tool.run({"path": "input/a.csv"}, OddPython(code, limit)))


@pytest.mark.parametrize("limit", ["wall", "cpu", "output", "memory", "processes", "disk"])
def test_a_limit_of_the_sandbox_is_the_agents_to_mend(limit: str):
    result = read_csv("print('{')", limit)
    assert result.error is ToolErrorKind.LIMIT
    assert result.text.startswith("ReadCSV was stopped after 1 s: it ")
    assert "max_rows" in result.text
    assert result.seconds == 1.25


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGXCPU, signal.SIGSEGV])
def test_a_killed_worker_is_a_limit(number: signal.Signals):
    result = read_csv(f"import os; os.kill(os.getpid(), {number:d})")
    assert result.error is ToolErrorKind.LIMIT


@pytest.mark.parametrize("output", ["", "{", "[]", '{"text": 3}', '{"text": "a", "score": 10}'])
def test_an_unreadable_result_is_an_error(output: str):
    result = read_csv(f"print({output!r}, end='')")
    assert result.error is ToolErrorKind.REFUSED
    assert result.text == "ReadCSV ended without a readable result."


def test_a_worker_that_cannot_start_is_our_failure():
    with pytest.raises(SandboxFailed, match="No module named 'pandas'"):
        read_csv("raise ImportError(\"No module named 'pandas'\")")


def test_paths_that_lead_elsewhere_are_dropped_from_the_result():
    files = ["output/a.csv", "/etc/passwd", "input/b", "output/a\nb", "output/" + "x" * 300]
    result = read_csv(
        f"import json; print(json.dumps({{'text': 'a' * 200_000, 'files': {files!r}}}))"
    )
    assert result.files == ("output/a.csv",)
    assert len(result.text) == 100_000


def test_bad_arguments_never_reach_the_sandbox():
    tool = catalogue()["ReadCSV"]
    result = asyncio.run(tool.run({"file": "a.csv"}, OddPython("raise SystemExit(1)")))
    assert result.error is ToolErrorKind.BAD_ARGUMENTS
    assert "- path: is missing" in result.text
