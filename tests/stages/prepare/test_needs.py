"""What a task needs and does not find is named, each with the way to get it."""

from pathlib import Path

import pytest

from stages.prepare.needs import task_needs
from stages.release.importing import import_bank
from taskdata.banks.found import find_bank
from taskdata.schema.task import InputFile, TaskEnvironment
from taskdata.schema.tool_backends import ToolBackends

POOL = Path(__file__).parents[2] / "pool"


@pytest.fixture
def missing(store, tmp_path):
    """Return what a task of the small pool lacks, by kind and name."""
    import_bank(store, "club", "toolathlon", POOL)

    def look(name: str) -> dict[tuple[str, str], str]:
        task_id = f"toolathlon-{name}"
        (task,) = find_bank(store, "club", [task_id]).tasks([task_id])
        read = store.artifacts.read_bytes
        needs = task_needs(task, read, tmp_path, "bubblewrap", ToolBackends())
        return {(need.kind, need.name): need.state for need in needs if not need.is_met}

    return look


def test_a_task_that_lacks_nothing_is_ready(missing):
    assert missing("guest-list") == {}


def test_servers_say_how_they_are_installed_or_described(missing, tmp_path):
    lacking = missing("member-fees")
    assert "run `nightshift mcp install filesystem`" in lacking["server", "filesystem"]
    assert f"describe it in {tmp_path}/mcp/servers.yaml" in lacking["server", "ledger"]


def test_a_database_that_no_service_brings_is_missing(new_task, store, tmp_path):
    sha256 = store.artifacts.put_bytes(b"import psycopg2")
    program = InputFile(path="evaluation/main.py", sha256=sha256, size_bytes=15)
    task = new_task(environment=TaskEnvironment(evaluation=(program,)))
    read = store.artifacts.read_bytes
    needs = task_needs(task, read, tmp_path, "bubblewrap", ToolBackends())
    (database,) = (need for need in needs if need.kind == "database")
    assert "the task has none" in database.state


def test_a_package_is_missing_with_the_command_that_installs_it(missing):
    state = missing("stock-take")["package", "club_inventory"]
    assert state.startswith("the Python package 'club_inventory' is not installed: run `uv pip")


def test_a_task_of_our_own_needs_its_tools_alone(new_task, tmp_path):
    task = new_task(tools=("finish",), environment=TaskEnvironment())
    (need,) = task_needs(task, lambda sha256: b"", tmp_path, "bubblewrap", ToolBackends())
    assert (need.kind, need.name, need.is_met) == ("tool", "finish", True)
