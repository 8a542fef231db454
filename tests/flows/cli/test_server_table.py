"""`nightshift doctor --servers`: a table, and an exit code for scripts."""

import json

import pytest

from environments.mcp.health import ServerState


@pytest.fixture
def doctor(command, monkeypatch):
    """Run the command with the given states of servers."""

    def run(*arguments: str, **states: ServerState):
        def examined(home, sandbox, names):
            return {name: state for name, state in states.items() if not names or name in names}

        monkeypatch.setattr("environments.mcp.health.examined", examined)
        return command("doctor", *arguments)

    return run


READY = ServerState(name="time", is_installed=True, tools=("now", "then"), state="ready")
ABSENT = ServerState(name="git", is_installed=False, state="run `nightshift mcp install git`")
BROKEN = ServerState(name="excel", is_installed=True, state="it ended with code 3")


def test_a_server_that_is_not_installed_is_no_failure(doctor):
    done = doctor("--servers", time=READY, git=ABSENT)

    assert done.returncode == 0, done.stderr
    assert "1 of 2 servers ready" in done.stdout
    assert "install git`" in done.stdout


def test_an_installed_server_that_does_not_work_is(doctor):
    assert doctor("--servers", time=READY, excel=BROKEN).returncode == 1
    assert doctor("--servers", "time", time=READY, excel=BROKEN).returncode == 0


def test_the_facts_for_programs(doctor):
    done = doctor("--servers", "--json", time=READY)

    (facts,) = json.loads(done.stdout)["servers"]
    assert facts["server"].startswith("mcp-server-time ")
    assert facts["tools"] == ["now", "then"]
    assert (facts["is_installed"], facts["check"], facts["needs"]) == (True, "ready", "")


def test_names_without_the_option_are_misuse(doctor):
    done = doctor("time")

    assert done.returncode == 2
    assert "time: doctor takes names of servers only with --servers" in done.stderr
