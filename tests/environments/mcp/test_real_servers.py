"""Servers that nobody here wrote, installed once per machine: each does real work in a trial."""

import asyncio
import json
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import openpyxl
import pytest
from docx import Document
from pptx import Presentation

from environments.mcp.client.trial import tools_of_servers
from environments.mcp.health import server_states
from environments.network.allowed import allowed_network
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources
from tests.soak import at_length_only

node = pytest.mark.node


def test_time(in_trial, installed, any_provider: str):
    async def talking(trial):
        return await trial.call(
            "convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"
        ), await trial.call("convert_time", source_timezone="UTC", time="noon", target_timezone="X")

    converted, wrong = in_trial(["time"], installed("time"), talking, any_provider)

    assert "T21:00:00+09:00" in json.loads(converted.text)["target"]["datetime"]
    assert wrong.error is not None


def test_git(in_trial, installed, tmp_path: Path):
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "notes.txt").write_text("first")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "The first note"], check=True)
    files = {
        f"repository/{path.relative_to(repository)}": path.read_bytes()
        for path in repository.rglob("*")
        if path.is_file() and "hooks" not in path.parts
    }

    async def talking(trial):
        # Git trusts only what its user owns.
        copy = "cp -r input/repository output/ && cd output/repository && git status --short"
        await trial.sandbox.run(["/bin/sh", "-c", copy])
        place = "/workspace/output/repository"
        return await trial.call("git_log", repo_path=place, max_count=5)

    log = in_trial(["git"], installed("git"), talking, files=files)

    assert log.error is None, log.text
    assert "The first note" in log.text


def test_excel(in_trial, installed):
    async def talking(trial):
        made = await trial.call("create_workbook", path="output/sales.xlsx", sheets=["Sales"])
        await trial.call(
            "write_range",
            path="output/sales.xlsx",
            sheet="Sales",
            at="A1",
            rows=[["city", "sold"], ["Oslo", 3]],
        )
        book = openpyxl.load_workbook(trial.workspace.output / "sales.xlsx")
        return made, [[cell.value for cell in row] for row in book["Sales"]]

    made, cells = in_trial(["excel"], installed("excel"), talking)

    assert made.error is None, made.text
    assert made.files == ("output/sales.xlsx",)
    assert cells == [["city", "sold"], ["Oslo", 3]]


def test_word(in_trial, installed, any_provider: str):
    async def talking(trial):
        made = await trial.call("create_document", filename="output/letter.docx", title="Letter")
        await trial.call("add_paragraph", filename="output/letter.docx", text="Dear Oslo,")
        document = Document(str(trial.workspace.output / "letter.docx"))
        return made, [paragraph.text for paragraph in document.paragraphs]

    made, texts = in_trial(["word"], installed("word"), talking, any_provider)

    assert made.files == ("output/letter.docx",), made.text
    assert "Dear Oslo," in texts


def test_powerpoint(in_trial, installed):
    async def talking(trial):
        created = await trial.call("create_presentation")
        which = json.loads(created.text)["presentation_id"]
        await trial.call("add_slide", presentation_id=which, layout_index=0, title="Trams of Oslo")
        saved = await trial.call(
            "save_presentation", presentation_id=which, file_path="output/trams.pptx"
        )
        slides = Presentation(str(trial.workspace.output / "trams.pptx")).slides
        return saved, [shape.text_frame.text for shape in slides[0].shapes]

    saved, texts = in_trial(["powerpoint"], installed("powerpoint"), talking)

    assert saved.files == ("output/trams.pptx",), saved.text
    assert "Trams of Oslo" in texts


@node
def test_filesystem(in_trial, installed, any_provider: str):
    async def talking(trial):
        read = await trial.call("filesystem_read_file", path="/workspace/input/note.txt")
        wrote = await trial.call("filesystem_write_file", path="output/a.txt", content="mine")
        denied = await trial.call("filesystem_write_file", path="input/a.txt", content="mine")
        outside = await trial.call("filesystem_read_file", path="/etc/passwd")
        return read, wrote, denied, outside

    ours = ("list_files", "read_file", "write_file")
    read, wrote, denied, outside = in_trial(
        ["filesystem"],
        installed("filesystem"),
        talking,
        any_provider,
        files={"note.txt": b"hello"},
        taken=ours,
    )

    assert read.text == "hello"
    assert wrote.files == ("output/a.txt",)
    assert denied.error is not None
    assert outside.error is not None


@node
def test_memory(in_trial, installed):
    async def talking(trial):
        oslo = {"name": "Oslo", "entityType": "city", "observations": ["has trams"]}
        await trial.call("create_entities", entities=[oslo])
        return await trial.call("search_nodes", query="trams"), await trial.call(
            "create_entities", entities="Oslo"
        )

    found, wrong = in_trial(["memory"], installed("memory"), talking)

    assert json.loads(found.text)["entities"][0]["name"] == "Oslo"
    assert "- entities: 'Oslo' is not of type 'array'" in wrong.text


class Page(BaseHTTPRequestHandler):
    """Serves one page about trams."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html><body><h1>Trams</h1><p>Line 12 runs all night.</p></body></html>")


@pytest.mark.soak
@at_length_only
def test_fetch_reads_pages_of_the_hosts_that_a_task_lists(installed, tmp_path: Path):
    home = installed("fetch")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # By name, since programs reach loopback addresses without the proxy.
    page = f"{socket.gethostname()}:{port}"
    resources = Resources(network=(page, f"127.0.0.1:{port}"))

    async def fetched() -> tuple[str, str]:
        with new_workspace(tmp_path / "trials", {}) as workspace:
            async with (
                allowed_network(resources.network) as network,
                sandbox_provider("bubblewrap").open(
                    workspace, resources, "test", network.exposed_ports
                ) as sandbox,
                tools_of_servers(["fetch"], sandbox, workspace, resources, home) as (fetch,),
            ):
                read = await fetch.run({"url": f"http://{page}/"}, sandbox)
                other = await fetch.run({"url": "http://example.org/"}, sandbox)
                return read.text, other.text

    try:
        read, other = asyncio.run(fetched())
    finally:
        server.shutdown()

    assert "Line 12 runs all night." in read
    assert "403" in other


def test_two_servers_beside_each_other(in_trial, installed):
    installed("git")

    async def talking(trial):
        return sorted(trial.tools)

    names = in_trial(["time", "git"], installed("time"), talking)

    assert {"get_current_time", "git_status"} <= set(names)


@pytest.mark.parametrize("name", ["git", pytest.param("memory", marks=node)])
def test_an_installed_server_is_ready(installed, name: str):
    assert server_states(installed(name))[name] == "ready"
