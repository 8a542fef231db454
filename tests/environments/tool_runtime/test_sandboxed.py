"""The host's half against programs that end in every way but the right one."""

import asyncio
import signal
import subprocess
import sys
import wave
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest

from environments.ports import Completed
from environments.tool_runtime.catalogue import catalogue
from environments.toolkit.definition import MAX_RESULT_CHARS
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
    result = read_csv(f"print('ready'); print({output!r}, end='')")
    assert result.error is ToolErrorKind.REFUSED
    assert result.text == "ReadCSV ended without a readable result."


@pytest.mark.parametrize("said", ["", "print('not ready'); "])
def test_a_worker_that_cannot_start_is_our_failure(said: str):
    with pytest.raises(SandboxFailed, match="No module named 'pandas'"):
        read_csv(f"{said}raise ImportError(\"No module named 'pandas'\")")


def test_a_worker_that_fails_once_it_has_started_is_not_our_failure():
    result = read_csv("print('ready', flush=True); raise SystemExit(3)")
    assert result.error is ToolErrorKind.REFUSED
    assert result.text == "ReadCSV ended without a readable result."


def test_paths_that_lead_elsewhere_are_dropped_from_the_result():
    files = ["output/a.csv", "/etc/passwd", "input/b", "output/a\nb", "output/" + "x" * 300]
    result = read_csv(
        "import json; print('ready');"
        f"print(json.dumps({{'text': 'a' * 2_000_000, 'files': {files!r}}}))"
    )
    assert result.files == ("output/a.csv",)
    assert len(result.text) == MAX_RESULT_CHARS


def test_bad_arguments_never_reach_the_sandbox():
    tool = catalogue()["ReadCSV"]
    result = asyncio.run(tool.run({"file": "a.csv"}, OddPython("raise SystemExit(1)")))
    assert result.error is ToolErrorKind.BAD_ARGUMENTS
    assert "- path: is missing" in result.text


SPOILT = {
    "a folder without end": (
        "import os; os.chdir('output')\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    ),
    "a path that is too long": (
        "import os; os.chdir('output'); name = 'x' * 250\n"
        "for _ in range(20): os.mkdir(name); os.chdir(name)\n"
        "open('y' * 250, 'w')"
    ),
    "a folder that is closed": "import os; os.chmod('output', 0)",
    "names that are no text": "import os; open(b'output/\\xff\\n', 'w'); os.mkdir(b'output/\\xfe')",
    "a worker that is told to leave": "import os; os.kill(os.getppid(), 15)",
    "a worker that is interrupted": "import os; os.kill(os.getppid(), 2)",
}


@pytest.mark.parametrize("code", SPOILT.values(), ids=SPOILT.keys())
def test_an_agent_cannot_make_its_calls_fail_as_if_we_had(in_sandbox, code: str):
    spoiling, *after = in_sandbox(
        ("python_execute", {"code": code}),
        ("write_file", {"path": "output/a.txt", "content": "a"}),
        ("python_execute", {"code": "print('alive')"}),
        ("Calculator", {"expression": "1+1"}),
    )

    # A folder that cannot be counted is above the limit of disk space: the agent's to mend. A call
    # that is over before anybody looks is not stopped for it.
    for result, answer in zip(after[1:], ("alive", "2"), strict=True):
        assert result.text == answer or "more to disk" in result.text
    assert spoiling.error is None or spoiling.error in (ToolErrorKind.LIMIT, ToolErrorKind.REFUSED)


def test_the_agents_code_neither_sees_nor_ends_the_python_that_stays(in_sandbox):
    code = (
        "import os\n"
        "pids = {int(name) for name in os.listdir('/proc') if name.isdigit()}\n"
        "for pid in pids - {1, os.getpid(), os.getppid()}: print('there', pid)\n"
        "for pid in pids:\n"
        "    if 'warm' in open(f'/proc/{pid}/cmdline').read(): print('seen', pid)\n"
        "print('looked')\n"
    )
    plot = {"path": "output/p.png", "kind": "bar", "x": ["a"], "series": [{"values": [1]}]}
    plot["series"][0]["name"] = "s"

    first, looked, killer, second = in_sandbox(
        ("Plot", plot),
        ("python_execute", {"code": code}),
        ("python_execute", {"code": "import os; os.kill(-1, 9)"}),
        ("Plot", plot),
    )

    assert looked.text == "looked"
    assert killer.error is ToolErrorKind.LIMIT
    assert (first.error, second.error) == (None, None)
    # It had matplotlib loaded already, so it was not killed.
    assert second.seconds < first.seconds / 2


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("OCR", {"image": "input/a.png"}),
        ("ImageQualityTest", {"image": "input/a.png"}),
        ("Solver", {"equations": ["x**2 = 4"], "unknowns": ["x"]}),
        ("SoundCharacteristicExtraction", {"audio": "input/a.wav"}),
        ("NoiseReduction", {"audio": "input/a.wav", "path": "output/b.wav"}),
        ("SpeechToText", {"audio": "input/a.wav"}),
    ],
)
def test_libraries_that_were_loaded_before_a_fork_work_again_and_again(
    in_sandbox, tool: str, arguments: dict[str, Any]
):
    files = {"a.png": lettered(), "a.wav": noise()}
    results = in_sandbox((tool, arguments), (tool, arguments), files=files)

    assert [result.error for result in results] == [None, None], results
    assert results[0].text == results[1].text


def lettered() -> bytes:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (320, 120), "white")
    ImageDraw.Draw(image).text((20, 30), "Opening hours", fill="black", font_size=32)
    target = BytesIO()
    image.save(target, format="PNG")
    return target.getvalue()


def noise() -> bytes:
    import numpy as np

    samples = np.random.default_rng(1).integers(-3000, 3000, 16_000, dtype=np.int16)
    target = BytesIO()
    with wave.open(target, "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    return target.getvalue()
