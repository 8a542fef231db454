"""What `show` and `results` say where verdicts are missing, or too few leaves have a verifier."""

import json

import pytest

from taskdata.schema.scores import Unscored

REFUSED, ABSENT = Unscored.NO_VERDICT, Unscored.NOT_CONFIGURED
AGENT = "react:openai/gpt-5.2"


@pytest.fixture
def trials(stored_run) -> list[str]:
    """A trial whose judge refused, one that is mostly unverified, one that is all scored."""
    leaves = (
        (10.0, REFUSED, REFUSED, REFUSED),
        (9.0, ABSENT, ABSENT, ABSENT),
        (8.0, 8.0, 8.0, 8.0),
    )
    return stored_run({AGENT: leaves})[AGENT]


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (
            0,
            "Root score 2.50 to 10.00 of 10, coverage 25%, 3 of 4 leaves without a verdict: open",
        ),
        (1, "Root score 9.00 of 10, coverage 25%: undecided"),
        (2, "Root score 8.00 of 10, coverage 100%: succeeded"),
    ],
)
def test_a_trial_says_what_its_score_counts_for(command, trials, number, says):
    assert says in command("show", trials[number]).stdout.splitlines()


def test_leaves_say_why_they_have_no_score(command, trials):
    assert "no verdict" in command("show", trials[0]).stdout
    assert "not configured" in command("show", trials[1]).stdout


def test_programs_are_told_the_bounds_and_the_verdict(command, trials):
    refused = json.loads(command("show", trials[0], "--json").stdout)
    assert (refused["root_score"], refused["root_score_upper"]) == (2.5, 10.0)
    assert refused["verdict"] == "open"
    listed = json.loads(command("show", "--json").stdout)["trials"]
    assert {trial["verdict"] for trial in listed} == {"open", "undecided", "succeeded"}


def test_the_list_of_trials_shows_both_bounds(command, trials):
    assert "2.50 to 10.00" in command("show").stdout


def test_results_say_what_the_scores_leave_open(command, trials):
    told = " ".join(command("results").stdout.split())
    assert (
        f"{AGENT}: no verdict on 3 leaves; each counts 0. With full scores there, the root score "
        "would be 9.00 and root SR 100%."
    ) in told
    assert f"{AGENT}: 1 trial of 3 undecided, in no success rate: less than 50% of the" in told
    row = json.loads(command("results", "--json").stdout)["agents"][0]
    assert (row["root_sr"], row["undecided"], row["missing"]["trials"]) == (0.5, 1, 1)


def test_the_list_of_runs_credits_no_more_than_the_lower_bound(command, stored_run):
    stored_run({AGENT: ((10.0, REFUSED, REFUSED, REFUSED),)})
    (run,) = json.loads(command("runs", "--json").stdout)["runs"]
    assert run["best_score"] == 2.5


def test_wide_results_have_columns_for_what_is_open_only_where_something_is(
    command, trials, stored_run, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    header = command("results", "run-1", "--wide").stdout
    assert "at most" in header
    assert "undecided" in header
    stored_run({AGENT: (8.0,)}, run_id="run-2")
    whole = command("results", "run-2", "--wide").stdout
    assert "at most" not in whole
    assert "undecided" not in whole
