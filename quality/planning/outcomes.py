"""Whether plans foretell what their agent achieves (APB, section 5.1)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from quality.planning.answers import PlanAnswer
from quality.statistics.bootstrap import Chosen, bootstrapped
from taskdata.schema.planning import Form, Setting
from taskdata.schema.planning_summary import PlanningOutcome

FEWEST_TASKS = 3
Plane = tuple[float, float]
"""Mean mark of the plans for a task, and mean root score on it."""


def planning_outcomes(
    agent: str,
    answers: Sequence[PlanAnswer],
    doing_agent: str,
    root_scores: Mapping[str, Sequence[float]],
) -> tuple[PlanningOutcome, ...]:
    """Return how an agent's marks for whole plans go with root scores on the tasks themselves.

    Args:
        agent: The planner.
        answers: Its answers to planning cases; those to holistic cases count.
        doing_agent: The agent of the same model that did the tasks.
        root_scores: Its root scores (0-10) by task id.
    """
    whole = [
        a
        for a in answers
        if a.case.form is Form.HOLISTIC
        and a.case.setting is Setting.HOLISTIC
        and a.correct is not None
    ]
    return (
        _outcome(agent, doing_agent, "correctness", _planes(whole, root_scores, "correctness")),
        _outcome(agent, doing_agent, "grade", _planes(whole, root_scores, "grade")),
    )


def _planes(
    answers: Iterable[PlanAnswer],
    root_scores: Mapping[str, Sequence[float]],
    by: Literal["correctness", "grade"],
) -> list[Plane]:
    marks: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        mark = float(bool(answer.correct)) if by == "correctness" else (answer.grade or 0.0)
        marks[answer.source].append(mark)
    return [
        (sum(marks[task]) / len(marks[task]), sum(scores) / len(scores))
        for task in sorted(marks)
        if (scores := root_scores.get(task))
    ]


def _outcome(
    agent: str, doing_agent: str, by: Literal["correctness", "grade"], planes: list[Plane]
) -> PlanningOutcome:
    points = np.asarray(planes, dtype=np.float64).reshape(-1, 2)

    def correlation(chosen: Chosen) -> list[float]:
        drawn = points[np.asarray(chosen, dtype=np.intp)]
        plans, scores = drawn[:, 0], drawn[:, 1]
        if len(drawn) < FEWEST_TASKS or not plans.std() or not scores.std():
            return [float("nan")]
        return [float(np.corrcoef(plans, scores)[0, 1])]

    estimate = None
    if len(planes) >= FEWEST_TASKS and not np.isnan(correlation(range(len(planes)))[0]):
        (estimate,) = bootstrapped(correlation, len(planes), [len(planes)])
    return PlanningOutcome(
        agent=agent,
        doing_agent=doing_agent,
        tasks=len(planes),
        by=by,
        correlation=None if estimate is None else estimate.mean,
        ci95=None if estimate is None else estimate.ci95,
    )
