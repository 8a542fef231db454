"""The catalogue of servers: what it promises, and the page that shows it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from environments.mcp import document
from environments.mcp.client.launch import launch
from environments.mcp.document import PLACE, as_document
from environments.mcp.health import READY, examined
from environments.mcp.install import install
from environments.mcp.servers import (
    CATALOGUE,
    NodeServer,
    OwnServer,
    PackagedServer,
    known_servers,
    needs_of,
    read_catalogue,
)
from environments.tool_runtime.registry import MODULES
from tests.soak import at_length_only

PERMISSIVE = {"MIT", "BSD-3-Clause", "Apache-2.0", "MIT AND Apache-2.0"}


@pytest.fixture(scope="module")
def bundled():
    return read_catalogue(CATALOGUE)


def test_the_page_is_current(bundled):
    assert PLACE.read_text(encoding="utf-8") == as_document(bundled), "run make servers-doc"


def test_asking_for_help_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(document, "PLACE", tmp_path / "servers.md")
    monkeypatch.setattr("sys.argv", ["document", "--help"])

    with pytest.raises(SystemExit):
        document.main()

    assert "usage: python -m environments.mcp.document" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_it_has_at_least_20_servers_that_install_by_name_and_version(bundled):
    packaged = [entry for entry in bundled.values() if isinstance(entry, PackagedServer)]

    assert len(packaged) >= 20
    assert {entry.licence for entry in packaged} <= PERMISSIVE
    assert len({(entry.registry, entry.package) for entry in packaged}) == len(packaged)


def test_what_a_server_needs_is_said(bundled):
    assert needs_of(bundled["fetch"]) == "network"
    assert needs_of(bundled["postgres"]) == "Node.js, service postgresql"
    assert needs_of(bundled["email"]) == "service mail"
    assert needs_of(bundled["time"]) == ""
    for entry in bundled.values():
        if isinstance(entry, NodeServer):
            assert needs_of(entry).startswith("Node.js")


def test_a_server_uses_variables_of_the_service_that_it_needs(bundled):
    for entry in bundled.values():
        if isinstance(entry, PackagedServer):
            words = " ".join((*entry.arguments, *entry.variables.values()))
            assert ("${" in words) == (entry.needs.service is not None), entry.name


def test_our_own_servers_offer_tools_of_the_sandbox(bundled):
    own = {name: entry for name, entry in bundled.items() if isinstance(entry, OwnServer)}

    assert set(own) == {"image-editing", "audio-editing", "video-editing"}
    assert {tool for entry in own.values() for tool in entry.tools} <= set(MODULES)


@pytest.mark.soak
@at_length_only
def test_every_server_installs_and_answers_its_check(cache: Path):
    entries = known_servers(cache)
    for entry in entries.values():
        if isinstance(entry, PackagedServer):
            if isinstance(entry, NodeServer) and shutil.which("npm") is None:
                pytest.skip("no Node.js: install Debian's `nodejs` and `npm`")
            install(entry, cache)

    found = examined(cache)

    assert {name: state.state for name, state in found.items()} == dict.fromkeys(entries, READY)
    assert all(state.tools for state in found.values())


class PlainSandbox:
    """A stand-in for a sandbox that only knows its Python."""

    def python(self):
        return ("python3",)

    async def run(self, argv, **options):
        raise AssertionError("nothing is run before the server is")


def launched(entry, tmp_path: Path, monkeypatch, variables: dict[str, str]):
    """Run what `launch` returns on this host, with `env` instead of the server."""
    import asyncio

    async def version(sandbox):
        return "3.11"

    monkeypatch.setattr("environments.mcp.client.launch._python_version", version)
    monkeypatch.setattr("environments.mcp.client.launch.is_installed", lambda *given: True)
    start = asyncio.run(launch(entry, tmp_path, PlainSandbox()))
    return subprocess.run(start.argv, capture_output=True, text=True, env=variables)


def echoing(arguments: list[str]):
    """Return a server whose command prints its arguments, one in a line."""
    from environments.mcp.servers import PythonServer

    return PythonServer(
        name="echo",
        about="x",
        registry="pypi",
        package="x",
        version="1",
        module="x",
        check={"tool": "x"},
        arguments=arguments,
    )


@pytest.fixture
def printing_python(tmp_path: Path, monkeypatch) -> dict[str, str]:
    """Return the environment in which `python3` prints the arguments after its options."""
    program = tmp_path / "bin" / "python3"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nshift 4\nfor word; do echo "$word"; done\n')
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:/usr/bin:/bin"}


def test_variables_of_the_sandbox_are_put_in_as_they_are(tmp_path, monkeypatch, printing_python):
    entry = echoing(["db://${PGUSER}@h/${PGDATABASE}?a=b c", "$PGUSER `id`", ""])
    values = {"PGUSER": "a'b \"$(id)", "PGDATABASE": "app"}

    done = launched(entry, tmp_path, monkeypatch, printing_python | values)

    assert done.stdout.splitlines() == ["db://a'b \"$(id)@h/app?a=b c", "$PGUSER `id`", ""]


def test_a_missing_service_is_named(tmp_path, monkeypatch, printing_python):
    done = launched(echoing(["${PGHOST}"]), tmp_path, monkeypatch, printing_python)

    assert done.returncode != 0
    assert "PGHOST: is not set: the task brings no such service" in done.stderr
