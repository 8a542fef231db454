"""`nightshift morning`: what changed in a night, in sentences and as JSON."""

import json
from datetime import timedelta

import pytest

from tests.flows.cli.conftest import NOW

AGENT = "react:openai/gpt-5.2"


@pytest.fixture
def two_nights(stored_run):
    """An agent that is as before on two tasks and fell on two others, and lost a trial."""
    stored_run({AGENT: (9.0, 8.0, 8.0, 9.0, 8.0)}, "first")
    stored_run(
        {AGENT: (9.0, 2.0, "model server is down", 3.0, 8.0)}, "second", NOW + timedelta(days=1)
    )


def test_a_run_that_was_not_published_says_how_to_take_it_in(command, two_nights):
    done = command("morning")
    assert done.returncode == 2
    assert "run 'second' has no morning" in done.stderr
    assert "nightshift morning --rebuild" in done.stderr


def test_all_nights_are_made_again_and_the_latest_is_told(command, two_nights):
    done = command("morning", "--rebuild")
    assert done.returncode == 0
    assert "2 nights made again" in done.stderr
    said = " ".join(done.stdout.split())
    assert "Run second" in said
    assert "No difference is beyond chance." in said
    assert f"{AGENT}: 8.50 before, 5.50 now" in said
    assert "model server is down" in said
    assert "There is only one comparable night" in said


def test_any_night_is_told_by_its_id_and_as_json(command, two_nights):
    command("morning", "--rebuild")
    first = json.loads(command("morning", "first", "--json").stdout)
    assert (first["run_id"], first["baseline"]) == ("first", [])
    second = json.loads(command("morning", "second", "--json").stdout)
    assert second["baseline"] == ["first"]
    (whole,) = [change for change in second["changes"] if change["scope"] == "all"]
    assert (whole["agent"], whole["before"], whole["after"], whole["tasks"]) == (AGENT, 8.5, 5.5, 4)
    assert second["errors"] == [{"cause": "model server is down", "before": 0, "after": 1}]


def test_a_run_that_is_not_there_is_named(command, two_nights):
    done = command("morning", "third")
    assert (done.returncode, "third" in done.stderr) == (2, True)
