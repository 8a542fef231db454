"""Servers that a pool brings as source are built in a sandbox and work in a trial's."""

import asyncio
import json

import pytest

from environments.mcp.pool import interpreters
from environments.mcp.pool.building import _reason, build
from environments.mcp.pool.installed import folder_of, missing
from environments.mcp.pool.starting import PoolEntry, database_variables
from environments.ports import Completed
from environments.sandbox.providers import sandbox_provider
from taskdata.errors import ToolUnavailable
from taskdata.schema.service import PostgresqlService
from tests.soak import at_length_only

DATABASE = PostgresqlService(name="database", database="club", user="eve", password="word")


def test_a_python_server_is_built_and_finds_workspace_database_and_task(built, in_trial, tmp_path):
    server, steps = built("ledger")
    assert steps == [
        *("locks its libraries", "reads its lock", "makes its environment"),
        "installs its libraries",
    ]
    assert missing(server, tmp_path, "bubblewrap", "club") is None
    (tmp_path / "task").mkdir()
    (tmp_path / "task/ledger.json").write_text("of the task")

    async def talk(tools, sandbox, workspace):
        told = await tools["about"].run({}, sandbox)
        entered = await tools["enter"].run({"text": "12 cents"}, sandbox)
        assert entered.error is None, entered.text
        assert (workspace.output / "entry.txt").read_text() == "12 cents"
        return json.loads(told.text)

    entry = PoolEntry(server, database_variables((DATABASE,)), tmp_path / "task")
    told = in_trial(entry, talk)
    assert told["arguments"] == ["/workspace/output", "/opt/task/ledger.json"]
    assert told["folder"] == "/opt/local_servers/ledger"
    assert told["python"] == "/opt/local_servers/ledger/.venv"
    assert told["config"] == "of the task"
    # A copy of the trial's own.
    assert told["source_can_change"]
    installed = folder_of(server, tmp_path, interpreters.own_interpreter())
    assert "12 cents" not in (installed / "local_servers/ledger/book.py").read_text()
    assert told["variables"]["LEDGER_CURRENCY"] == "cents"
    # The task's service, whatever the configuration says.
    assert told["variables"]["PG_HOST"] == told["variables"]["PGHOST"] == "127.0.0.1"
    assert told["variables"]["PG_DATABASE"] == told["variables"]["PGDATABASE"] == "club"


def test_a_server_is_built_once_and_again_when_its_source_has_changed(built, pool, tmp_path):
    first, _ = built("ledger")
    assert built("ledger") == (first, [])
    # A build that was killed leaves a folder of its own, which the next one removes.
    above = folder_of(first, tmp_path, None).parent
    (above / ".partial-killed/local_servers").mkdir(parents=True)
    built("ledger", relocks=True)
    assert not list(above.glob(".partial-*"))
    (pool / "local_servers/ledger/book.py").write_text("def enter(*_): pass\n")
    other, steps = built("ledger")
    assert steps
    assert missing(first, tmp_path, "bubblewrap", "club") is None
    assert missing(other, tmp_path, "bubblewrap", "club") is None


def test_a_build_that_fails_names_its_step_and_leaves_nothing(built, described, pool, tmp_path):
    project = pool / "local_servers/ledger/pyproject.toml"
    project.write_text(project.read_text().replace("[]", '["no-such-library"]'))
    with pytest.raises(
        ToolUnavailable,
        match=r"it locks its libraries: code 2: .*no-such-library",
    ):
        built("ledger")
    server, _ = described("ledger")
    assert "mcp install --bank club ledger`" in missing(server, tmp_path, "bubblewrap", "club")
    left = folder_of(server, tmp_path, None).parent.iterdir()
    assert [path.name for path in left] == [".lock"]


def test_the_cause_of_a_failed_build_is_what_tells_it():
    said = b"npm error code E404\nnpm error 404 Not Found - a-1.1.5.tgz\nnpm error A log is in /x\n"
    reason = _reason(Completed(1, b"", said, 1.0), b"", ["files.example:443"])
    assert reason.startswith("code 1: code E404 404 Not Found - a-1.1.5.tgz")
    assert "`--relock` takes the newest that fits" in reason
    assert "it tried to reach files.example:443 (`--allow-host HOST` allows a host)" in reason
    long = b"x " * 900 + b"the cause"
    assert _reason(Completed(2, b"", long, 1.0), b"", []).endswith("x the cause")
    assert (
        _reason(Completed(-9, b"", b"", 1.0, "disk"), b"", []) == "it was stopped at the disk limit"
    )


def test_an_interrupted_build_leaves_nothing(described, unreachable, tmp_path):
    provider = sandbox_provider("bubblewrap")
    if reason := provider.unavailable():
        pytest.skip(reason)
    server, archive = described("ledger")

    def interrupt(what: str) -> None:
        if what == "makes its environment":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(build(server, archive, tmp_path, provider, interrupt))
    left = folder_of(server, tmp_path, None).parent.iterdir()
    assert [path.name for path in left] == [".lock"]


def test_a_version_of_python_that_is_not_here_is_named(
    built, described, pool, tmp_path, monkeypatch
):
    monkeypatch.setattr(interpreters, "_candidates", lambda: ())
    project = pool / "local_servers/ledger/pyproject.toml"
    project.write_text(project.read_text().replace(">=3.11", "==2.1"))
    with pytest.raises(ToolUnavailable, match=r"it needs Python ==2\.1"):
        built("ledger")
    server, _ = described("ledger")
    assert "it needs Python ==2.1" in missing(server, tmp_path, "bubblewrap", "club")


@pytest.mark.node
def test_a_node_server_is_built_by_its_own_script(built, in_trial):
    server, steps = built("filesystem")
    assert steps == ["installs its libraries", "builds"]

    async def talk(tools, sandbox, _):
        return (await tools["list"].run({}, sandbox)).text

    assert in_trial(PoolEntry(server), talk) == "note.txt"


@pytest.mark.node
def test_links_that_a_build_leaves_show_a_trial_nothing_of_the_host(
    built, described, pool, in_trial, tmp_path
):
    (tmp_path / "host/dist").mkdir(parents=True)
    (tmp_path / "host/dist/index.js").touch()
    (tmp_path / "host/secret.txt").write_text("secret")
    build = pool / "local_servers/filesystem/build.js"
    leave = f'symlinkSync("{tmp_path}/host", "node_modules");'
    build.write_text(build.read_text().replace("cpSync }", "cpSync, symlinkSync }") + leave)
    answer = pool / "local_servers/filesystem/source/answer.js"
    looking = "readdirSync(process.argv[2])"
    answer.write_text(answer.read_text().replace(looking, 'readdirSync("/opt/local_servers")'))
    server, _ = built("filesystem")

    async def talk(tools, sandbox, workspace):
        copies = list(workspace.root.rglob("secret.txt"))
        seen = await sandbox.run(["/bin/ls", f"{tmp_path}/host"])
        return copies, seen.exit_code, (await tools["list"].run({}, sandbox)).text

    copies, code, told = in_trial(PoolEntry(server), talk)
    assert (copies, told) == ([], "filesystem")
    assert code != 0

    again = 'rmSync("../filesystem", { recursive: true }); symlinkSync("%s", "../filesystem");' % (
        tmp_path / "host"
    )
    text = build.read_text().replace(leave, again).replace("cpSync,", "cpSync, rmSync,")
    build.write_text(text)
    with pytest.raises(ToolUnavailable, match=r"did not make filesystem/dist/index\.js"):
        built("filesystem")


@pytest.mark.docker
@at_length_only
def test_servers_are_built_and_started_in_docker_too(built, in_trial, tmp_path):
    server, _ = built("ledger", sandbox="docker")
    assert missing(server, tmp_path, "docker", "club") is None

    async def talk(tools, sandbox, _):
        return json.loads((await tools["about"].run({}, sandbox)).text)["arguments"][0]

    assert in_trial(PoolEntry(server), talk, sandbox="docker") == "/workspace/output"
