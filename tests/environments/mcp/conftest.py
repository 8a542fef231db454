"""Servers for the MCP tests: one that misbehaves on request, and real ones installed once."""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from environments.mcp.client.trial import tools_of_servers
from environments.mcp.install import folder_of, install
from environments.mcp.servers import server
from environments.ports import Sandbox, Tool, Workspace
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.errors import ToolUnavailable
from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolResult

Call = tuple[str, dict[str, Any]]

SCRIPTED: Mapping[str, Any] = {
    "about": "Misbehaves on request.",
    "registry": "pypi",
    "package": "scripted-server",
    "version": "1",
    "module": "scripted_server",
    "check": {"tool": "echo", "arguments": {"text": "hello"}},
}


class Trial:
    """The tools of some servers over a sandbox, as a harness would have them."""

    def __init__(self, tools: tuple[Tool, ...], sandbox: Sandbox, workspace: Workspace) -> None:
        self.tools = {tool.spec.name: tool for tool in tools}
        self.sandbox = sandbox
        self.workspace = workspace

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        return await self.tools[name].run(arguments, self.sandbox)


@pytest.fixture(scope="session")
def cache() -> Path:
    """Where real servers are installed, once per machine."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "nightshift-tests"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose catalogue has the scripted server twice, as if it had been installed."""
    home = tmp_path / "home"
    entries = {"scripted": SCRIPTED, "second": SCRIPTED}
    (home / "mcp").mkdir(parents=True)
    (home / "mcp" / "servers.yaml").write_text(yaml.safe_dump(entries))
    for name in entries:
        pretend_installed(name, home)
    return home


def pretend_installed(name: str, home: Path) -> None:
    """Put the scripted server where an installation would be."""
    from environments.mcp import install as module

    entry = server(name, home)
    folder = folder_of(entry, home)
    folder.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("scripted_server.py"), folder)
    (folder / "installed.json").write_text(module._stamp(entry))
    for path in (home, *home.rglob("*")):
        path.chmod(0o755)


@pytest.fixture
def installed(cache: Path) -> Callable[[str], Path]:
    """Install a server of the catalogue unless it is; returns the home it is in."""

    def make(name: str) -> Path:
        entry = server(name, cache)
        if entry.registry == "npm" and shutil.which("npm") is None:
            pytest.skip("no Node.js: install Debian's `nodejs` and `npm`")
        try:
            install(entry, cache)
        except ToolUnavailable as exc:
            pytest.skip(str(exc))
        return cache

    return make


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def any_provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def in_trial(tmp_path: Path):
    """Run a coroutine function over the tools of servers in a sandbox of their own."""

    def run(
        names: list[str],
        home: Path,
        talking: Callable[[Trial], Any],
        provider: str = "bubblewrap",
        files: Mapping[str, bytes] | None = None,
        taken: tuple[str, ...] = (),
        **limits: object,
    ) -> Any:
        chosen = sandbox_provider(provider)
        reason = chosen.unavailable()
        if reason:
            pytest.skip(reason)
        resources = Resources.model_validate(limits)

        async def inside() -> Any:
            with new_workspace(tmp_path / "trials", files or {}) as workspace:
                async with (
                    chosen.open(workspace, resources, "test") as sandbox,
                    tools_of_servers(names, sandbox, workspace, resources, home, taken) as tools,
                ):
                    return await talking(Trial(tools, sandbox, workspace))

        return asyncio.run(inside())

    return run
