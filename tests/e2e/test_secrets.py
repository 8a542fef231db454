"""Keys in real use, against providers that hand them back: they are in nothing that was written."""

import re
import sqlite3
import subprocess
from contextlib import closing
from types import SimpleNamespace

import httpx
import pytest

from tests.e2e.secrets import (
    KEYS,
    PROGRAM,
    TASKS,
    Echo,
    is_in,
    keys_in,
    login_of,
    model,
    write_bank,
)
from tests.wire_server import running_wire_server

pytestmark = pytest.mark.e2e

SETTINGS = """\
[run]
bank = "{folder}/bank"
refinement_rounds = 0
workers = 2
trials_per_worker = 6
judge = {{provider = "anthropic", model = "wire-anthropic"}}

[[run.agents]]
name = "react:{compatible}"
base_url = "{url}/v1"

[[run.agents]]
name = "command:{openai}"
label = "program"
program = "{folder}/program"
command = ["python3", "/opt/agent/main.py"]
"""


@pytest.fixture(scope="module")
def night(tmp_path_factory, command):
    """One night with keys in use, and all that can be printed and exported of it."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "home").mkdir()
    (folder / "tmp").mkdir()
    (folder / "program").mkdir()
    (folder / "program" / "main.py").write_text(PROGRAM)
    write_bank(folder / "bank")
    echo = Echo()
    with running_wire_server() as server:
        server.respond = echo.respond
        models = {name: model(name) for name in ("compatible", "openai")}
        settings = SETTINGS.format(folder=folder, url=server.url, **models)
        (folder / "nightshift.toml").write_text(settings)
        yield _played(folder, command, server, echo)


def _played(folder, command, server, echo):
    home = folder / "home"
    keys = {f"{name.upper()}_API_KEY": key for name, key in KEYS.items()}
    places = {"OPENAI_BASE_URL": server.openai_url, "ANTHROPIC_BASE_URL": server.url}
    more = {"TMPDIR": str(folder / "tmp"), "PREFECT_LOGGING_LEVEL": "DEBUG"}
    said = {}

    def run(*arguments, code=0):
        done = subprocess.run(
            [*command.argv, *arguments],
            cwd=folder,
            env=command.environment(home) | keys | places | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=420,
        )
        said[" ".join(arguments)] = done.stdout + done.stderr
        assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]

    try:
        # The redirects and errors that some of its tasks meet cost those trials their scores.
        run("--debug", "run", "--keep-server", code=3)
        (api,) = set(re.findall(r"Prefect UI: (http://[\d.:]+)", "".join(said.values())))
        kept = {
            what: _asked(api, what, home)
            for what in ("flow_runs", "task_runs", "logs", "artifacts", "flows")
        }
    finally:
        (home / "prefect" / "keep").unlink(missing_ok=True)
    run("--debug", "show", "--json")
    run("report")
    run("export", "atif", str(folder / "atif"))
    run("export", "otel", str(folder / "otel.jsonl"))
    return SimpleNamespace(folder=folder, home=home, said=said, kept=kept, echo=echo)


def _asked(api, what, home):
    """What Prefect's API tells of its flow runs and the like."""
    asked = f"{api}/api/{what}/filter"
    assert httpx.post(asked, json={}, timeout=30).status_code == 401
    reply = httpx.post(asked, json={}, auth=login_of(home), timeout=30)
    return reply.raise_for_status().content


def test_every_key_was_used(night):
    assert night.echo.received == set(KEYS)
    assert night.echo.strangers == []
    assert {task for _, task in night.echo.asked} == set(TASKS)


def test_no_key_is_in_any_file(night):
    files = [path for path in night.folder.rglob("*") if path.is_file()]
    assert len(files) > 30
    assert any(b"[key]" in path.read_bytes() for path in files), "no provider handed back a key"
    found = {str(path): keys_in(path.read_bytes()) for path in files}
    assert {path: keys for path, keys in found.items() if keys} == {}


@pytest.mark.parametrize("database", ["nightshift.db", "prefect/prefect.db"])
def test_no_key_is_in_any_row(night, database):
    with closing(sqlite3.connect(night.home / database)) as connection:
        rows = "\n".join(connection.iterdump())
    assert rows.count("INSERT INTO") > 50
    assert keys_in(rows.encode()) == []


def test_no_key_is_in_anything_that_was_printed(night):
    found = {words: keys_in(text.encode()) for words, text in night.said.items()}
    assert {words: keys for words, keys in found.items() if keys} == {}


def test_no_key_is_in_what_prefect_tells(night):
    assert b"nightly_evaluation" in night.kept["flows"]
    assert b"canary" not in night.kept["flow_runs"]
    found = {what: keys_in(told) for what, told in night.kept.items()}
    assert {what: keys for what, keys in found.items() if keys} == {}


def test_the_login_of_prefect_is_in_its_own_file_alone(night):
    _, password = login_of(night.home)
    files = [path for path in night.folder.rglob("*") if path.is_file()]
    holding = [path for path in files if is_in(path.read_bytes(), password)]
    assert holding == [night.home / "login"]
    assert holding[0].stat().st_mode & 0o777 == 0o600
    told = [text.encode() for text in night.said.values()] + list(night.kept.values())
    assert not [text for text in told if is_in(text, password)]
