"""Our catalogue as an MCP server, seen by the SDK's client and by a client of another family."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from typer.testing import CliRunner

from environments.mcp.servers import known_servers
from environments.mcp.serving import servable_tools
from environments.reaper.reap import reap
from environments.sandbox.providers import sandbox_provider
from flows.cli.app import app
from taskdata.errors import Misuse
from tests.ports import free_port

INSPECTOR = "@modelcontextprotocol/inspector@0.15.0"
"""The newest that runs on Node.js 20."""

NIGHTSHIFT = [sys.executable, "-m", "flows.cli.app"]
PROJECT = Path(__file__).parents[3]
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
INITIALIZE = (
    json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
    + b"\n"
)


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    reason = sandbox_provider("bubblewrap").unavailable()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "input").mkdir(parents=True)
    (root / "input" / "sales.csv").write_text("city,sold\nOslo,3\n")
    tmp_path.chmod(0o755)
    return root


def serve(*options: str) -> list[str]:
    return [*NIGHTSHIFT, "mcp", "serve", *options]


def ask(server: Any, *calls: tuple[str, dict[str, Any]]) -> tuple[list[str], list[Any]]:
    """Return the names of the tools, and the results of the calls."""

    async def talk() -> tuple[list[str], list[Any]]:
        async with Client(server, read_timeout_seconds=60) as client:
            listed = await client.list_tools()
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            return [tool.name for tool in listed.tools], results

    return asyncio.run(talk())


def over_stdio(*options: str) -> StdioServerParameters:
    command = serve(*options)
    return StdioServerParameters(command=command[0], args=command[1:], cwd=PROJECT)


def test_calls_over_standard_streams_run_in_the_workspace(workspace: Path):
    server = over_stdio(
        *("--tools", "ReadCSV,XlsxFileGenerator,python_execute"), *("--workspace", str(workspace))
    )
    who = "import os; print(os.getuid() != 0, os.path.exists('/workspace/input/sales.csv'))"

    names, (read, written, ran) = ask(
        server,
        ("ReadCSV", {"path": "input/sales.csv"}),
        (
            "XlsxFileGenerator",
            {"path": "output/t.xlsx", "sheets": [{"name": "A", "rows": [["x", 1]]}]},
        ),
        ("python_execute", {"code": who}),
    )

    assert names == ["ReadCSV", "XlsxFileGenerator", "python_execute"]
    assert "Oslo" in read.content[0].text
    assert not written.is_error, written.content
    assert written.content[1].text == "Files written: output/t.xlsx"
    assert written.structured_content["files"] == ["output/t.xlsx"]
    assert (workspace / "output" / "t.xlsx").is_file()
    assert "True True" in ran.content[0].text


def test_errors_are_tool_errors_with_our_text():
    _, (zero, missing, unknown) = ask(
        over_stdio("--tools", "Calculator"),
        ("Calculator", {"expression": "1/0"}),
        ("Calculator", {}),
        ("Solver", {}),
    )

    assert (zero.is_error, zero.content[0].text) == (True, "Division by zero.")
    assert missing.is_error
    assert "- expression: is missing" in missing.content[0].text
    assert unknown.content[0].text == "There is no tool 'Solver'. Tools: Calculator."


@pytest.fixture(scope="module")
def http_url() -> Iterator[str]:
    port = free_port()
    options = ("--transport", "http", "--port", str(port))
    server = subprocess.Popen(
        serve("--tools", "Calculator", *options), cwd=PROJECT, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    said = server.stderr.readline()
    try:
        assert said == f"Serving 1 tools at http://127.0.0.1:{port}/mcp\n", said
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=30)
        server.stderr.close()


def test_calls_over_http(http_url: str):
    calls = [("Calculator", {"expression": f"{i} + 1"}) for i in range(3)]

    names, results = ask(http_url, *calls)

    assert names == ["Calculator"]
    assert [result.content[0].text for result in results] == ["1", "2", "3"]


def test_a_web_page_of_another_host_is_refused(http_url: str):
    import httpx2

    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"Accept": "application/json, text/event-stream", "Host": "evil.example"}

    assert httpx2.post(http_url, json=body, headers=headers).status_code == 421
    headers = {"Accept": headers["Accept"], "Origin": "http://evil.example"}
    assert httpx2.post(http_url, json=body, headers=headers).status_code == 403


def started(temporary: Path) -> subprocess.Popen[bytes]:
    """Return a server on standard streams that has answered its client's first request."""
    server = subprocess.Popen(
        serve("--tools", "Calculator"),
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(INITIALIZE)
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "nightshift"
    assert workspaces(temporary)
    return server


def workspaces(temporary: Path) -> list[Path]:
    return list(temporary.glob("nightshift-*/*/*/workspace-*"))


def test_a_server_whose_client_leaves_ends_and_leaves_nothing(tmp_path: Path):
    server = started(tmp_path)

    out, _ = server.communicate(timeout=30)

    assert (server.returncode, out) == (0, b"")
    assert workspaces(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_server_whose_client_stays(tmp_path: Path, number: int):
    server = started(tmp_path)

    began = time.monotonic()
    server.send_signal(number)
    code = server.wait(timeout=30)

    assert (code, time.monotonic() - began < 20) == (130, True)
    assert workspaces(tmp_path) == []
    server.communicate()


def test_what_a_killed_server_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server = started(tmp_path)
    server.kill()
    server.communicate()
    assert workspaces(tmp_path)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    assert reap().folders == 1
    assert workspaces(tmp_path) == []


def test_requests_are_read_from_a_file_too(tmp_path: Path):
    requests = tmp_path / "requests.jsonl"
    requests.write_bytes(INITIALIZE)

    with requests.open("rb") as given:
        done = subprocess.run(
            serve("--tools", "Calculator"), cwd=PROJECT, stdin=given, capture_output=True
        )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "nightshift"


def test_only_what_works_inside_a_sandbox_is_served():
    assert "finish" not in servable_tools([])
    assert len(servable_tools([])) >= 18
    with pytest.raises(Misuse, match=r"'finish', 'Nope': no such tool to serve; there are Calc"):
        servable_tools(["Calculator", "finish", "Nope"])


def test_a_port_in_use_is_misuse(http_url: str):
    port = http_url.split(":")[2].split("/", maxsplit=1)[0]

    done = subprocess.run(
        serve("--tools", "Calculator", "--transport", "http", "--port", port),
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


def test_the_state_of_servers_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NIGHTSHIFT_HOME", str(tmp_path))

    result = CliRunner().invoke(app, ["mcp", "list", "--json"])

    rows = {row["name"]: row for row in json.loads(result.stdout)["servers"]}
    assert rows.keys() == known_servers(tmp_path).keys()
    assert rows["time"]["server"].startswith("mcp-server-time ")
    assert rows["time"]["state"].endswith("is not installed: run `nightshift mcp install time`")


@pytest.fixture(scope="module")
def inspector(cache: Path) -> list[str]:
    """The official Inspector, installed once per machine."""
    if shutil.which("npm") is None:
        pytest.skip("no Node.js: install Debian's `nodejs` and `npm`")
    folder = cache / "inspector-0.15.0"
    script = folder / "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js"
    if not script.is_file():
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
        subprocess.run(["npm", "install", *options, INSPECTOR], check=True, capture_output=True)
    return ["node", str(script), "--cli"]


@pytest.mark.node
def test_the_official_inspector_lists_and_calls_our_tools(inspector: list[str]):
    ours = serve("--tools", "Calculator,ReadCSV")

    def inspect(*options: str) -> Any:
        done = subprocess.run(
            [*inspector, *ours, *options], capture_output=True, text=True, cwd=PROJECT, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    tools = inspect("--method", "tools/list")["tools"]
    failed = inspect(
        *("--method", "tools/call", "--tool-name", "Calculator", "--tool-arg", "expression=1/0")
    )

    assert [tool["name"] for tool in tools] == ["Calculator", "ReadCSV"]
    assert (failed["isError"], failed["content"][0]["text"]) == (True, "Division by zero.")


@pytest.mark.node
def test_the_official_inspector_calls_over_http(inspector: list[str], http_url: str):
    options = ["--transport", "http", "--method", "tools/call", "--tool-name", "Calculator"]

    done = subprocess.run(
        [*inspector, http_url, *options, "--tool-arg", "expression=6*7"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["content"][0]["text"] == "42"
