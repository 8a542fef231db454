"""A pool with two servers as source, which build without a network."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from environments.mcp.client.trial import tools_of_servers
from environments.mcp.pool.building import build
from environments.mcp.pool.starting import PoolEntry
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.formats.toolathlon.pool import found_pool
from taskdata.formats.toolathlon.pool_servers import PoolServers
from taskdata.schema.pool_server import PoolServer
from taskdata.schema.task import Resources

TESTS = Path(__file__).parents[3]
LEDGER = {
    "command": "uv",
    "args": [
        *("--directory", "${local_servers_paths}/ledger", "run", "python", "server.py"),
        *("${agent_workspace}", "${task_dir}/ledger.json"),
    ],
    "env": {"PG_HOST": "postgres", "PG_DATABASE": "toolathlon", "LEDGER_CURRENCY": "cents"},
}


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """A copy of the small pool that has the source of two of its servers."""
    root = Path(shutil.copytree(TESTS / "pool", tmp_path / "pool"))
    shutil.copytree(TESTS / "pool_servers", root / "local_servers")
    text = yaml.safe_dump({"name": "ledger", "params": LEDGER})
    (root / "configs/mcp_servers/ledger.yaml").write_text(text)
    return root


@pytest.fixture
def described(pool: Path, tmp_path: Path):
    """Return a server of the pool as its tasks carry it, and its source."""

    def read(name: str) -> tuple[PoolServer, bytes]:
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        servers = PoolServers(found_pool(pool), scratch)
        server = servers.named(name)
        assert server is not None
        assert not server.refused, server.refused
        return server, servers.archive(server).read_bytes()

    return read


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configure registries that nobody serves."""
    for name in ("UV_DEFAULT_INDEX", "NPM_CONFIG_REGISTRY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")


@pytest.fixture
def built(described, unreachable, tmp_path: Path):
    """Build a server of the pool; returns it, and what was done."""

    def make(
        name: str, relocks: bool = False, sandbox: str = "bubblewrap"
    ) -> tuple[PoolServer, list[str]]:
        provider = sandbox_provider(sandbox)
        if reason := provider.unavailable():
            pytest.skip(reason)
        server, archive = described(name)
        steps: list[str] = []
        building = build(server, archive, tmp_path, provider, steps.append, relocks=relocks)
        asyncio.run(building)
        return server, steps

    return make


@pytest.fixture
def in_trial(tmp_path: Path):
    """Run a coroutine function over the tools of a pool's server in a sandbox."""

    def run(entry: PoolEntry, talking: Callable[..., Any], sandbox: str = "bubblewrap") -> Any:
        provider = sandbox_provider(sandbox)

        async def inside() -> Any:
            resources = Resources()
            with new_workspace(tmp_path / "trials", {}, {"note.txt": b"hello"}) as workspace:
                async with (
                    provider.open(workspace, resources, "test") as opened,
                    tools_of_servers(
                        [entry.name], opened, workspace, resources, tmp_path, pool=[entry]
                    ) as tools,
                ):
                    by_name = {tool.spec.name: tool for tool in tools}
                    return await talking(by_name, opened, workspace)

        return asyncio.run(inside())

    return run
