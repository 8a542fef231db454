"""The tables of refinement that `nightshift results` and `--detail` print."""

import json

import pytest

from flows.cli.runs.details import write_detail
from flows.cli.runs.reading import write_details
from flows.summaries import summary_of
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore

AGENT = "react:openai/gpt-5.2"


@pytest.fixture
def summary(store, new_run, new_task, plan_trial):
    """Three tasks; `checkpoint` mends two that failed, and `none` makes one of them worse."""
    tasks = [new_task(f"task-{n}") for n in range(3)]
    run = new_run(*tasks, agents=(AGENT,), feedback=("none", "checkpoint"), refinement_rounds=1)

    def attempt(task, score, **kind):
        trial = plan_trial(run, task, AGENT, **kind)
        done = {"started_at": run.created_at, "finished_at": run.created_at, "attempt": 1}
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                status=OutcomeStatus.FINISHED,
                cost_usd=0.5,
                sandbox="bubblewrap",
                code_version="test",
                **done,
            )
        )
        leaf = LeafScore(leaf_id="sum", score=score, verifier="check:x@1", reason="x")
        root = NodeScore(id="sum", requirement="x", weight=1, score=score, coverage=1, leaf=leaf)
        store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())

    for task, score in zip(tasks, (9.0, 2.0, 4.0), strict=True):
        attempt(task, score)
    for arm, scores in {"none": (2.0, 3.0), "checkpoint": (8.0, 6.0)}.items():
        for task, score in zip(tasks[1:], scores, strict=True):
            attempt(task, score, round_=1, arm=arm)
    return summary_of(store, run.id)


@pytest.fixture
def shown(summary, capsys, monkeypatch):
    """Write tables in a terminal of that many columns; returns the lines, their cells in one."""
    from flows.cli import console

    def write(how, columns: int) -> list[str]:
        monkeypatch.setattr(console.out, "_width", columns)
        how(summary)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= columns
        return [" ".join(line.split()) for line in lines]

    return write


def test_the_short_table_fits_80_columns_with_both_gains_and_the_price_of_a_point(shown):
    lines = shown(write_details, 80)
    (none,) = [line for line in lines if " none " in f" {line} " and AGENT in line]
    (told,) = [line for line in lines if "checkpoint" in line]
    assert none == f"{AGENT} none 2/2 -0.50 no"
    assert told == f"{AGENT} checkpoint 2/2 +4.00 +4.50 $0.12"
    assert "round 1 (-6.85,5.85) gain" in lines


def test_details_have_tests_cost_worse_leaves_and_the_whole_bank(shown):
    lines = shown(write_detail, 160)
    below = {title: n + 3 for n, title in enumerate(lines) if title.startswith("Refinement")}
    tests, bank = below.values()
    assert lines[tests] == f"{AGENT} none 1 2 0 -16.7% $1.00 1 of 2 50%"
    assert lines[bank].startswith(f"{AGENT} none 1 2 of 3 5.00 4.67 -0.33")
    loss = next(n for n, line in enumerate(lines) if line.startswith("Leaves that lost most"))
    assert lines[loss + 3].startswith(f"{AGENT} none 1 task-2 sum 4.00 3.00 t")


def test_json_has_first_attempts_and_refinement_apart(summary):
    told = json.loads(summary.model_dump_json())
    assert told["agents"][0]["root_score"]["mean"] == 5
    _, gain = told["refinement"]
    assert gain["cost_per_point_usd"] == 0.125
    assert gain["over_none"]["difference"]["mean"] == 4.5
    assert gain["regressions"] == {
        "worse": 0,
        "leaves": 2,
        "share": gain["regressions"]["share"],
        "top": [],
    }
    assert gain["whole_bank"]["after"]["mean"] == pytest.approx(23 / 3)
