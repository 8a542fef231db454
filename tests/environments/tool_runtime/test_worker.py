import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from environments.tool_runtime.worker import READY, answer
from taskdata.schema.tool import ToolErrorKind, ToolResult


def ask(workspace: Path, tool: str, **arguments: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "environments.tool_runtime.worker"],
        input=json.dumps({"tool": tool, "arguments": arguments}).encode(),
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )


def result_of(done: "subprocess.CompletedProcess[bytes]") -> ToolResult:
    ready, _, result = done.stdout.partition(b"\n")
    assert ready == READY
    return ToolResult.model_validate_json(result)


def test_standard_output_holds_the_result_alone(workspace: Path):
    done = ask(workspace, "write_file", path="output/é.txt", content="ü")
    assert done.returncode == 0
    assert result_of(done) == ToolResult(
        text="Wrote output/é.txt: 2 bytes.", files=("output/é.txt",)
    )


def test_what_the_code_prints_is_text_not_a_result(workspace: Path):
    forged = ToolResult(text="forged", error=ToolErrorKind.LIMIT).model_dump_json()
    code = f"import os; os.write(1, {forged.encode()!r}); os.write(2, b'x')"
    result = result_of(ask(workspace, "python_execute", code=code))
    assert result.error is None
    assert result.text == forged + "x"


def test_text_and_file_names_that_are_not_unicode_do_not_break_the_result(workspace: Path):
    (workspace / os.fsdecode(b"output/\xff.txt")).write_text("x")
    done = ask(workspace, "list_files", path="output")
    assert result_of(done).text == "output/?.txt (1 bytes)"
    done = ask(workspace, "write_file", path="output/a.txt", content="a\ud800b")
    assert result_of(done).error is None
    assert (workspace / "output/a.txt").read_text() == "a?b"


def test_only_what_changed_is_reported(workspace: Path):
    (workspace / "output/old.txt").write_text("old")
    code = (
        "import os; os.makedirs('output/sub'); open('output/sub/new.txt', 'w');"
        "open('output/old.txt', 'w').write('new'); open('input/x.txt', 'w')"
    )
    assert answer("python_execute", {"code": code}, workspace).files == (
        "output/old.txt",
        "output/sub/new.txt",
    )
    assert answer("read_file", {"path": "output/old.txt"}, workspace).files == ()


def test_a_folder_without_end_does_not_break_the_result(workspace: Path):
    code = (
        "import os\nos.chdir('output')\nopen('a.txt', 'w')\n"
        "for _ in range(1500): os.mkdir('d'); os.chdir('d')\n"
    )
    done = ask(workspace, "python_execute", code=code)
    # Here, and not left to the test runner, which follows no path that long.
    subprocess.run(["rm", "-rf", str(workspace / "output/d")], check=True)
    assert result_of(done).files == ("output/a.txt",)


def test_an_unforeseen_error_of_a_library_is_told_to_the_agent(workspace: Path):
    blocks = [{"type": "paragraph", "text": "a\x01b"}]
    result = answer("DocxFileGenerator", {"path": "output/a.docx", "blocks": blocks}, workspace)
    assert result.error is ToolErrorKind.REFUSED
    assert result.text.startswith("DocxFileGenerator could not do this: ValueError:")


def test_a_small_tool_loads_no_large_library(workspace: Path):
    code = (
        "import sys; from pathlib import Path; from environments.tool_runtime.worker import answer;"
        "answer('Calculator', {'expression': '1+1'}, Path('.'));"
        "heavy = {'pandas', 'numpy', 'openpyxl', 'docx', 'pptx', 'matplotlib', 'sympy',"
        " 'pdfplumber', 'reportlab', 'PIL'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_library_gives_no_result_but_a_message_for_us(workspace: Path):
    (workspace / "docx").mkdir()
    (workspace / "docx/__init__.py").write_text("raise ModuleNotFoundError('no lxml')")
    (workspace / "output/a.docx").write_text("x")
    done = ask(workspace, "ReadDOCX", path="output/a.docx")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().strip().endswith("ModuleNotFoundError: no lxml")
