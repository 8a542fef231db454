"""Predicted steps beside those of the reference, each with what it was found to be."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from dashboards.pages import formats
from dashboards.pages.trial.caps import Cap, Shown, shown
from dashboards.pages.trial.transcript import shown_arguments
from taskdata.schema.scores import AnswerMark, CallMark, StepScore
from taskdata.schema.task import ReferenceSolution, ReferenceStep
from taskdata.schema.transcript import Prediction, ToolCall

Row = dict[str, Any]
_Said = tuple[Shown, Shown]
"""What a step is, and its text."""


def compared(
    reference: ReferenceSolution, predictions: Sequence[Prediction], score: StepScore, cap: Cap
) -> list[Row]:
    """Return one row per step of the reference and one for the answer, the first ones of many.

    `marks` are names with true, false, or None for what was not to be scored.
    """
    given = [*predictions[: len(score.calls) + 1]]
    places = zip_longest(zip(reference.steps, score.calls, strict=True), given[: len(score.calls)])
    rows = [
        _row(str(number), _reference_call(step, cap), predicted, _call_marks(mark), cap)
        for number, ((step, mark), predicted) in enumerate(places, start=1)
    ][: cap.nodes]
    if len(score.calls) > len(rows):
        rows.append({"more": f"{formats.plural(len(score.calls) - len(rows), 'step')} not shown"})
    expected: _Said = ("answer", shown(reference.final_answer, cap.text))
    last = given[-1] if len(given) > len(score.calls) else None
    return [*rows, _row("Answer", expected, last, _answer_marks(score.answer), cap)]


def _row(
    place: str, expected: _Said, predicted: Prediction | None, marks: list[list[Any]], cap: Cap
) -> Row:
    said, error = _predicted(predicted, cap), None if predicted is None else predicted.error
    return {
        "place": place,
        "expected": expected,
        "predicted": said,
        "error": "" if error is None else shown(error, cap.reason),
        "marks": marks,
    }


def _reference_call(step: ReferenceStep, cap: Cap) -> _Said:
    call = ToolCall(id="", tool=step.tool, arguments=step.arguments)
    return shown(step.tool, cap.reason), shown_arguments(call, cap)


def _predicted(prediction: Prediction | None, cap: Cap) -> _Said:
    if prediction is None:
        return "not predicted: the trial ended before", ""
    if prediction.call is not None:
        return shown(prediction.call.tool, cap.reason), shown_arguments(prediction.call, cap)
    if prediction.answer is not None:
        return "answer", shown(prediction.answer, cap.text)
    return "nothing that can be read", ""


def _call_marks(mark: CallMark) -> list[list[Any]]:
    return [
        ["kind (InstAcc)", mark.aligned],
        ["tool (ToolAcc)", mark.tool],
        ["arguments (ArgAcc)", mark.arguments],
    ]


def _answer_marks(mark: AnswerMark) -> list[list[Any]]:
    marks: list[list[Any]] = [["kind (InstAcc)", mark.aligned]]
    if mark.has_reference:
        marks.append(["answer (SummAcc)", None if mark.score is None else mark.score == 1])
    return marks
