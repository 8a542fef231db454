"""End-to-end metrics over the trials of one agent: P/O/L/C-F1 and AnsAcc (GTA, section 4.1)."""

from collections.abc import Sequence

from quality.atomic.published import mended_f1, published_f1, tools_of
from quality.encoders.encoder import names_of
from quality.statistics.intervals import clustered_mean
from taskdata.schema.atomic import EndToEndScore
from taskdata.schema.summary import EndToEndAccuracy, Estimate, ToolSelection
from taskdata.schema.task import Capability

_HIGHEST = 1.0000002
"""A similarity in 32-bit floats can be a hair above 1."""


def end_to_end_accuracy(scores: Sequence[tuple[str, EndToEndScore]]) -> EndToEndAccuracy | None:
    """Return the metrics over trials, each as task id and score; None without any.

    Answers that were not scored are out of the means, and counted beside them.
    """
    if not scores:
        return None
    texts = [(task, score) for task, score in scores if score.kind.is_text]
    every = [score for _, score in scores]
    return EndToEndAccuracy(
        trials=len(scores),
        tool_selection={category.value: _selection(every, category) for category in Capability},
        ans_acc=_mean([(task, score.score) for task, score in texts]),
        ans_acc_mended=_mean([(task, score.score_mended) for task, score in texts]),
        ans_acc_w_imggen=_mean([(task, score.score) for task, score in scores]),
        answers_unscored=sum(score.score is None for score in every),
        tool_calls=sum(score.tool_calls for score in every),
        tool_errors=sum(score.tool_errors for score in every),
        encoder=names_of(score.encoder for score in every),
    )


def _selection(scores: Sequence[EndToEndScore], category: Capability) -> ToolSelection:
    match = tools_of(scores, category)
    mended = mended_f1(match)
    return ToolSelection(
        f1=published_f1(match) / 100,
        f1_mended=None if mended is None else mended / 100,
        reference=match.reference,
        predicted=match.predicted,
    )


def _mean(values: Sequence[tuple[str, float | None]]) -> Estimate:
    known = [(task, value) for task, value in values if value is not None]
    numbers, tasks = [value for _, value in known], [task for task, _ in known]
    return clustered_mean(numbers, tasks, lowest=0, highest=_HIGHEST)
