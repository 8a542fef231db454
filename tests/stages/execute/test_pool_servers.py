"""A trial starts the servers that the task's pool brings, with the files that they may see."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
import yaml

from environments.mcp.pool.building import build
from environments.mcp.pool.starting import pool_servers
from environments.ports import Workspace
from environments.sandbox.providers import sandbox_provider
from stages.execute import work
from stages.execute.pool_servers import started_from_pool
from stages.prepare import work as preparing
from stages.release.importing import import_bank
from taskdata.banks.found import find_bank
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.task import Task

TESTS = Path(__file__).parents[2]
LEDGER = {
    "command": "uv",
    "args": [
        *("--directory", "${local_servers_paths}/ledger", "run", "python", "server.py"),
        *("${agent_workspace}", "${task_dir}/config/ledger.json"),
    ],
}


@pytest.fixture
def minutes(store, tmp_path) -> Task:
    """A task of the small pool that has the ledger alone as its server, and a file for it."""
    root = Path(shutil.copytree(TESTS / "pool", tmp_path / "pool"))
    shutil.copytree(TESTS / "pool_servers/ledger", root / "local_servers/ledger")
    text = yaml.safe_dump({"name": "ledger", "params": LEDGER})
    (root / "configs/mcp_servers/ledger.yaml").write_text(text)
    task = root / "tasks/club/minutes"
    config = {"needed_mcp_servers": ["ledger"], "needed_local_tools": ["claim_done"]}
    (task / "task_config.json").write_text(json.dumps(config))
    (task / "config").mkdir()
    (task / "config/ledger.json").write_text("of the task")
    import_bank(store, "club", "toolathlon", root)
    (found,) = find_bank(store, "club").tasks(["toolathlon-minutes"])
    return found


def test_a_server_sees_those_files_of_the_task_that_its_configuration_names(
    minutes, store, tmp_path
):
    workspace = Workspace(tmp_path / "workspace")
    workspace.root.mkdir()
    (entry,) = started_from_pool(minutes, workspace, store.artifacts, "club")
    assert entry.name == "ledger"
    shown = [p.relative_to(entry.task_folder) for p in entry.task_folder.rglob("*") if p.is_file()]
    assert shown == [Path("config/ledger.json")]
    assert (entry.task_folder / shown[0]).read_text() == "of the task"


def test_an_agent_calls_a_server_that_the_pool_brings(
    minutes, store, new_run, wire, tmp_path, monkeypatch
):
    provider = sandbox_provider("bubblewrap")
    if reason := provider.unavailable():
        pytest.skip(reason)
    for name in ("UV_DEFAULT_INDEX", "NPM_CONFIG_REGISTRY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/simple")
    home = tmp_path / "home"
    (server,) = pool_servers(minutes)
    archive = store.artifacts.read_bytes(server.source.sha256)
    asyncio.run(build(server, archive, home, provider, lambda _: None))
    wire.then(
        wire.says("", ("about", "{}"), ("enter", json.dumps({"text": "12 cents"}))),
        wire.says("", ("claim_done", "{}")),
    )
    agent = AgentSpec.parse("function_calling:compatible/m", base_url=wire.openai_url)
    run = new_run(minutes, agents=(agent,), refinement_rounds=0)
    preparing.do(store, run.id, home)
    work.do(store, run.id, 0, home)

    (result,) = store.results(run.id)
    assert result.outcome.status is OutcomeStatus.FINISHED, result.outcome.error_detail
    assert [file.name for file in result.outcome.deliverables] == ["entry.txt"]
    told = next(m for m in wire.seen[1].body["messages"] if m["role"] == "tool")
    assert json.loads(told["content"])["config"] == "of the task"
