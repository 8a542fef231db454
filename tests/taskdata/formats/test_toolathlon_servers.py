"""The servers that a pool brings as source: how they start, what is refused, what is packed."""

import shutil
import tarfile
from pathlib import Path

import pytest

from taskdata.formats.toolathlon.server_starts import Unusable, read_start

TESTS = Path(__file__).parents[2]
HERE = "${local_servers_paths}"


def start(command: str, *arguments: str, directory: str | None = None, variables=()):
    return read_start(command, arguments, directory, variables)


@pytest.fixture
def pool(tmp_path):
    """A copy of the small pool with the source of two servers."""
    root = Path(shutil.copytree(TESTS / "pool", tmp_path / "pool"))
    shutil.copytree(TESTS / "pool_servers", root / "local_servers")
    return root


@pytest.fixture
def servers(read, pool, tmp_path):
    """Return the servers that a task of the pool carries, by name, and the import."""

    def of(name: str):
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        result = read("toolathlon", pool, scratch=scratch)
        (task,) = (t for t in result.tasks if t.id == f"toolathlon-{name}")
        return {s.name: s for s in task.environment.pool_servers}, result

    return of


@pytest.mark.parametrize(
    ("arguments", "program", "directory"),
    [
        (("--directory", f"{HERE}/a", "run", "serve"), ("serve",), f"{HERE}/a"),
        (("--project", f"{HERE}/a", "run", "serve"), ("serve",), "${agent_workspace}"),
        (("--directory", f"{HERE}/a", "run", "python", "b.py"), ("python", "b.py"), f"{HERE}/a"),
        (("run", f"{HERE}/a/b.py"), ("python", f"{HERE}/a/b.py"), "${agent_workspace}"),
        (
            ("--directory", f"{HERE}/a", "run", "--frozen", "-m", "b", "-x"),
            ("python", "-m", "b", "-x"),
            f"{HERE}/a",
        ),
    ],
)
def test_uv_run_is_a_program_of_the_projects_environment(arguments, program, directory):
    found = start("uv", *arguments)
    assert found.argv == (f"{HERE}/a/.venv/bin/{program[0]}", *program[1:])
    assert (found.kind, found.folder, found.directory) == ("python", "a", directory)


def test_node_and_a_program_of_an_environment_are_started_as_they_are():
    node = start("node", f"{HERE}/all/src/a/dist/index.js", "--x", directory="/w")
    assert (node.kind, node.folder, node.entry) == ("node", "all", "src/a/dist/index.js")
    assert node.argv == ("node", f"{HERE}/all/src/a/dist/index.js", "--x")
    own = start(f"{HERE}/a/sub/.venv/bin/python3", "-c", f"import os; os.chdir('{HERE}/a')")
    assert (own.folder, own.project) == ("a", "sub")
    assert own.argv[0] == f"{HERE}/a/sub/.venv/bin/python3"


@pytest.mark.parametrize(
    ("command", "arguments", "reason"),
    [
        ("/bin/sh", ("-c", "id"), "it starts '/bin/sh'"),
        ("docker", ("run", "x"), "it starts 'docker'"),
        ("npx", ("-y", "server"), "npx downloads the server"),
        ("node", ("/opt/server.js",), "no path below"),
        ("node", (f"{HERE}/../x.js",), "no path below"),
        ("node", (f"{HERE}/a/../../x.js",), "no path below"),
        ("node", ("-e", "1"), "not a script"),
        ("node", (f"{HERE}/a/i.js", f"{HERE}/b/secret"), "belongs to another server"),
        ("node", (f"{HERE}/a/i.js", "${home}/x"), r"no placeholder \${home}"),
        ("node", (f"{HERE}/a/i.js", "${task_dir}/../x"), "no file of the task"),
        ("node", (f"{HERE}/a/i.js", "${task_dir}"), "no file of the task"),
        ("uv", ("--directory", "/etc", "run", "x"), "no path below"),
        ("uv", ("--directory", f"{HERE}/a", "run", "../x"), "no program of the project"),
        ("uv", ("run", "--with", "x", f"{HERE}/a/b.py"), "'--with'"),
        ("uv", ("tool", "run", "x"), "'tool'"),
        ("uv", ("--directory", f"{HERE}/a"), "without a program"),
        (f"{HERE}/a/run.sh", (), "no program of a Python project"),
    ],
)
def test_what_is_no_program_of_the_pool_is_refused_with_the_reason(command, arguments, reason):
    with pytest.raises(Unusable, match=reason):
        start(command, *arguments)


def test_a_task_carries_its_servers_and_one_archive_for_each_source(servers):
    found, result = servers("member-fees")
    ledger, files = found["ledger"], found["filesystem"]
    assert (ledger.kind, ledger.requires_python, ledger.uses_database) == ("python", ">=3.11", True)
    assert (files.kind, files.entry, files.uses_database) == ("node", "dist/index.js", False)
    item = next(i for i in result.items if i.task.id == "toolathlon-member-fees")
    with tarfile.open(item.files[ledger.source.sha256]) as packed:
        names = packed.getnames()
    assert names == ["ledger/book.py", "ledger/pyproject.toml", "ledger/server.py"]
    stored = {file.sha256 for file in item.task.stored_files}
    assert {ledger.source.sha256, files.source.sha256} <= stored


def test_a_server_without_a_source_is_that_of_the_catalogue_and_the_report_says_why(servers):
    found, result = servers("opening-hours")
    assert found["powerpoint"].source is None
    assert found["powerpoint"].refused == "local_servers/slides is not in the pool, or is a link"
    assert f"server pptx of the pool: {found['powerpoint'].refused}" in result.source.ignored


def test_the_hash_of_a_source_depends_on_its_content_alone(servers, pool):
    before = servers("member-fees")[0]["ledger"]
    folder = pool / "local_servers/ledger"
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").symlink_to("/usr/bin/python3")
    (folder / "__pycache__").mkdir()
    (folder / "book.py").touch()
    assert servers("member-fees")[0]["ledger"] == before
    (folder / "book.py").write_text("")
    assert servers("member-fees")[0]["ledger"].source != before.source


def test_a_server_without_a_lock_has_the_libraries_of_the_time_of_the_pools_locks(servers, pool):
    assert servers("member-fees")[0]["ledger"].as_of == ""
    (pool / "uv.lock").write_text(
        'upload-time = "2026-03-06T06:03:19.46Z"\nupload-time = "2025-12-31T00:00:00Z"\n'
    )
    found = servers("member-fees")[0]
    assert found["ledger"].as_of == found["filesystem"].as_of == "2026-03-06T06:03:19Z"
    (pool / "local_servers/ledger/uv.lock").touch()
    assert servers("member-fees")[0]["ledger"].as_of == ""


def test_a_link_in_a_source_refuses_the_server_and_not_its_tasks(servers, pool):
    (pool / "local_servers/ledger/secret.txt").symlink_to("/etc/passwd")
    found, result = servers("member-fees")
    assert found["ledger"].refused == "ledger/secret.txt is a link"
    assert result.refused == []


def test_tokens_and_files_of_the_task_are_known_by_name(servers, pool):
    text = (pool / "configs/mcp_servers/ledger.yaml").read_text()
    text = text.replace(
        "PG_HOST:", 'BOOK: "${task_dir}/book.json"\n    KEY: "${token.key}"\n    P:'
    )
    (pool / "configs/mcp_servers/ledger.yaml").write_text(text)
    ledger = servers("member-fees")[0]["ledger"]
    assert (ledger.tokens, ledger.task_files) == (("key",), ("book.json",))
