"""All metrics of foreign predictions, published and mended, over all tasks and for each alone."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from pydantic import Field

from quality.atomic.predictions import end_to_end_score, step_counts
from quality.atomic.published import (
    EndToEndMetrics,
    MendedEndToEnd,
    MendedSteps,
    StepMetrics,
    end_to_end_metrics,
    mended_end_to_end,
    mended_steps,
    step_metrics,
)
from quality.atomic.traces import kind_of
from quality.encoders.encoder import Similarity
from taskdata.errors import BadTaskData
from taskdata.formats.gta.predictions import END_TO_END, Predictions
from taskdata.schema.atomic import AnswerKind
from taskdata.schema.base import Value

Metrics = EndToEndMetrics | StepMetrics
Mended = MendedEndToEnd | MendedSteps
_Scored = TypeVar("_Scored")


class Undefined(Value):
    """Why a task alone has no metrics: the published scorer stops there."""

    error: str


class AtomicReport(Value):
    """What `nightshift score-atomic --json` prints."""

    mode: str
    encoder: str | None
    """The sentence encoder behind the similarities; None: none was needed, or none is here."""
    tasks: int
    """Those that were scored."""
    without_prediction: tuple[str, ...]
    """Keys of tasks that nothing was predicted for: in no published metric."""
    metrics: Metrics
    """Under the published scorer's names, over the tasks with a prediction."""
    mended: Mended
    per_task: dict[str, Metrics | Undefined] = Field(default_factory=dict)
    unscored: str | None = None
    """Why published metrics are None, and what to do; None: none of them is."""


def needs_encoder(predictions: Predictions, mode: str) -> bool:
    """Return whether meanings have to be compared."""
    compared = {AnswerKind.SUBJECTIVE}
    if mode == END_TO_END:
        compared.add(AnswerKind.IMAGE_GENERATION)
    return any(kind_of(task.answer) in compared for task in predictions.tasks)


def atomic_report(
    predictions: Predictions, mode: str, similarity: Similarity | None, unscored: str | None = None
) -> AtomicReport:
    """Return all metrics of predictions.

    Args:
        predictions: At least one task.
        mode: `end-to-end` or `step-by-step`.
        similarity: Compares meanings; None: what needs that is None.
        unscored: Why there is no similarity, and what to do.

    Raises:
        BadTaskData: The published scorer stops at these predictions, too; says why.
    """
    if mode == END_TO_END:
        of = partial(_report, end_to_end_score, end_to_end_metrics, mended_end_to_end)
    else:
        of = partial(_report, step_counts, step_metrics, mended_steps)
    report: AtomicReport = of(predictions, mode, similarity)
    # A mended metric is None too where there is nothing to measure; a published one never is.
    is_unscored = None in dict(report.metrics).values()
    return report.model_copy(update={"unscored": unscored if is_unscored else None})


def _report(
    score: Callable[..., _Scored],
    metrics: Callable[[list[_Scored]], Metrics],
    mended: Callable[[list[_Scored]], Mended],
    predictions: Predictions,
    mode: str,
    similarity: Similarity | None,
) -> AtomicReport:
    scores = {task.key: score(task, similarity) for task in predictions.tasks}
    encoders = {encoder for one in scores.values() if (encoder := _encoder(one)) is not None}
    alone: dict[str, Metrics | Undefined] = {}
    for key, one in scores.items():
        try:
            alone[key] = metrics([one])
        except BadTaskData as exc:
            alone[key] = Undefined(error=str(exc))
    return AtomicReport(
        mode=mode,
        encoder=encoders.pop() if encoders else None,
        tasks=len(scores),
        without_prediction=predictions.missing,
        metrics=metrics(list(scores.values())),
        mended=mended(list(scores.values())),
        per_task=alone,
    )


def _encoder(score: Any) -> str | None:
    found: str | None = score.encoder
    return found
