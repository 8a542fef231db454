"""Step by step metrics: InstAcc, ToolAcc, ArgAcc and SummAcc (GTA, section 4.1).

A prediction is compared with what stands at its place in the reference: the tool calls in order,
then the answer. Faults of a call count in InstAcc alone, as in the published scorer.
"""

from collections.abc import Sequence

from quality.atomic.answers import is_right
from quality.encoders.encoder import Similarity, names_of
from quality.statistics.intervals import clustered_mean, clustered_share
from taskdata.schema.estimate import Estimate
from taskdata.schema.scores import AnswerMark, CallMark, StepScore
from taskdata.schema.summary import StepAccuracy
from taskdata.schema.task import (
    Answer,
    ObjectiveAnswer,
    ReferenceSolution,
    ReferenceStep,
    SubjectiveAnswer,
)
from taskdata.schema.transcript import Prediction

_NOTHING = Prediction()


def score_steps(
    predictions: Sequence[Prediction],
    reference: ReferenceSolution,
    answer: Answer | None,
    similarity: Similarity | None = None,
) -> StepScore:
    """Return how each prediction compares with its place in the reference.

    Args:
        predictions: In order; those that are missing because the agent's budget ended hold for
            nothing, and those beyond the answer are left out.
        reference: What was to be predicted.
        answer: The task's.
        similarity: Compares meanings; None: a subjective answer is not scored.
    """
    steps = reference.steps
    given = [*predictions[: len(steps) + 1]]
    given += [_NOTHING] * (len(steps) + 1 - len(given))
    called = [prediction for prediction in given if prediction.call is not None]
    return StepScore(
        calls=tuple(_call_mark(p, step) for p, step in zip(given, steps, strict=False)),
        answer=_answer_mark(given[-1], answer, similarity),
        predicted_calls=len(called),
        predicted_errors=sum(p.error is not None for p in called),
    )


def _call_mark(prediction: Prediction, step: ReferenceStep) -> CallMark:
    call = prediction.call
    same_tool = call is not None and call.tool == step.tool
    return CallMark(
        aligned=call is not None and prediction.error is None,
        tool=same_tool,
        arguments=same_tool and call is not None and call.arguments == step.arguments,
    )


def _answer_mark(
    prediction: Prediction, answer: Answer | None, similarity: Similarity | None
) -> AnswerMark:
    # A call that is predicted beside an answer would be made first.
    said = prediction.answer if prediction.call is None else None
    score = encoder = None
    if isinstance(answer, ObjectiveAnswer):
        score = float(said is not None and is_right(said, answer))
    # Without an encoder not even a missing answer is 0: a mean over failures alone says nothing.
    elif isinstance(answer, SubjectiveAnswer) and similarity is not None:
        encoder = similarity.encoder
        score = 0.0 if said is None else min(similarity.best(said, answer.references), 1.0)
    return AnswerMark(
        aligned=said is not None and prediction.error is None,
        has_reference=isinstance(answer, ObjectiveAnswer | SubjectiveAnswer),
        score=score,
        encoder=encoder,
    )


def step_accuracy(scores: Sequence[tuple[str, StepScore]]) -> StepAccuracy | None:
    """Return the metrics over trials, each as task id and score; None without any.

    Shares run over all steps together, as GTA counts them, so long references weigh more.
    """
    if not scores:
        return None
    calls = [(task, mark) for task, score in scores for mark in score.calls]
    answers = [(task, score.answer) for task, score in scores if score.answer.has_reference]
    scored = [(task, mark.score) for task, mark in answers if mark.score is not None]
    return StepAccuracy(
        trials=len(scores),
        inst_acc=_inst_acc(scores),
        tool_acc=_estimate([(task, float(mark.tool)) for task, mark in calls]),
        arg_acc=_estimate([(task, float(mark.arguments)) for task, mark in calls]),
        summ_acc=_estimate(scored),
        answers=len(answers),
        answers_unscored=len(answers) - len(scored),
        encoder=names_of(mark.encoder for _, mark in answers),
        predicted_calls=sum(score.predicted_calls for _, score in scores),
        predicted_errors=sum(score.predicted_errors for _, score in scores),
    )


def _inst_acc(scores: Sequence[tuple[str, StepScore]]) -> Estimate:
    values: list[tuple[str, float]] = []
    beside = 0
    for task, score in scores:
        counted = [float(mark.aligned) for mark in score.calls]
        if score.answer.has_reference:
            counted.append(float(score.answer.aligned))
        elif counted:
            # An answer that nothing compares with is in the sum and not among the steps.
            counted[-1] += score.answer.aligned
            beside += 1
        values += [(task, value) for value in counted]
    return _estimate(values, highest=1 + beside / len(values) if values else 1)


def _estimate(values: Sequence[tuple[str, float]], highest: float = 1.0) -> Estimate:
    """Return the mean of values by task; of a share, with the interval of a share."""
    numbers, tasks = [value for _, value in values], [task for task, _ in values]
    if set(numbers) <= {0.0, 1.0}:
        return clustered_share([number > 0 for number in numbers], tasks)
    return clustered_mean(numbers, tasks, lowest=0, highest=highest)
