"""python_execute: the agent's code, in a child process of the worker.

The code gets pipes instead of the worker's output, so that its output cannot pass for a result, and
the worker is marked undumpable, so that the code cannot open the worker's files through /proc. It
may still kill the worker, which shows as a failed call.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from threading import Thread
from typing import IO

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolErrorKind, ToolResult

_HEAD_BYTES, _TAIL_BYTES = 250_000, 250_000
_END_CHARS = 30_000
"""Characters of a failed program's output kept at either end: tracebacks are at the end."""

_DEFAULT_TIMEOUT_SECONDS = 60.0
NOTHING_PRINTED = "The code ran and printed nothing."
_PR_SET_DUMPABLE = 4
_CHUNK_BYTES = 65_536
_LIMIT_MESSAGE = re.compile(r"MemoryError|\[Errno (11|12|27|28|122)\]")
"""Last line of a traceback when memory, processes, file size or disk space ran out."""


class PythonExecuteArguments(Arguments):
    """Arguments of python_execute."""

    code: str = Field(
        description="A complete program; variables of earlier calls are gone. Print what you "
        "want to see, write files below output/."
    )
    timeout_seconds: float = Field(default=_DEFAULT_TIMEOUT_SECONDS, gt=0, le=3600)


class _Capture(Thread):
    """Reads a pipe to its end and keeps the first and the last bytes."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._head = b""
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._dropped = 0

    def run(self) -> None:
        while chunk := os.read(self._pipe.fileno(), _CHUNK_BYTES):
            room = _HEAD_BYTES - len(self._head)
            self._head += chunk[:room]
            if chunk[room:]:
                self._keep(chunk[room:])

    def _keep(self, chunk: bytes) -> None:
        self._tail.append(chunk)
        self._tail_bytes += len(chunk)
        while self._tail_bytes - len(self._tail[0]) >= _TAIL_BYTES:
            self._tail_bytes -= len(self._tail[0])
            self._dropped += len(self._tail.popleft())

    def text(self) -> str:
        tail = b"".join(self._tail)
        dropped = self._dropped + max(0, len(tail) - _TAIL_BYTES)
        middle = f"\n[... {dropped} bytes left out ...]\n" if dropped else ""
        shown = tail[-_TAIL_BYTES:].decode("utf-8", "replace")
        return self._head.decode("utf-8", "replace") + middle + shown


def python_execute(args: PythonExecuteArguments, workspace: Path) -> ToolResult:
    """Run the code in the workspace; returns what it printed and how it ended."""
    _hide_from_children()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "code.py"
        script.write_bytes(args.code.encode("utf-8", "replace"))
        return _run(script, args.timeout_seconds, workspace)


def _hide_from_children() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _run(script: Path, timeout_seconds: float, workspace: Path) -> ToolResult:
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.setdefault("MPLCONFIGDIR", str(script.parent))
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-u", str(script)],
        cwd=workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    if process.stdout is None:
        raise RuntimeError("the pipe to the code was not made")
    capture = _Capture(process.stdout)
    capture.start()
    try:
        code: int | None = process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        code = None
    _kill_group(process)
    # A process that left the process group may hold the pipe open: it is not waited for.
    capture.join(timeout=1)
    return _outcome(code, capture.text(), time.monotonic() - started, str(script))


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def _outcome(code: int | None, printed: str, seconds: float, script: str) -> ToolResult:
    printed = printed.replace(script, "code.py").strip("\n")
    if code == 0:
        return ToolResult(text=printed or NOTHING_PRINTED)
    shown = f"\n{_ends(printed)}" if printed else " It printed nothing."
    if code is None:
        text = f"The code was stopped after {seconds:.0f} s (timeout_seconds).{shown}"
        return ToolResult(text=text, error=ToolErrorKind.LIMIT)
    if code < 0:
        return _killed(-code, shown)
    is_limit = _LIMIT_MESSAGE.search(printed.rpartition("\n")[2])
    text = f"The code failed with exit code {code}.{shown}"
    return ToolResult(text=text, error=ToolErrorKind.LIMIT if is_limit else ToolErrorKind.REFUSED)


def _ends(printed: str) -> str:
    left_out = len(printed) - 2 * _END_CHARS
    if left_out <= 0:
        return printed
    mark = f"\n[... {left_out} characters left out ...]\n"
    return printed[:_END_CHARS] + mark + printed[-_END_CHARS:]


def _killed(number: int, shown: str) -> ToolResult:
    reasons = {
        signal.SIGXCPU: "it used more CPU time than the sandbox allows",
        signal.SIGXFSZ: "it wrote a larger file than the sandbox allows",
        signal.SIGKILL: "it was killed, for too much memory or CPU time",
    }
    reason = next((text for sign, text in reasons.items() if sign == number), None)
    kind = ToolErrorKind.LIMIT if reason else ToolErrorKind.REFUSED
    why = reason or f"it crashed with signal {number}"
    return ToolResult(text=f"The code was stopped: {why}.{shown}", error=kind)


TOOLS = (
    ToolDefinition(
        name="python_execute",
        description=(
            "Run a Python program in the workspace and see what it prints. Available: pandas, "
            "numpy, scipy, sympy, matplotlib, Pillow, openpyxl, python-docx, python-pptx, pypdf, "
            "pdfplumber, reportlab, soundfile. No network. Files count only below output/."
        ),
        category=Capability.LOGIC,
        arguments=PythonExecuteArguments,
        run=python_execute,
        backend="a Python process",
        paging="Print less, or work on a smaller part.",
    ),
)
