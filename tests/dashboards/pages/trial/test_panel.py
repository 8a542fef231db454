"""The leaf of a trial that a panel has judged shows what each judge said."""

from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.panel import JudgeOpinion
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore


def test_every_opinion_stands_below_its_leaf(
    store, new_run, new_task, plan, finish, dashboard, details_of
):
    tone = Checkpoint(id="tone", requirement="Polite.", verifier=Judge(rubric="10 if so."))
    run = new_run(new_task("judged", checkpoints=tone))
    (trial,) = [plan(run, task) for task in store.tasks_of_run(run.id).values()]
    finish(trial)
    leaf = LeafScore(
        leaf_id="tone",
        score=6.0,
        verifier="judge:mean(a, b, c)@3",
        reason="mean of b 4, a 8",
        panel=(
            JudgeOpinion(verifier="judge:b@3", score=4, reason="<b>too</b> long"),
            JudgeOpinion(verifier="judge:c@3", reason="it refused"),
            JudgeOpinion(verifier="judge:a@3", score=8, reason="clear"),
        ),
        disagreement=4.0,
    )
    root = NodeScore(id="tone", requirement="Polite.", weight=1, score=6.0, coverage=1, leaf=leaf)
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())

    page = dashboard(run)

    panel = details_of(page, trial.id)["tree"]["panel"]
    assert panel["apart"] == "the judges are 4 points apart"
    assert [(one["score"], one["judge"]) for one in panel["opinions"]] == [
        ("4", "b"),
        ("no verdict", "c"),
        ("8", "a"),
    ]
    assert panel["opinions"][0]["reason"] == "<b>too</b> long"
    assert "are 4.00 points apart on a leaf, over 1 leaf of first attempts" in page
