"""Foreign predictions of the atomic tier, scored task by task.

Neither a judge nor a tool's backend is needed: a predicted call is compared and never executed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quality.atomic.messages import Message, MessageKind
from quality.atomic.published import StepCounts
from quality.atomic.traces import FOURTEEN, answer_scores, kind_of, score_trace
from quality.encoders.encoder import Similarity
from taskdata.errors import BadTaskData
from taskdata.formats.gta.predictions import PredictedTask
from taskdata.schema.atomic import AnswerKind, EndToEndScore

_ROLE = "assistant"


def end_to_end_score(task: PredictedTask, similarity: Similarity | None) -> EndToEndScore:
    """Return what the trace of a task earns.

    Raises:
        BadTaskData: It cannot be read as far as the published scorer reads it.
    """
    gold = _messages("reference", task.key, task.reference)
    for message in gold:
        if message.calls_tool and message.tool not in FOURTEEN:
            raise BadTaskData(
                f"{message.where}: calls {message.tool[:80]!r}, which is none of the fourteen "
                "tools that P/O/L/C-F1 are defined over; leave the task out"
            )
    try:
        return score_trace(
            _messages("prediction", task.key, task.predicted), gold, task.answer, similarity
        )
    except BadTaskData as exc:
        raise _about(task, exc) from exc


def step_counts(task: PredictedTask, similarity: Similarity | None) -> StepCounts:
    """Return what the predicted steps of a task add to the metrics.

    Like the published scorer, it looks at as many steps of the reference as there are predictions.

    Raises:
        BadTaskData: It cannot be read as far as the published scorer reads it.
    """
    gold = [
        message
        for message in _messages("reference", task.key, task.reference)
        if message.raw.get("role") == _ROLE
    ]
    pairs = list(zip(_messages("prediction", task.key, task.predicted), gold, strict=False))
    try:
        kind = kind_of(task.answer)
        for ours, theirs in pairs:
            ours.require_body()
            theirs.require_body()
        same = [(ours, theirs) for ours, theirs in pairs if ours.kind is theirs.kind]
        calls = [ours for ours, _ in pairs if ours.calls_tool]
        right = [(o, t) for o, t in same if o.kind is MessageKind.TOOL and o.tool == t.tool]
        said = [ours for ours, _ in same if ours.kind is MessageKind.ANSWER]
        answer, mended = _answers(said, kind, task.answer, similarity)
    except BadTaskData as exc:
        raise _about(task, exc) from exc
    compares = kind is AnswerKind.SUBJECTIVE and said and similarity is not None
    return StepCounts(
        tools=sum(theirs.calls_tool for _, theirs in pairs),
        steps=len(gold),
        tool_steps=sum(message.calls_tool for message in gold),
        aligned=sum(not ours.is_erroneous for ours, _ in same),
        right_tools=len(right),
        right_arguments=sum(ours.arguments == theirs.arguments for ours, theirs in right),
        calls=len(calls),
        errors=sum(call.is_erroneous for call in calls),
        kind=kind,
        answer=answer,
        answer_mended=mended,
        encoder=similarity.encoder if compares and similarity else None,
    )


def _answers(
    said: Sequence[Message], kind: AnswerKind, answer: Any, similarity: Similarity | None
) -> tuple[float | None, float | None]:
    """Return the scores of the answers that stand where the reference has one, added up."""
    if not kind.is_text:
        return 0.0, 0.0
    total: float | None = 0.0
    mended: float | None = 0.0
    for message in said:
        if message.text is None:
            raise BadTaskData(f"{message.where}: the content of an answer must be a text, not null")
        one, other = answer_scores(message.text, answer, similarity)
        total = None if total is None or one is None else total + one
        mended = None if other is None else other
    return total, mended


def _messages(what: str, key: str, raw: Sequence[Mapping[str, Any]]) -> list[Message]:
    return [Message(one, f"{what} of task {key}, message {n}") for n, one in enumerate(raw)]


def _about(task: PredictedTask, exc: BadTaskData) -> BadTaskData:
    said = str(exc)
    return exc if f"task {task.key}" in said else BadTaskData(f"task {task.key}: {said}")
