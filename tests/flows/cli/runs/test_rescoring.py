"""`nightshift rescore`: what it refuses before anything starts, and what it leaves."""

import json

import pytest

from flows.config import load_settings
from flows.locks import run_lock
from flows.publishing import publish
from stages.prepare.rescore import copy_trials, plan_rescoring, rescoring_config
from taskdata.schema.run import RunStatus
from taskdata.store import Store
from tests.soak import at_length_only

ASKS = ("rescore", "run-1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--judge", "nope/x"), "unknown provider"),
        (("--judge", "openai/gpt-5.2"), "OPENAI_API_KEY"),
        (("--max-usd", "-1"), "max_usd"),
        (("--name", "a/b"), "--name 'a/b'"),
    ],
)
def test_what_could_not_be_done_is_refused_before_it_begins(
    command, stored_run, arguments, message
):
    stored_run({"nop": (8.0,)})
    done = command(*ASKS, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_run_that_is_not_there_or_not_over_is_named(command, stored_run):
    assert "'run-1' is not in the store" in command(*ASKS).stderr
    stored_run({"nop": (8.0,)})
    with run_lock(load_settings(), "run-1"):
        done = command(*ASKS)
    assert (done.returncode, "run run-1 is being worked on" in done.stderr) == (2, True)


@pytest.fixture
def rescored(stored_run) -> str:
    """A rescoring whose trials are there and not scored yet."""
    stored_run({"nop": (8.0,)})
    store = Store.open(load_settings().address)
    source = store.run("run-1")
    run = plan_rescoring(store, source, rescoring_config(source), "again")
    copy_trials(store, run)
    store.close()
    return run.id


def test_its_page_says_whose_trials_they_are_and_no_night_is_kept(command, rescored):
    settings = load_settings()
    store = Store.open(settings.address)
    publish(settings, store, rescored)
    page = (settings.run_folder(rescored) / "dashboard.html").read_text()
    assert "<dt>Scores again</dt><dd>run run-1</dd>" in page
    assert "the agents were paid in run run-1" in page
    assert (store.night(rescored), store.find_morning(rescored)) == (None, None)
    store.close()
    assert not (settings.site_folder / "index.html").exists()

    done = command("morning", rescored)
    assert (done.returncode, "is no night: it scores run-1 again" in done.stderr) == (2, True)
    said = command("results", rescored).stdout
    assert "This run scores run run-1 again" in " ".join(said.split())


@pytest.mark.soak
@at_length_only
def test_a_rescoring_is_carried_on_and_done_once(nightshift, home, wire, stored_run):
    stored_run({"nop": (8.0,)})
    (home.parent / "nightshift.toml").write_text(
        f'[key_hosts]\ncompatible = ["{wire.url}"]\n[run]\njudge_base_url = "{wire.openai_url}"\n'
    )
    judge = ("--judge", "compatible/second")
    first = nightshift(*ASKS, *judge, "--json", timeout=300)
    summary = json.loads(first.stdout)
    assert summary["run"] | {"status": "completed", "rescores": "run-1"} == summary["run"]
    again = nightshift(*ASKS, *judge, timeout=300)
    assert "Run run-1-second is complete already" in again.stdout
    store = Store.open(load_settings().address)
    assert [(run.id, run.status) for run in store.runs()] == [
        ("run-1-second", RunStatus.COMPLETED),
        ("run-1", RunStatus.COMPLETED),
    ]
    assert len(store.results("run-1-second")) == 1
    store.close()
