"""What `show` and `results` say where verdicts are missing, or too few leaves have a verifier."""

import json
from contextlib import closing

import pytest

from flows.config import load_settings
from taskdata.schema.atomic import AnswerKind, EndToEndScore, ToolMatch
from taskdata.schema.panel import JudgeOpinion
from taskdata.schema.scores import NodeScore, Unscored
from taskdata.store import Store
from taskdata.tables import ScoreRow

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


def test_a_trial_of_a_panel_says_what_each_judge_said(command, stored_run, home):
    (trial,) = stored_run({AGENT: ((6.0, ABSENT, ABSENT, ABSENT),)})[AGENT]
    opinions = (
        JudgeOpinion(verifier="judge:a@2", score=4, reason="too long"),
        JudgeOpinion(verifier="judge:b@2", score=8, reason="clear"),
        JudgeOpinion(verifier="judge:c@2", score=None, reason="it refused"),
    )
    store = Store.open(load_settings().address)
    with store._writing() as session:
        row = session.get_one(ScoreRow, trial)
        tree = NodeScore.model_validate(row.tree)
        leaf = tree.children[0].leaf.model_copy(update={"panel": opinions, "disagreement": 4.0})
        first = tree.children[0].model_copy(update={"leaf": leaf})
        changed = tree.model_copy(update={"children": (first, *tree.children[1:])})
        row.tree = changed.model_dump(mode="json")
    said = command("show", trial).stdout
    rows = [line.split() for line in said.splitlines()]
    assert ["leaf-0", "4", "a", "4", "too", "long"] in rows
    assert ["leaf-0", "4", "c", "no", "verdict", "it", "refused"] in rows

    told = " ".join(command("results").stdout.split())
    assert "are 4.00 points apart on a leaf, over 1 leaf of first attempts." in told
    summary = json.loads(command("results", "--json").stdout)
    assert (summary["disagreement"]["mean"], summary["disagreement"]["n"]) == (4.0, 1)

    page = home.parent / "page.html"
    command("report", "--output", str(page))
    assert "points apart on a leaf" in page.read_text()
    store.close()


def test_a_trial_of_the_atomic_tier_shows_what_it_earned_end_to_end(command, trials):
    earned = EndToEndScore(
        tools={"logic": ToolMatch(reference=1, found=1, predicted=1, matched=1)},
        tool_calls=1,
        kind=AnswerKind.OBJECTIVE,
        score=1,
        score_mended=1,
    )
    with closing(Store.open(load_settings().address)) as store, store._writing() as session:
        row = session.get(ScoreRow, trials[2])
        tree = NodeScore.model_validate(row.tree).model_copy(update={"end_to_end": earned})
        row.tree = tree.model_dump(mode="json")
    told = " ".join(command("show", trials[2]).stdout.split())
    assert "End to end, atomic tier" in told
    assert "AnsAcc │ 1.00" in told or "AnsAcc 1.00" in told
    assert "End to end" not in command("show", trials[1]).stdout


def test_a_refined_trial_names_the_one_before(command, trials):
    with closing(Store.open(load_settings().address)) as store:
        first = store.trial(trials[2])
        changes = {"id": "t-refined", "round": 1, "arm": "none", "parent_trial_id": first.id}
        store.plan_trials([first.model_copy(update=changes)])
    told = command("show", "t-refined").stdout
    assert f"Repetition 1, round 1 of arm none, after trial {first.id}: due" in told
