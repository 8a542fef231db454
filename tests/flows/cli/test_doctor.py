"""What the doctor says of the tools."""

import json
import tempfile
from pathlib import Path

import pytest

from environments.reaper.owner import Owner, base_folder


def checks(command) -> dict[str, str]:
    done = command("doctor", "--json")
    assert done.returncode == 0, done.stderr
    return {check["name"]: check["state"] for check in json.loads(done.stdout)["checks"]}


def states(command) -> dict[str, str]:
    done = command("doctor", "--json")
    assert done.returncode == 0, done.stderr
    return {tool["name"]: tool["state"] for tool in json.loads(done.stdout)["tools"]}


def test_every_tool_is_ready_or_says_what_it_lacks(command):
    found = states(command)
    assert found["Calculator"] == "ready"
    assert found["ImageDescription"].startswith("needs a multimodal model: set tool_model")
    assert found["GoogleSearch"].startswith("needs a search: set search to")
    assert all(state and "\n" not in state for state in found.values())


def test_sentence_encoders_are_ready_or_say_how_to_get_them(command):
    state = checks(command)["sentence encoders"]
    assert all(name in state for name in ("all-mpnet-base-v2", "all-MiniLM-L6-v2-int8"))
    assert state.startswith("ready") or "is not installed; run `make setup-all`" in state


def test_every_kind_of_service_that_tasks_bring_has_a_state(command):
    found = json.loads(command("doctor", "--json").stdout)["services"]

    assert {service["name"] for service in found} == {"postgresql", "mail"}
    assert all(service["state"] and "\n" not in service["state"] for service in found)


def test_configured_services_make_tools_ready(command, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-42")
    (tmp_path / "tower.md").write_text("# CN Tower")
    (tmp_path / "nightshift.toml").write_text(
        '[run]\ntool_model = "openai/gpt-5.2"\nimage_model = "anthropic/any"\n'
        'search = "corpus"\nsearch_corpus = "."\n'
    )
    found = states(command)
    assert [found[name] for name in ("TextToBbox", "web_search")] == ["ready", "ready"]
    assert "its provider makes no pictures" in found["TextToImage"]
    assert "sk-canary-42" not in str(found)


def test_servers_are_tried_in_the_configured_sandbox(command, home: Path, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine")
    (tmp_path / "nightshift.toml").write_text('[run]\nsandbox = "docker"\n')
    url = {"about": "x", "registry": "url", "url": "http://127.0.0.1:9/mcp", "check": {"tool": "x"}}
    (home / "mcp").mkdir(parents=True)
    (home / "mcp" / "servers.yaml").write_text(json.dumps({"far": url}))

    found = json.loads(command("doctor", "--json").stdout)["servers"]

    states = {server["name"]: server["state"] for server in found}
    assert states["far"].startswith("the docker sandbox does not work here")
    assert states["time"].endswith("is not installed: run `nightshift mcp install time`")


def test_parts_of_this_machine_are_ready(command, home: Path):
    found = checks(command)

    assert found["artifacts"] == "ready: file"
    assert found["dask scheduler"].startswith("ready: a local cluster")
    assert found["prefect server"].startswith("not running")
    assert not [file for file in (home / "artifacts").rglob("*") if file.is_file()]


def test_parts_of_a_production_that_do_not_answer_are_named(command, home: Path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setenv("NIGHTSHIFT_DASK_SCHEDULER", "tcp://127.0.0.1:9")
    monkeypatch.setenv("NIGHTSHIFT_DASK_UNENCRYPTED", "true")
    monkeypatch.setenv("NIGHTSHIFT_ARTIFACTS_URL", "file:///proc/no such place")
    found = checks(command)

    assert "PREFECT_API_URL=http://127.0.0.1:9/api" in found["prefect server"]
    assert "dask_scheduler tcp://127.0.0.1:9: cannot be reached" in found["dask scheduler"]
    assert "artifact store file:///proc/no such place: cannot write" in found["artifacts"]


@pytest.fixture
def base(tmp_path, monkeypatch) -> Path:
    """The folder of files that processes of this test's own home leave behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return base_folder()


def test_what_a_killed_process_left_is_removed_and_told(command, base):
    """Their containers go with the rest: `tests/environments/reaper/test_reap.py`."""
    dead = Owner(base, "1-1-0a1b2c3d")
    dead.lock.touch()
    dead.folder.mkdir()
    (dead.folder / "note.txt").write_text("left")
    told = checks(command)["leftovers"]
    assert told == (
        "ready: removed what 1 killed processes had left: 0 programs, 0 containers, 1 folders"
    )
    assert not dead.folder.exists()
    assert checks(command)["leftovers"] == "ready: none"


def test_an_engine_that_is_away_is_told_here(command, base, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{base}/no.sock")
    (base / "docker").touch()  # as if a container had been made here once
    told = checks(command)["leftovers"]
    assert told.startswith("containers of killed processes may be left: Docker cannot list")
