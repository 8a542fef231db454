"""A provider that hangs costs a night its deadline and nothing else; the rest is done later."""

import asyncio

import pytest

from tests.e2e.conftest import shared_server
from tests.soak import at_length_only
from tests.wire_server import WireServer, running_wire_server

pytestmark = [pytest.mark.e2e, pytest.mark.soak, at_length_only]
"""In `make test`, tests of the stage, of its workers and of the verdict hold this part by part:
`test_night_deadline.py`, `test_hanging.py` and `test_verdicts.py`."""

SETTINGS = """
[stage_seconds]
execute = {seconds}

[run]
refinement_rounds = 0
workers = 2
trials_per_worker = 1

[[run.agents]]
name = "react:compatible/wedged"
base_url = "{url}"

[[run.agents]]
name = "nop"
"""


async def never(seen, request):
    await asyncio.Event().wait()


def test_a_night_with_a_wedged_provider_ends_says_so_and_is_carried_on(tmp_path, command):
    home, settings = tmp_path / "home", tmp_path / "nightshift.toml"
    listed = command.read(home, "bank", "list")["tasks"]
    tasks = [part for task in listed[:3] for part in ("--task", task["id"])]
    with running_wire_server() as server, shared_server(home):
        server.respond = lambda seen: never
        settings.write_text(SETTINGS.format(url=server.openai_url, seconds=25))
        night = command.run(home, "run", *tasks)

        assert night.returncode == 3, night.stdout + night.stderr
        assert "3 trials have no score" in night.stderr
        assert "stopped by its deadline of 25 s" in night.stdout
        assert "3 trials are due, run it again" in night.stdout
        (run,) = command.read(home, "runs")["runs"]
        assert run["status"] == "completed"
        agents = {a["agent"]: a for a in command.read(home, "results")["agents"]}
        assert (agents["nop"]["errors"], agents["react:compatible/wedged"]["errors"]) == (0, 3)

        server.respond = lambda seen: WireServer.says("Final Answer: 5")
        again = command.run(home, "stage", "execute")

    assert again.returncode == 0, again.stdout + again.stderr
    assert "execute: 3/3 done" in again.stdout
    agents = {a["agent"]: a for a in command.read(home, "results")["agents"]}
    assert agents["react:compatible/wedged"]["errors"] == 0
