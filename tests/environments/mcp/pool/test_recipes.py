"""What has to be run to build a server from its source."""

import pytest

from environments.mcp.pool.recipes import lock_of, missing_parts, recipe
from taskdata.schema.input_file import InputFile
from taskdata.schema.pool_server import PoolServer

LOCK = '{"packages": {"": {}}}'
SOURCE = InputFile(path="local_servers/a.tar", sha256="a" * 64, size_bytes=1)


def node(entry: str) -> PoolServer:
    argv = ("node", "${local_servers_paths}/a/" + entry)
    return PoolServer(name="a", source=SOURCE, kind="node", folder="a", argv=argv, entry=entry)


def python(project: str = "") -> PoolServer:
    argv = ("${local_servers_paths}/a/.venv/bin/serve",)
    return PoolServer(name="a", source=SOURCE, folder="a", project=project, argv=argv)


@pytest.fixture
def source(tmp_path):
    """Write texts by their paths below the folder of servers; returns that folder."""

    def write(files: dict[str, str]):
        for path, text in files.items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return tmp_path

    return write


def whats(made) -> list[str]:
    return [step.what for step in made.steps]


def test_what_a_python_server_needs_is_installed_by_the_hashes_of_its_lock(source):
    servers = source({"a/pyproject.toml": "[build-system]", "a/uv.lock": ""})
    made = recipe(python(), servers, "/usr/bin/python3")
    assert whats(made) == [
        *("locks its libraries", "reads its lock", "makes its environment"),
        *("installs its libraries", "installs the server"),
    ]
    (installing,) = (step for step in made.steps if step.what == "installs its libraries")
    assert {"--require-hashes", "--no-deps"} <= set(installing.argv)
    assert made.made == "a/.venv/bin/serve"


def test_libraries_that_no_lock_names_are_those_of_the_pools_time(source):
    servers = source({"a/pyproject.toml": "", "a/package.json": "{}"})
    then = {"as_of": "2026-03-06T06:03:19Z"}
    locking = recipe(python().model_copy(update=then), servers, "python3").steps[0]
    assert locking.argv[-2:] == ("--exclude-newer", "2026-03-06T06:03:19Z")
    installing = recipe(node("cli.js").model_copy(update=then), servers, "").steps[0]
    assert "--before=2026-03-06T06:03:19Z" in installing.argv


def test_plain_requirements_are_locked_once(source):
    servers = source({"a/sub/requirements.txt": "x"})
    made = recipe(python("sub"), servers, "python3")
    assert (whats(made)[0], made.locks) == ("locks its libraries", ("a/sub/requirements.lock",))
    source({"a/sub/requirements.lock": "x==1"})
    assert whats(recipe(python("sub"), servers, "python3"))[0] == "reads its lock"


def test_a_server_that_relies_on_the_pools_own_library_of_the_database_gets_it(source):
    servers = source({"a/pyproject.toml": "", "a/data.py": "import json\nimport psycopg2\n"})
    made = recipe(python(), servers, "python3")
    assert whats(made)[-1] == "installs the library of its database"
    assert made.locks == ("a/uv.lock", "a/database.lock")
    source({"a/pyproject.toml": 'dependencies = ["psycopg2-binary"]'})
    assert recipe(python(), servers, "python3").locks == ("a/uv.lock",)


def test_a_node_server_that_the_pool_ships_built_is_not_built_again(source):
    servers = source(
        {"a/package.json": "{}", "a/package-lock.json": LOCK, "a/dist/index.js": "import './b.js'"}
    )
    source({"a/dist/b.js": ""})
    made = recipe(node("dist/index.js"), servers, "")
    assert whats(made) == ["installs its libraries"]
    assert {"ci", "--ignore-scripts", "--omit=dev"} <= set(made.steps[0].argv)


def test_a_node_server_is_built_where_something_that_it_imports_is_missing(source):
    servers = source({"a/package.json": "{}", "a/cli.js": "const { main } = require('./lib/main')"})
    made = recipe(node("cli.js"), servers, "")
    assert whats(made) == ["installs its libraries", "builds"]
    assert {"install", "--include=dev"} <= set(made.steps[0].argv)
    assert missing_parts(servers / "a/cli.js") == ("./lib/main",)
    source({"a/lib/main.js": ""})
    assert missing_parts(servers / "a/cli.js") == ()


def test_a_node_server_whose_lock_is_older_than_what_it_declares_is_locked_anew(source):
    servers = source(
        {"a/package.json": '{"dependencies": {"x": "1"}}', "a/package-lock.json": LOCK}
    )
    assert "install" in recipe(node("cli.js"), servers, "").steps[0].argv
    source({"a/package-lock.json": LOCK.replace("{}", '{"dependencies": {"x": "1"}}')})
    assert "ci" in recipe(node("cli.js"), servers, "").steps[0].argv


def test_a_node_server_that_does_not_declare_the_client_of_its_database_gets_it(source):
    servers = source(
        {"a/package.json": "{}", "a/package-lock.json": LOCK, "a/src/d.ts": "import x from 'pg';"}
    )
    made = recipe(node("dist/index.js"), servers, "")
    assert {"install", "pg", "@types/pg"} <= set(made.steps[0].argv)
    assert made.locks == ("a/package-lock.json", "a/package.json")


def test_a_package_of_a_workspace_is_locked_above_it_and_built_in_it(source):
    servers = source({"a/package-lock.json": "{}", "a/src/b/package.json": "{}"})
    server = node("src/b/dist/index.js")
    assert lock_of(server, servers) == "a/package-lock.json"
    made = recipe(server, servers, "")
    assert [step.folder for step in made.steps] == [
        "/opt/local_servers/a",
        "/opt/local_servers/a/src/b",
    ]
