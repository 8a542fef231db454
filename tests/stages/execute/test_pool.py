"""A foreign pool from its import to its scores: one workspace, its own prompts and programs.

The models are scripted ones, and the servers of the pool a small one of ours; everything else is
as in a night.
"""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
import yaml

from environments.mcp import install
from environments.mcp.servers import server
from environments.sandbox.providers import sandbox_provider
from environments.services.kinds import KINDS
from stages.execute import work
from stages.prepare import work as preparing
from stages.release.importing import import_bank
from stages.score import work as scoring
from taskdata.banks.found import find_bank
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.scores import Unscored

POOL = Path(__file__).parents[2] / "pool"
SERVERS = ("filesystem", "powerpoint", "ledger")
TIDY = """
import csv, os
with open("output/guests.csv") as file:
    head, *guests = csv.reader(file)
with open("output/clean.csv", "w", newline="") as file:
    csv.writer(file).writerows([head, *sorted({tuple(guest) for guest in guests})])
os.remove("output/guests.csv")
"""
ASK = """
import json, re, urllib.request
page = urllib.request.urlopen("http://localhost:30520/hours.html", timeout=20).read().decode()
hours = re.search("<td>(.*)</td>", page)[1]
days = ("monday", "tuesday", "wednesday", "thursday", "friday")
json.dump(dict.fromkeys(days, hours), open("output/hours.json", "w"))
"""
ADD_UP = """
import psycopg2
with psycopg2.connect() as connection, connection.cursor() as cursor:
    cursor.execute("SELECT member, sum(cents) FROM ledger.entries GROUP BY member")
    lines = [f"{member}: {cents}\\n" for member, cents in cursor.fetchall()]
open("output/fees.txt", "w").writelines(lines)
"""


def python(code: str) -> tuple[str, str]:
    return "python_execute", json.dumps({"code": code})


def written(path: str, text: str) -> tuple[str, str]:
    return "filesystem_write", json.dumps({"path": f"output/{path}", "text": text})


WORK = {
    "guests.csv in my workspace": python(TIDY),
    "its page http://localhost:30520": python(ASK),
    "by the ledger": python(ADD_UP),
    "each of the three points": written("minutes.md", "# fees\n# fair\n# repairs\n"),
    "Count the chairs": written("chairs.txt", "2"),
    "a slide deck poster.pptx": written("poster.pptx", "not yet"),
}
"""A call that solves a task, by words of its query."""


def solving(wire):
    """Return the replies of a model that solves each task with one call and then ends it."""

    def respond(seen):
        messages = seen.body["messages"]
        if any(message["role"] == "tool" for message in messages):
            return wire.says("", ("claim_done", "{}"))
        asked = str(messages[1]["content"])
        return wire.says("", *(call for words, call in WORK.items() if words in asked))

    return respond


@pytest.fixture
def home(tmp_path):
    """A home in which a test server is installed in place of the pool's servers."""
    entry = {
        "about": "Writes files.",
        "registry": "pypi",
        "package": "pool-server",
        "version": "1",
        "module": "pool_server",
    }
    entries = {
        name: entry | {"arguments": [name], "check": {"tool": f"{name}_write", "may_refuse": True}}
        for name in SERVERS
    }
    home = tmp_path / "home"
    (home / "mcp").mkdir(parents=True)
    (home / "mcp" / "servers.yaml").write_text(yaml.safe_dump(entries))
    for name in SERVERS:
        known = server(name, home)
        folder = install.folder_of(known, home)
        folder.mkdir(parents=True)
        shutil.copy(Path(__file__).with_name("pool_server.py"), folder)
        (folder / "installed.json").write_text(install._stamp(known))
    for path in (home, *home.rglob("*")):
        path.chmod(0o755)
    return home


@pytest.fixture
def night(store, new_run, wire, home):
    """Let agents work on tasks of the small pool and score them; returns the results by task."""
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    import_bank(store, "club", "toolathlon", POOL)

    def run(*names: str):
        bank = find_bank(store, "club")
        tasks = list(bank.tasks([f"toolathlon-{name}" for name in names]))
        agent = AgentSpec.parse("function_calling:compatible/m", base_url=wire.openai_url)
        made = new_run(*tasks, agents=(agent,), refinement_rounds=0)
        preparing.do(store, made.id, home)
        work.do(store, made.id, 0, home)
        scoring.do(store, made.id, 0)
        found = {result.trial.task_id: result for result in store.results(made.id)}
        return {name: found[f"toolathlon-{name}"] for name in names}

    return run


@pytest.fixture
def names():
    """The tasks of the small pool that can be run here."""
    every = [folder.name for folder in sorted((POOL / "tasks" / "club").iterdir())]
    if KINDS["postgresql"].missing() or importlib.util.find_spec("psycopg2") is None:
        every.remove("member-fees")
    return every


def test_an_agent_that_solves_every_task_of_a_pool_passes_all_that_can_be_verified(
    night, names, wire, store
):
    wire.respond = solving(wire)

    results = night(*names)

    for result in results.values():
        assert result.outcome.status is OutcomeStatus.FINISHED, result.outcome.error_detail
        assert result.outcome.turns == 2
    counted = results.pop("stock-take").score.leaves[0]
    assert (counted.score, counted.unscored) == (None, Unscored.SCRIPT_FAILED)
    assert "it needs the Python package 'club_inventory'" in counted.reason
    assert {name: r.root_score for name, r in results.items()} == dict.fromkeys(results, 10)

    guests = results["guest-list"]
    assert [file.name for file in guests.outcome.deliverables] == ["clean.csv"]
    assert "clean.csv is right" in guests.score.leaves[0].reason
    system, user = next(
        seen.body["messages"]
        for seen in wire.seen
        if "guests.csv in my workspace" in str(seen.body["messages"])
    )[:2]
    assert "Accessible workspace directory: /workspace/output\n" in system["content"]
    assert "Call `claim_done` when" in system["content"]
    assert "Your workspace is output/" in system["content"]
    assert "output/guests.csv" in user["content"]
    assert "clean.csv is right" not in json.dumps([seen.body for seen in wire.seen])


def test_an_agent_that_does_nothing_passes_none_by_what_the_programs_found(night, names, wire):
    wire.respond = lambda seen: wire.says("Done.")

    results = night(*names)

    assert results.pop("stock-take").score.leaves[0].unscored is Unscored.SCRIPT_FAILED
    assert {name: r.root_score for name, r in results.items()} == dict.fromkeys(results, 0)
    guests = results["guest-list"]
    assert [file.name for file in guests.outcome.deliverables] == ["guests.csv"]
    assert "clean.csv: expected" in guests.score.leaves[0].reason


def test_a_server_that_is_missing_costs_the_trial_and_names_itself(night, home):
    shutil.rmtree(home / "mcp" / "powerpoint")

    result = night("opening-hours")["opening-hours"]

    assert result.outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "'powerpoint'" in result.outcome.error
    assert result.root_score is None
