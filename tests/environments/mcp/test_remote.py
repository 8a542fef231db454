"""A server at a URL: reached from outside the sandbox, and believed no more than one inside."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from environments.mcp.client.trial import tools_of_servers
from environments.mcp.health import server_states
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.errors import ToolUnavailable
from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolErrorKind, ToolResult
from tests.ports import free_port

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def remote_server() -> Server:
    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        names = ("say", "flood", "hang")
        return ListToolsResult(tools=[Tool(name=name, input_schema=SCHEMA) for name in names])

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        if params.name == "hang":
            await asyncio.sleep(60)
        text = "x" * (20 << 20) if params.name == "flood" else f"you said {params.arguments}"
        return CallToolResult(content=[TextContent(text=text)])

    return Server("remote", on_list_tools=list_tools, on_call_tool=call_tool)


@asynccontextmanager
async def served(application: Any, port: int) -> AsyncIterator[uvicorn.Server]:
    server = uvicorn.Server(
        uvicorn.Config(application, port=port, log_config=None, timeout_graceful_shutdown=1)
    )
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server
    finally:
        server.should_exit = True
        await running


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def home(tmp_path: Path, port: int) -> Path:
    entry = {
        "about": "Far away.",
        "registry": "url",
        "url": f"http://127.0.0.1:{port}/mcp",
        "check": {"tool": "say"},
    }
    secret = {**entry, "token_variable": "FAR_AWAY_TOKEN"}
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "servers.yaml").write_text(yaml.safe_dump({"far": entry, "key": secret}))
    return tmp_path


@pytest.fixture
def call(home: Path, tmp_path: Path):
    """Call tools of the remote server from a trial."""

    async def run(*calls: tuple[str, dict[str, Any]], **limits: object) -> list[ToolResult]:
        resources = Resources.model_validate(limits)
        with new_workspace(tmp_path / "trials", {}) as workspace:
            async with (
                sandbox_provider("bubblewrap").open(workspace, resources) as sandbox,
                tools_of_servers(["far"], sandbox, workspace, resources, home) as tools,
            ):
                named = {tool.spec.name: tool for tool in tools}
                return [await named[name].run(given, sandbox) for name, given in calls]

    return run


def test_calls_reach_a_url(call, port: int):
    async def run() -> list[ToolResult]:
        async with served(remote_server().streamable_http_app(), port):
            return await call(("say", {"text": "hello"}), ("say", {"text": 1}))

    said, wrong = asyncio.run(run())

    assert (said.text, said.error) == ("you said {'text': 'hello'}", None)
    assert wrong.error is ToolErrorKind.BAD_ARGUMENTS


def test_a_flood_is_cut_off(call, port: int):
    async def run() -> list[ToolResult]:
        async with served(remote_server().streamable_http_app(), port):
            return await call(("flood", {}), ("say", {"text": "after"}))

    flooded, after = asyncio.run(run())

    assert flooded.error is not None
    assert len(flooded.text) < 1_000
    assert after.error is None


def test_a_hanging_call_ends_in_time(call, port: int):
    async def run() -> list[ToolResult]:
        async with served(remote_server().streamable_http_app(), port):
            return await call(("hang", {}), ("say", {"text": "after"}), wall_seconds=1)

    hung, after = asyncio.run(run())

    assert hung.error is ToolErrorKind.LIMIT
    assert after.text == "you said {'text': 'after'}"


def test_a_server_out_of_reach_is_not_the_agents_fault(call):
    with pytest.raises(ToolUnavailable, match="MCP server 'far' did not start"):
        asyncio.run(call(("say", {})))


@pytest.mark.parametrize(
    "answer",
    [
        Response("nope", 500),
        Response("<html>", 200, media_type="text/html"),
        Response("[1", 200, media_type="application/json"),
        Response("", 302, headers={"Location": "http://169.254.169.254/"}),
        Response(b"\x1f\x8b", 200, headers={"Content-Encoding": "gzip"}),
    ],
    ids=["500", "html", "json", "redirect", "gzip"],
)
def test_what_is_no_server_is_named(call, port: int, answer: Response):
    async def reply(request: Request) -> Response:
        return answer

    async def run() -> None:
        app = Starlette(routes=[Route("/mcp", reply, methods=["GET", "POST", "DELETE"])])
        async with served(app, port):
            await call(("say", {}))

    with pytest.raises(ToolUnavailable, match="MCP server 'far' did not start"):
        asyncio.run(run())


def test_a_token_is_asked_for_by_name(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("FAR_AWAY_TOKEN", raising=False)

    state = server_states(home)["key"]

    assert state == "MCP server 'key' needs a token in the environment: set FAR_AWAY_TOKEN"


def test_the_token_is_sent(home: Path, port: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAR_AWAY_TOKEN", "open-sesame")
    seen = []
    inner = remote_server().streamable_http_app()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(dict(scope["headers"])[b"authorization"])
        await inner(scope, receive, send)

    async def run() -> str:
        async with served(watched, port):
            return (await asyncio.to_thread(server_states, home))["key"]

    assert asyncio.run(run()) == "ready"
    assert set(seen) == {b"Bearer open-sesame"}
