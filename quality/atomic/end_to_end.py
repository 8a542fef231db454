"""End-to-end metrics over the trials of one agent: P/O/L/C-F1 and AnsAcc (GTA, section 4.1)."""

import math
from collections.abc import Sequence

import numpy as np

from quality.atomic.published import mended_f1, published_f1, tools_of
from quality.encoders.encoder import names_of
from quality.statistics.bootstrap import Chosen, bootstrapped
from quality.statistics.intervals import clustered_mean
from taskdata.schema.atomic import EndToEndScore, ToolMatch
from taskdata.schema.estimate import Estimate
from taskdata.schema.summary import EndToEndAccuracy, ToolSelection
from taskdata.schema.task import Capability

_COUNTED = ("reference", "found", "predicted", "matched")
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
        tool_selection=_selections(scores),
        ans_acc=_mean([(task, score.score) for task, score in texts]),
        ans_acc_mended=_mean([(task, score.score_mended) for task, score in texts]),
        ans_acc_w_imggen=_mean([(task, score.score) for task, score in scores]),
        answers_unscored=sum(score.score is None for score in every),
        tool_calls=sum(score.tool_calls for score in every),
        tool_errors=sum(score.tool_errors for score in every),
        encoder=names_of(score.encoder for score in every),
    )


def _selections(scores: Sequence[tuple[str, EndToEndScore]]) -> dict[str, ToolSelection]:
    """Return the F1 of each category with its interval: whole tasks are drawn again and again."""
    categories = tuple(Capability)
    by_task: dict[str, list[EndToEndScore]] = {}
    for task, score in scores:
        by_task.setdefault(task, []).append(score)
    counts = np.array(
        [[_counts(tools_of(own, category)) for category in categories] for own in by_task.values()]
    )

    def statistics(chosen: Chosen) -> list[float]:
        drawn = np.bincount(chosen, minlength=len(counts))
        totals = np.tensordot(drawn, counts, axes=1).tolist()
        matches = [
            ToolMatch.model_construct(**dict(zip(_COUNTED, row, strict=True))) for row in totals
        ]
        return [f1 for match in matches for f1 in (_published(match), _mended(match))]

    calls = [int(n) for n in counts.sum(axis=0).sum(axis=1) for _ in range(2)]
    found = bootstrapped(statistics, len(counts), calls)
    every = [score for _, score in scores]
    return {
        category.value: _selection(tools_of(every, category), found[2 * i], found[2 * i + 1])
        for i, category in enumerate(categories)
    }


def _counts(match: ToolMatch) -> list[int]:
    return [getattr(match, name) for name in _COUNTED]


def _published(match: ToolMatch) -> float:
    return published_f1(match) / 100 if match.reference else math.nan


def _mended(match: ToolMatch) -> float:
    f1 = mended_f1(match)
    return math.nan if f1 is None else f1 / 100


def _selection(match: ToolMatch, published: Estimate, mended: Estimate) -> ToolSelection:
    return ToolSelection(
        f1=published_f1(match) / 100,
        f1_ci95=published.ci95,
        f1_mended=mended.mean,
        f1_mended_ci95=mended.ci95,
        reference=match.reference,
        predicted=match.predicted,
    )


def _mean(values: Sequence[tuple[str, float | None]]) -> Estimate:
    known = [(task, value) for task, value in values if value is not None]
    numbers, tasks = [value for _, value in known], [task for task, _ in known]
    return clustered_mean(numbers, tasks, lowest=0, highest=_HIGHEST)
