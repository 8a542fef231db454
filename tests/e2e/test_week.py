"""Seven nights: the mornings say what happened in each, and nothing else."""

import json
import subprocess
import time
from types import SimpleNamespace

import pytest

from tests.e2e.week import CATEGORIES, SHAKY, SHEETS, STEADY, Models, settings, write_bank
from tests.soak import at_length_only
from tests.wire_server import running_wire_server

pytestmark = [pytest.mark.e2e, pytest.mark.soak, pytest.mark.timeout(3000), at_length_only]

TRIALS = 2 * 2 * len(CATEGORIES) * SHEETS


@pytest.fixture
def week(tmp_path, command, scripted_model, seed_rows):
    """An installation with the bank and the agents of the week; its nights are run by `night`."""
    home, models = tmp_path / "home", Models()
    bank = tmp_path / "sums"
    write_bank(bank)
    with running_wire_server() as server:
        server.respond = models.respond
        text = settings(str(bank), server.openai_url, scripted_model)
        (tmp_path / "nightshift.toml").write_text(text)

        def night(*arguments, expected=0):
            done = command.run(home, "run", *arguments, timeout=900)
            assert done.returncode == expected, done.stdout + done.stderr
            models.day += 1
            return command.read(home, "morning")

        yield SimpleNamespace(
            home=home, models=models, night=night, seeds=lambda: seed_rows("forum.csv", 2)
        )


def alarms(morning, *verdicts):
    """Agent and scope of the changes with one of these verdicts, tasks alone left out."""
    return {
        (change["agent"], change["scope"], change["difference"]["mean"] > 0)
        for change in morning["changes"]
        if change["verdict"] in verdicts and not change["scope"].startswith("task")
    }


def no_alarm(morning):
    return alarms(morning, "confirmed", "suspected") == set()


def test_the_mornings_of_a_week_say_what_happened(week, command):
    home, models, night = week.home, week.models, week.night

    first = night()
    assert first["baseline"] == []
    assert "first night" in " ".join(first["notes"])
    assert no_alarm(night())
    assert no_alarm(night())

    models.worse_in = "data_analysis"
    regression = night()
    assert (SHAKY, "category data_analysis", False) in alarms(regression, "confirmed")
    assert STEADY not in {agent for agent, _, _ in alarms(regression, "confirmed", "suspected")}
    models.worse_in = None

    models.broken = "steady"
    broken = night(expected=3)
    models.broken = None
    assert sum(error["after"] for error in broken["errors"]) == TRIALS // 2
    assert no_alarm(broken), "the shaky one is back at its usual level, the other has no score"

    refresh(home, command, week.seeds())
    refreshed = night("--bank", "week@latest")
    assert refreshed["differs"]["bank"][1] == "week@1"
    assert {"bank", "release_hash"} <= refreshed["differs"].keys()
    assert no_alarm(refreshed)

    run_id = killed_at_work(home, command, "--bank", "week@latest")
    resumed = night("--resume", run_id)
    assert resumed["run_id"] == run_id
    assert no_alarm(resumed)
    trials = command.read(home, "show", "--run", run_id)["trials"]
    assert {t["outcome"]["status"] for t in trials} == {"finished"}

    pages(home, command)


def refresh(home, command, seeds):
    for words in (
        ("seeds", "add", str(seeds)),
        ("refresh",),
        ("review", "approve", "--all", "--comment", "read and tried"),
        ("refresh", "--resume", "latest"),
    ):
        done = command.run(home, *words)
        assert done.returncode == 0, done.stdout + done.stderr


def killed_at_work(home, command, *arguments):
    """Begin a night and kill it with its workers while it executes; return its id."""
    before = {run["id"] for run in command.read(home, "runs")["runs"]}
    process = subprocess.Popen(
        [*command.argv, "run", *arguments],
        cwd=home.parent,
        env=command.environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        (new,) = [r for r in command.read(home, "runs")["runs"] if r["id"] not in before] or [None]
        if new and any(t["outcome"] for t in trials_of(home, command, new["id"])):
            break
        time.sleep(0.2)
    process.kill()
    process.wait()
    return new["id"]


def trials_of(home, command, run_id):
    done = command.run(home, "show", "--run", run_id, "--json")
    return json.loads(done.stdout)["trials"] if done.returncode == 0 else []


def pages(home, command):
    """The site names the regression of the fourth night on the pages that look back."""
    site = home / "site"
    assert {"index.html", "trends.html", "leaderboard.html", "failures.html", "tasks.html"} <= {
        page.name for page in site.iterdir()
    }
    runs = [run["id"] for run in command.read(home, "runs")["runs"]]
    assert len(runs) == 7, "confirming re-runs are no nights of their own"
