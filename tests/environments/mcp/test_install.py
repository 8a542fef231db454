"""Installing servers: into a folder of their own, once, whole or not at all."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from environments.mcp.health import missing_server, server_states
from environments.mcp.install import THIS_PYTHON, folder_of, install, is_installed
from environments.mcp.servers import RemoteServer, known_servers, server
from taskdata.errors import Misuse, ToolUnavailable

UV = """#!/bin/sh
echo "$@" >>"{log}"
env >"{log}.env"
for last; do :; done
while [ "$1" != --target ]; do shift; done
echo 'print("hello")' >"$2/{name}.py"
exit {code}
"""


@pytest.fixture
def fake_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a uv on the PATH that writes down how it was called; returns the file."""

    def make(code: int = 0) -> Path:
        folder, log = tmp_path / "bin", tmp_path / "uv.log"
        folder.mkdir(exist_ok=True)
        (folder / "uv").write_text(UV.format(log=log, name="mcp_server_time", code=code))
        (folder / "uv").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        monkeypatch.setattr("environments.mcp.install._OWN_UV", tmp_path / "none")
        return log

    return make


def catalogue(home: Path, **entries: object) -> None:
    (home / "mcp").mkdir(parents=True, exist_ok=True)
    (home / "mcp" / "servers.yaml").write_text(yaml.safe_dump(entries))


def test_an_installation_adds_servers_of_its_own(tmp_path: Path):
    check = {"tool": "ask"}
    url = "https://tools.example/mcp"
    catalogue(tmp_path, far={"about": "x", "registry": "url", "url": url, "check": check})

    far = server("far", tmp_path)

    assert isinstance(far, RemoteServer)
    assert far.url == url
    assert "time" in known_servers(tmp_path)


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"registry": "pypi"}, "bad.pypi.about: Field required"),
        ({"registry": "rubygems"}, "bad: Input tag 'rubygems'"),
        ({"registry": "url", "url": "file:///etc/passwd"}, "bad.url.url: String should match"),
        ({"registry": "pypi", "package": "--index-url=http://x"}, "bad.pypi.package: String"),
        ({"registry": "npm", "script": "../../x.js"}, "must be a relative path"),
        (7, "is not a catalogue of MCP servers"),
    ],
)
def test_a_catalogue_that_does_not_fit_names_file_and_field(
    tmp_path: Path, entry: object, fault: str
):
    rest = {"about": "x", "version": "1", "package": "x", "module": "x", "check": {"tool": "x"}}
    if isinstance(entry, dict) and entry != {"registry": "pypi"}:
        drop = {"pypi": {"script", "url"}, "npm": {"module"}, "url": set(rest)}
        kept = {k: v for k, v in rest.items() if k not in drop.get(entry["registry"], set())}
        entry = {**kept, "about": "x", "check": {"tool": "x"}, **entry}
    catalogue(tmp_path, bad=entry)

    with pytest.raises(Misuse, match=r"servers\.yaml") as raised:
        known_servers(tmp_path)
    assert fault in str(raised.value)


def test_it_is_pinned_and_apart_and_done_once(tmp_path: Path, fake_uv):
    log, entry = fake_uv(), server("time", tmp_path)

    folder = install(entry, tmp_path)
    install(entry, tmp_path)

    assert folder == tmp_path / "mcp" / "time" / f"python{THIS_PYTHON}"
    [call] = log.read_text().splitlines()
    assert f"--python-version {THIS_PYTHON}" in call
    assert call.endswith(" mcp-server-time==2026.10.19")
    assert (folder / "mcp_server_time.py").stat().st_mode & 0o044 == 0o044
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def test_another_version_takes_the_place(tmp_path: Path, fake_uv):
    log, entry = fake_uv(), server("time", tmp_path)
    install(entry, tmp_path)
    newer = entry.model_copy(update={"version": "2027.1.1"})

    assert not is_installed(newer, tmp_path)
    install(newer, tmp_path)

    assert is_installed(newer, tmp_path)
    assert not is_installed(entry, tmp_path)
    assert len(log.read_text().splitlines()) == 2


def test_another_python_is_beside_it(tmp_path: Path, fake_uv):
    fake_uv()
    entry = server("time", tmp_path)

    install(entry, tmp_path, "3.99")

    assert is_installed(entry, tmp_path, "3.99")
    assert not is_installed(entry, tmp_path)


def test_no_key_of_ours_reaches_the_installer(
    tmp_path: Path, fake_uv, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    log = fake_uv()

    install(server("time", tmp_path), tmp_path)

    assert "secret" not in Path(f"{log}.env").read_text()


def test_a_failure_leaves_nothing(tmp_path: Path, fake_uv):
    fake_uv(code=3)
    entry = server("time", tmp_path)

    with pytest.raises(ToolUnavailable, match="'time' cannot be installed: uv ended with code 3"):
        install(entry, tmp_path)

    assert not is_installed(entry, tmp_path)
    assert [path for path in folder_of(entry, tmp_path).parent.iterdir() if path.is_dir()] == []


def test_a_missing_installer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(ToolUnavailable, match="there is no npm on the PATH"):
        install(server("memory", tmp_path), tmp_path)


def test_two_at_once_install_once(tmp_path: Path, fake_uv):
    log, entry = fake_uv(), server("time", tmp_path)
    threads = [threading.Thread(target=install, args=(entry, tmp_path)) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(log.read_text().splitlines()) == 1


def test_the_command_installs_by_name(tmp_path: Path, fake_uv):
    fake_uv()
    command = [sys.executable, "-m", "flows.cli.app", "mcp", "install", "clock"]
    environment = os.environ | {"NIGHTSHIFT_HOME": str(tmp_path)}

    done = subprocess.run(command, capture_output=True, text=True, env=environment)

    assert done.returncode == 2
    assert "there is no MCP server 'clock'" in done.stderr


def test_the_state_of_a_server_that_does_not_start(tmp_path: Path, fake_uv):
    fake_uv()
    install(server("time", tmp_path), tmp_path)

    state = server_states(tmp_path)["time"]

    assert state.startswith("MCP server 'time' did not start: it ended with code")


def test_docker_may_run_a_server_installed_for_another_python(tmp_path: Path, fake_uv):
    fake_uv()
    missing = missing_server("time", tmp_path, "docker")
    assert missing is not None
    assert missing.endswith("is not installed: run `nightshift mcp install time`")

    install(server("time", tmp_path), tmp_path, "3.99")

    assert missing_server("time", tmp_path, "docker") is None
    assert missing_server("time", tmp_path, "bubblewrap") == missing
