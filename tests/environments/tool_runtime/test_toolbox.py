"""The toolbox over a real sandbox."""

import asyncio

import pytest

from environments.tool_runtime.toolbox import Toolbox
from taskdata.errors import BadTaskData
from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolErrorKind, ToolResult
from taskdata.schema.transcript import ToolCall


class NoSandbox:
    """A sandbox that must not be used."""


def call_without_sandbox(names: list[str], call: ToolCall) -> ToolResult:
    return asyncio.run(Toolbox(names, NoSandbox()).call(call))  # type: ignore[arg-type]


def test_a_task_with_a_tool_that_does_not_exist_is_bad():
    with pytest.raises(BadTaskData, match="'Abacus' not in the catalogue; it has Calculator"):
        Toolbox(["Calculator", "Abacus"], NoSandbox())  # type: ignore[arg-type]


def test_some_tools_are_always_there_and_none_twice():
    box = Toolbox(["finish", "Plot", "Plot"], NoSandbox())  # type: ignore[arg-type]
    assert [spec.name for spec in box.specs] == ["finish", "Plot", "list_files", "read_file"]


def test_an_unknown_tool_is_answered_with_those_that_exist():
    result = call_without_sandbox(["Calculator"], ToolCall(id="1", tool="calc", arguments={}))
    assert result.error is ToolErrorKind.UNKNOWN_TOOL
    assert result.text == (
        "There is no tool 'calc'. Tools: Calculator, list_files, read_file, finish."
    )


def test_a_misspelt_tool_is_answered_with_the_one_that_is_meant():
    result = call_without_sandbox(["ReadCSV"], ToolCall(id="1", tool="readCSV", arguments={}))
    assert result.error is ToolErrorKind.UNKNOWN_TOOL
    assert "Did you mean ReadCSV? Call it by exactly this name." in result.text


def test_arguments_that_were_no_json_object_are_shown():
    call = ToolCall(id="1", tool="Calculator", arguments=None, raw="{expression: 1")
    result = call_without_sandbox(["Calculator"], call)
    assert result.error is ToolErrorKind.BAD_ARGUMENTS
    assert "{expression: 1" in result.text
    assert "Calculator takes expression: text." in result.text


def test_finish_needs_no_sandbox():
    call = ToolCall(id="1", tool="finish", arguments={"answer": 42})
    assert call_without_sandbox([], call) == ToolResult(text="42")
    wrong = ToolCall(id="1", tool="finish", arguments={"text": "x"})
    assert call_without_sandbox([], wrong).error is ToolErrorKind.BAD_ARGUMENTS


def test_claiming_to_be_done_needs_no_answer():
    call = ToolCall(id="1", tool="claim_done", arguments={})
    assert call_without_sandbox(["claim_done"], call) == ToolResult(text="")


def test_work_of_several_calls_builds_up_in_the_workspace(in_sandbox):
    code = "import pandas as pd; t = pd.read_csv('input/s.csv'); print(t.v.sum())"
    sheet = {"name": "Sum", "columns": ["v"], "rows": [[3]]}
    results = in_sandbox(
        ("ReadCSV", {"path": "input/s.csv"}),
        ("python_execute", {"code": code}),
        ("Calculator", {"expression": "1 + 2"}),
        ("XlsxFileGenerator", {"path": "output/s.xlsx", "sheets": [sheet]}),
        ("ReadXLSX", {"path": "output/s.xlsx"}),
        ("list_files", {}),
        files={"s.csv": b"k,v\na,1\nb,2\n"},
    )
    assert [r.error for r in results] == [None] * 6, results
    assert "2 data rows, 2 columns" in results[0].text
    assert [results[1].text, results[2].text] == ["3", "3"]
    assert results[3].files == ("output/s.xlsx",)
    assert "2 | 3" in results[4].text
    assert "input/s.csv (12 bytes)" in results[5].text
    assert all(r.seconds > 0 for r in results)


def test_every_library_that_python_execute_promises_is_there(in_sandbox):
    code = (
        "import pandas, numpy, scipy, sympy, matplotlib.pyplot, PIL, openpyxl, docx, pptx, pypdf,"
        " pdfplumber, reportlab, soundfile; print('all')"
    )
    (result,) = in_sandbox(("python_execute", {"code": code}))
    assert result.text == "all"


def test_documents_are_made_and_read_inside(in_sandbox):
    blocks = [{"type": "heading", "text": "Überschrift"}, {"type": "paragraph", "text": "€ 5"}]
    slides = [{"title": "Start", "bullets": ["one"]}]
    series = [{"name": "s", "values": [1, 2]}]
    results = in_sandbox(
        ("Plot", {"path": "output/p.png", "kind": "line", "x": [1, 2], "series": series}),
        ("DocxFileGenerator", {"path": "output/d.docx", "blocks": blocks}),
        ("PdfFileGenerator", {"path": "output/d.pdf", "blocks": blocks}),
        ("PptxFileGenerator", {"path": "output/d.pptx", "slides": slides}),
        ("HtmlFileGenerator", {"path": "output/d.html", "title": "T", "body": "<p>x</p>"}),
        ("ReadDOCX", {"path": "output/d.docx"}),
        ("ReadPDF", {"path": "output/d.pdf"}),
        ("ReadPPTX", {"path": "output/d.pptx"}),
        ("Solver", {"equations": ["2x = 6"], "unknowns": ["x"]}),
    )
    assert [r.error for r in results] == [None] * 9, results
    assert all("Überschrift" in r.text and "€ 5" in r.text for r in results[5:7])
    assert "Start" in results[7].text
    assert results[8].text == "x = 3"


def test_input_is_read_only_and_the_refusal_says_where_to_write(in_sandbox):
    results = in_sandbox(
        ("write_file", {"path": "input/s.csv", "content": "x"}),
        ("python_execute", {"code": "open('input/s.csv', 'w')"}),
        files={"s.csv": b"kept"},
    )
    assert [r.error for r in results] == [ToolErrorKind.REFUSED] * 2
    assert "below output/" in results[0].text


def test_a_module_of_the_agent_does_not_replace_ours(in_sandbox):
    code = "open('output/json.py', 'w').write('raise SystemExit(9)')"
    results = in_sandbox(
        ("python_execute", {"code": code}), ("Calculator", {"expression": "6 * 7"})
    )
    assert results[1].text == "42"


def test_the_code_cannot_open_the_files_of_the_worker(in_sandbox):
    code = "import os; print(os.listdir(f'/proc/{os.getppid()}/fd'))"
    (result,) = in_sandbox(("python_execute", {"code": code}))
    assert result.error is ToolErrorKind.REFUSED
    assert "PermissionError" in result.text


def test_killing_the_worker_is_a_failed_call_not_a_failed_trial(in_sandbox):
    code = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    results = in_sandbox(("python_execute", {"code": code}), ("Calculator", {"expression": "1"}))
    assert results[0].error is ToolErrorKind.LIMIT
    assert results[1].text == "1"


@pytest.mark.parametrize(
    ("code", "resources"),
    [
        ("while True: pass", Resources(wall_seconds=1)),
        ("x = [bytes(1 << 24) for _ in range(1000)]", Resources(memory_mb=400)),
        ("open('output/big', 'wb').write(bytes(1 << 24))", Resources(disk_mb=4)),
        ("while True: pass", Resources(cpu_seconds=1, wall_seconds=30)),
    ],
)
def test_limits_come_back_as_observations(in_sandbox, code: str, resources: Resources):
    (result,) = in_sandbox(("python_execute", {"code": code}), resources=resources)
    assert result.error is ToolErrorKind.LIMIT, result.text
