"""What starts work says what it would do, and refuses what could not be done, before it begins."""

import json
from collections.abc import Callable

import pytest

from flows.config import load_settings
from flows.locks import run_lock
from stages.prepare.select import select
from taskdata.schema.run import RunConfig
from taskdata.store import Store


@pytest.fixture
def stored(home) -> Callable[[str], None]:
    """Store a run of that id, with one refinement round, as `run` does when it starts."""

    def store_run(run_id: str) -> None:
        store = Store.open(load_settings().address)
        config = RunConfig(agents=({"harness": "nop"},), tasks=("harvest-pie",))
        select(store, config, run_id)
        store.close()

    return store_run


def estimate(*arguments: str) -> tuple[str, ...]:
    return ("run", "--estimate", "--task", "harvest-pie", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--agent", "telepath"), "telepath"),
        (("--agent", "react"), "needs a model"),
        (("--agent", "react:nope/x"), "unknown provider"),
        (("--agent", "react:local/no-such-model"), "no-such-model"),
        (("--agent", "nop", "--judge", "nope/foo"), "unknown provider"),
        (("--agent", "react:compatible/x", "--max-usd", "2"), "price"),
    ],
)
def test_no_price_is_told_of_a_run_that_would_be_refused(command, arguments, message):
    done = command(*estimate(*arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_estimate_needs_no_key(command):
    done = command(*estimate("--agent", "react:openai/gpt-5.2", "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"]["at_most_usd"] > 0


def test_a_server_of_ones_own_without_an_address_is_told_where_to_name_it(command):
    said = command("run", "--agent", "react:compatible/x").stderr
    assert "--base-url" in said
    assert "`base_url` of its agent in nightshift.toml" in said


def test_a_round_that_the_run_does_not_have_is_misuse(command, stored):
    stored("20260101-000000-aaaa")
    for stage, number in (("execute", "9"), ("score", "2"), ("refine", "0"), ("diagnose", "-1")):
        done = command("stage", stage, "--round", number)
        assert done.returncode == 2
        assert f"no round {number}" in done.stderr


def test_latest_is_the_newest_run(command, stored):
    done = command("run", "--resume", "latest")
    assert (done.returncode, "no run yet" in done.stderr) == (2, True)

    stored("20260101-000000-aaaa")
    stored("20260202-000000-bbbb")
    # Held, so that it is named and not carried on.
    with run_lock(load_settings(), "20260202-000000-bbbb"):
        done = command("run", "--resume", "latest")
    assert (done.returncode, "20260202-000000-bbbb" in done.stderr) == (2, True)


def test_a_server_that_was_kept_is_let_go(command, home):
    kept = home / "prefect" / "keep"
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert "ends once no command uses it" in command("serve", "--stop").stdout
    assert not kept.exists()
    assert "No Prefect server was kept" in command("serve", "--stop").stdout


def test_the_last_lines_lead_to_where_the_dashboard_is_served(stored, home, capsys):
    from flows.cli.runs import evaluating

    stored("night-1")
    settings = load_settings()
    store = Store.open(settings.address)
    store.set_dashboard("night-1", f"{home}/runs/night-1/dashboard.html")
    store.close()

    page = "http://127.0.0.1:4713/runs/night-1"
    evaluating.close(settings, "night-1", page, "Prefect UI")
    assert "Dashboard: http://127.0.0.1:4713/runs/night-1\n" in capsys.readouterr().out
    evaluating.close(settings, "night-1", None, "Prefect UI")
    assert f"Dashboard: {home}/runs/night-1/dashboard.html\n" in capsys.readouterr().out
