"""What traces of many trials add up to."""

import pytest

from quality.atomic.end_to_end import end_to_end_accuracy
from taskdata.schema.atomic import AnswerKind, EndToEndScore, ToolMatch


def score(value, kind=AnswerKind.OBJECTIVE, mended=None, **logic):
    return EndToEndScore(
        tools={"logic": ToolMatch(**logic)},
        tool_calls=2,
        tool_errors=1,
        kind=kind,
        score=value,
        score_mended=value if mended is None else mended,
        encoder="letters" if kind is not AnswerKind.OBJECTIVE and value is not None else None,
    )


def test_shares_are_over_trials_and_f1_over_all_calls():
    found = end_to_end_accuracy(
        [
            ("a", score(1.0, reference=2, found=2, predicted=1, matched=1)),
            ("b", score(0.0, mended=1.0, reference=1, predicted=2)),
            ("c", score(0.5, AnswerKind.IMAGE_GENERATION)),
        ]
    )
    assert (found.trials, found.tool_calls, found.tool_errors) == (3, 6, 3)
    assert (found.ans_acc.mean, found.ans_acc.n) == (0.5, 2)
    assert (found.ans_acc_w_imggen.mean, found.ans_acc_w_imggen.n) == (0.5, 3)
    assert found.ans_acc_mended.mean == 1
    logic = found.tool_selection["logic"]
    assert logic.f1 == pytest.approx(2 / 3, abs=1e-4)
    assert logic.f1_mended == pytest.approx(2 / 6)
    assert (logic.reference, logic.predicted) == (3, 3)
    assert found.tool_selection["creativity"].f1_mended is None
    assert found.encoder == "letters"


def test_what_was_not_compared_is_counted_and_in_no_mean():
    unscored = score(None, AnswerKind.SUBJECTIVE)
    found = end_to_end_accuracy([("a", unscored), ("b", score(1.0))])
    assert (found.ans_acc.mean, found.ans_acc.n, found.answers_unscored) == (1, 1, 1)
    assert found.encoder is None
    assert end_to_end_accuracy([]) is None


def test_f1_has_an_interval_over_tasks_and_not_over_trials(monkeypatch):
    monkeypatch.setattr("quality.statistics.bootstrap.RESAMPLES", 199)
    right = {"reference": 2, "found": 2, "predicted": 2, "matched": 2}
    wrong = {"reference": 2, "found": 0, "predicted": 2}
    tasks = [(f"t{n}", score(1.0, **(right if n % 2 else wrong))) for n in range(12)]
    once = end_to_end_accuracy(tasks).tool_selection["logic"]
    assert once.f1 == pytest.approx(0.5, abs=1e-4)
    assert once.f1_ci95[0] < 0.35 < 0.65 < once.f1_ci95[1]
    assert once.f1_mended_ci95 == pytest.approx(once.f1_ci95, abs=1e-4)
    thrice = end_to_end_accuracy(tasks * 3).tool_selection["logic"]
    assert thrice.f1_ci95 == pytest.approx(once.f1_ci95, abs=1e-6), "repetitions tell no more"
    few = end_to_end_accuracy(tasks[:4]).tool_selection
    assert (few["logic"].f1_ci95, few["creativity"].f1_ci95) == (None, None)
