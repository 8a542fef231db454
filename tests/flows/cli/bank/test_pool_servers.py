"""The servers that a pool brings are built by the import or later; doctor names the others."""

import json
import shutil
from pathlib import Path

import pytest
import typer

from environments.sandbox.providers import sandbox_provider
from flows.cli.bank.banks import import_, show
from flows.cli.doctor import doctor
from flows.cli.mcp import install
from taskdata.errors import Misuse

TESTS = Path(__file__).parents[3]


@pytest.fixture
def pool(home, tmp_path, monkeypatch):
    """A copy of the small pool with the source of one of its servers."""
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    for name in ("UV_DEFAULT_INDEX", "NPM_CONFIG_REGISTRY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    root = Path(shutil.copytree(TESTS / "pool", tmp_path / "pool"))
    shutil.copytree(TESTS / "pool_servers/ledger", root / "local_servers/ledger")
    configuration = root / "configs/mcp_servers/ledger.yaml"
    text = configuration.read_text().replace('- "ledger"', '- "python"\n    - "server.py"')
    configuration.write_text(text)
    return root


@pytest.fixture
def taken(pool, capsys):
    """Import the pool as the bank `club`; returns what was said."""

    def run(**options: bool) -> str:
        import_("toolathlon", pool, bank="club", category=None, licence="CC0-1.0", **options)
        return capsys.readouterr().out

    return run


@pytest.fixture
def lacking(capsys):
    """Return what doctor says that the task with the ledger lacks, by kind and name."""

    def look() -> dict[tuple[str, str], str]:
        doctor(bank="club", as_json=True)
        tasks = json.loads(capsys.readouterr().out)["bank"]["tasks"]
        (task,) = (entry for entry in tasks if entry["task"] == "toolathlon-member-fees")
        return {(need["kind"], need["name"]): need["state"] for need in task["missing"]}

    return look


def test_a_server_that_was_left_for_later_is_missing_with_the_command_that_builds_it(
    taken, lacking, capsys
):
    assert "ledger:" not in taken(install=False)
    command = "nightshift mcp install --bank club ledger"
    assert f"run `{command}`" in lacking()["server", "ledger"]
    show("toolathlon-member-fees", bank="club")
    assert f"server ledger: MCP server 'ledger' of the pool is not installed: run `{command}`" in (
        capsys.readouterr().out
    )

    install(["ledger"], bank="club")

    assert "ledger: built in " in capsys.readouterr().out
    assert ("server", "ledger") not in lacking()
    assert "ledger: is there already" in taken()


def test_a_server_that_cannot_be_built_costs_neither_the_bank_nor_its_other_servers(
    taken, pool, capsys
):
    project = pool / "local_servers/ledger/pyproject.toml"
    project.write_text(project.read_text().replace("[]", '["no-such-library"]'))
    said = taken()
    assert "Bank club@1: 6 tasks imported" in said
    assert "MCP server 'ledger' of the pool cannot be built: it locks its libraries" in said
    assert "To try the others again, run: nightshift mcp install --bank club" in said
    with pytest.raises(typer.Exit) as ended:
        install(["ledger"], bank="club")
    assert ended.value.exit_code == 1


def test_a_server_that_the_pool_does_not_bring_is_named_with_those_that_it_does(taken):
    taken(install=False)
    with pytest.raises(Misuse, match="brings no MCP server 'excel'; it has: ledger"):
        install(["excel"], bank="club")


def test_a_pool_without_its_dump_names_the_servers_that_need_it(taken, pool, lacking):
    (pool / "db/init.sql").unlink()
    taken(install=False)
    assert "put db/init.sql.gz into the pool" in lacking()["database", "postgresql"]


def test_options_of_builds_are_for_the_servers_of_a_bank():
    with pytest.raises(Misuse, match="add --bank NAME"):
        install(["time"], relock=True)
