"""The end-to-end score of a trial of the atomic tier, on its page."""

import pytest

from dashboards.pages.trial.end_to_end import end_to_end_facts
from taskdata.schema.atomic import AnswerKind, EndToEndScore, ToolMatch
from taskdata.schema.scores import NodeScore, TrialScore

SCORE = EndToEndScore(
    tools={"logic": ToolMatch(reference=2, found=1, predicted=3, matched=1)},
    tool_calls=4,
    tool_errors=1,
    kind=AnswerKind.SUBJECTIVE,
    score=0.714,
    score_mended=0.5,
    encoder="all-mpnet-base-v2",
)


def test_the_page_of_a_trial_has_what_it_earned_end_to_end(
    store, new_run, new_task, plan, finish, dashboard, details_of
):
    task = new_task("sum")
    trial = plan(run := new_run(task), task)
    finish(trial)
    root = NodeScore(id="root", requirement="x", weight=1, score=8, coverage=1, end_to_end=SCORE)
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
    assert details_of(dashboard(run), trial.id)["end_to_end"] == [
        ["Asked for", "subjective"],
        ["AnsAcc", "0.71 as published, 0.50 mended"],
        ["Encoder", "all-mpnet-base-v2"],
        ["Tool calls", "4, 1 of them faulty"],
        [
            "L-F1",
            "of 2 logic calls in the reference 1 made; 3 made in all, 1 matched one to one",
        ],
    ]


@pytest.mark.parametrize(
    ("update", "told"),
    [
        (
            {"score": None},
            ("AnsAcc", "unscored: meanings have to be compared, and nothing here does"),
        ),
        ({"score_mended": 0.714}, ("AnsAcc", "0.71")),
        (
            {"kind": AnswerKind.IMAGE_GENERATION, "score_mended": None},
            ("AnsAcc w/ ImgGen", "0.71"),
        ),
    ],
)
def test_the_answer_is_told_as_what_it_is(update, told):
    assert told in end_to_end_facts(SCORE.model_copy(update=update))
