"""What a prediction earns beside the reference, and what many of them add up to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality.atomic.answers import is_right
from quality.atomic.step_by_step import score_steps, step_accuracy
from taskdata.schema.scores import AnswerMark, CallMark, StepScore
from taskdata.schema.task import (
    ImageGenerationAnswer,
    ObjectiveAnswer,
    ReferenceSolution,
    ReferenceStep,
    SubjectiveAnswer,
)
from taskdata.schema.transcript import Prediction, ToolCall

SEVEN = ObjectiveAnswer(whitelist=(("7", "seven"),), blacklist=(("8", "eight"),))
OPINION = SubjectiveAnswer(references=("Fine.", "Good.", "It is well done."))
READ = ReferenceStep(tool="OCR", arguments={"image": "a.png", "lines": [1, 2]})
ADD = ReferenceStep(tool="Calculator", arguments={"expression": "3 + 4"})
REFERENCE = ReferenceSolution(steps=(READ, ADD), final_answer="7")


def calls(step: ReferenceStep, error: str | None = None, **changes: object) -> Prediction:
    call = ToolCall(id="1", tool=step.tool, arguments=step.arguments)
    return Prediction(call=call.model_copy(update=changes), error=error)


def says(text: str) -> Prediction:
    return Prediction(answer=text)


PERFECT = (calls(READ), calls(ADD), says("It is seven."))


def test_predicting_the_reference_earns_everything():
    score = score_steps(PERFECT, REFERENCE, SEVEN)
    full = CallMark(aligned=True, tool=True, arguments=True)
    assert score.calls == (full, full)
    assert score.answer == AnswerMark(aligned=True, has_reference=True, score=1)
    assert (score.predicted_calls, score.predicted_errors) == (2, 0)


@pytest.mark.parametrize(
    ("prediction", "mark"),
    [
        (calls(READ, arguments={"lines": [1, 2], "image": "a.png"}), (True, True, True)),
        (calls(READ, arguments={"image": "b.png", "lines": [1, 2]}), (True, True, False)),
        (calls(ADD), (True, False, False)),
        (calls(READ, error="OCR lacks its argument 'image'"), (False, True, True)),
        (calls(READ, error="not one JSON object", arguments=None), (False, True, False)),
        (says("7"), (False, False, False)),
        (Prediction(error="the reply is empty"), (False, False, False)),
    ],
)
def test_a_call_is_compared_in_kind_tool_and_arguments(prediction, mark):
    first, _ = score_steps([prediction, *PERFECT[1:]], REFERENCE, SEVEN).calls
    assert (first.aligned, first.tool, first.arguments) == mark


@pytest.mark.parametrize(
    ("last", "aligned", "score"),
    [
        (says("7"), True, 1),
        (says("7 or 8"), True, 0),
        (says("77"), True, 0),
        (calls(ADD), False, 0),
        (Prediction(error="the reply is empty"), False, 0),
    ],
)
def test_an_objective_answer_is_right_or_wrong(last, aligned, score):
    found = score_steps([*PERFECT[:2], last], REFERENCE, SEVEN).answer
    assert (found.aligned, found.score) == (aligned, score)


@pytest.mark.parametrize("last", [says("Good."), says(""), calls(ADD)])
def test_a_subjective_answer_is_unscored_and_never_0(last):
    score = score_steps([*PERFECT[:2], last], REFERENCE, OPINION)
    assert (score.answer.has_reference, score.answer.score) == (True, None)
    found = step_accuracy([("a", score)])
    assert (found.summ_acc.mean, found.answers, found.answers_unscored) == (None, 1, 1)


@pytest.mark.parametrize("answer", [None, ImageGenerationAnswer()])
def test_without_a_text_to_compare_only_the_calls_count(answer):
    score = score_steps(PERFECT, REFERENCE, answer)
    assert (score.answer.has_reference, score.answer.score) == (False, None)
    found = step_accuracy([("a", score)])
    assert (found.inst_acc.n, found.answers) == (2, 0)
    assert found.inst_acc.mean == 1.5, "the published scorer's own reading"


def test_what_was_not_predicted_any_more_is_wrong():
    score = score_steps(PERFECT[:1], REFERENCE, SEVEN)
    assert [mark.aligned for mark in score.calls] == [True, False]
    assert score.answer == AnswerMark(aligned=False, has_reference=True, score=0)


def test_nothing_beyond_the_answer_counts():
    assert score_steps([*PERFECT, calls(ADD)], REFERENCE, SEVEN) == score_steps(
        PERFECT, REFERENCE, SEVEN
    )


def test_accuracies_run_over_all_steps_with_an_interval_by_task():
    wrong = score_steps([calls(ADD), says("7"), says("8")], REFERENCE, SEVEN)
    found = step_accuracy([("a", score_steps(PERFECT, REFERENCE, SEVEN)), ("b", wrong)])
    assert (found.trials, found.predicted_calls) == (2, 3)
    assert found.inst_acc.mean == pytest.approx(5 / 6)
    assert (found.tool_acc.mean, found.tool_acc.n) == (0.5, 4)
    assert (found.arg_acc.mean, found.summ_acc.mean) == (0.5, 0.5)
    low, high = found.tool_acc.ci95
    assert 0 <= low < 0.5 < high <= 1
    assert step_accuracy([("a", wrong), ("a", wrong)]).tool_acc.ci95 is None, "one task only"
    assert step_accuracy([]) is None


@pytest.mark.parametrize(
    ("answer", "is_it"),
    [("Vienna", True), ("WIEN!", True), ("Wiener", False), ("Wien, not Graz", False)],
)
def test_an_alias_counts_as_a_whole_word_in_any_case(answer, is_it):
    reference = ObjectiveAnswer(whitelist=(("Vienna", "Wien"),), blacklist=(("Graz",),))
    assert is_right(answer, reference) is is_it


def test_an_alias_with_a_symbol_at_its_end_is_found_as_the_published_scorer_finds_it():
    degrees = ObjectiveAnswer(whitelist=(("18°",),))
    assert not is_right("18°", degrees)
    assert is_right("18°C", degrees)


PREDICTIONS = st.lists(
    st.one_of(
        st.builds(says, st.text(max_size=5)),
        st.builds(calls, st.sampled_from([READ, ADD]), st.sampled_from([None, "wrong"])),
        st.just(Prediction(error="nothing")),
    ),
    max_size=5,
)
ANSWERS = st.sampled_from([SEVEN, OPINION, ImageGenerationAnswer(), None])


def scored(predictions: list[Prediction], answer: object) -> StepScore:
    return score_steps(predictions, REFERENCE, answer)


@given(st.lists(st.tuples(PREDICTIONS, ANSWERS), min_size=1, max_size=6))
def test_better_things_are_never_more_frequent_than_what_they_need(trials):
    scores = [(str(i), scored(*trial)) for i, trial in enumerate(trials)]
    for _, score in scores:
        assert all(mark.tool or not mark.arguments for mark in score.calls)
        assert score.predicted_errors <= score.predicted_calls <= len(REFERENCE.steps) + 1
    found = step_accuracy(scores)
    assert 0 <= found.arg_acc.mean <= found.tool_acc.mean <= 1
    assert found.answers_unscored <= found.answers <= found.trials


@given(st.lists(st.tuples(PREDICTIONS, ANSWERS), min_size=2, max_size=6), st.randoms())
def test_the_order_of_trials_does_not_matter(trials, dice):
    scores = [(str(i % 2), scored(*trial)) for i, trial in enumerate(trials)]
    shuffled = dice.sample(scores, len(scores))
    first, second = step_accuracy(scores), step_accuracy(shuffled)
    for name in ("inst_acc", "tool_acc", "arg_acc", "summ_acc"):
        one, other = getattr(first, name), getattr(second, name)
        assert one.mean == pytest.approx(other.mean)
        assert one.n == other.n
