"""What the history of a task says about the task itself: how hard, how telling, whether broken."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import StatisticsError, correlation

from dashboards.pages import formats
from dashboards.site.control_agents import control_trouble
from dashboards.site.history import History, TaskHistory, TaskResult
from taskdata.schema.ranking import MUST_SCORE

_MOST_FAILED = 2
"""Competing agents that must have tried a task before it is remarkable that all of them fail."""
_FEWEST_POINTS = 4
"""Results that a correlation is told from."""


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Over all nights that had the task as it is now; controls count in none of the numbers."""

    nights: int
    trials: int
    success: float | None
    """Share of decided trials that succeeded: 1 is easy."""
    score: float | None
    """Mean root score, 0-10."""
    discrimination: float | None
    """Correlation of the score with the agent's mean over the other tasks of the night (the
    corrected item-total correlation of test theory): near 0, the task tells no agents apart."""
    flips: int
    """How often an agent that mostly succeeded mostly failed in its next night, or turned back."""
    suspicions: tuple[str, ...]
    """Why the task itself may be broken, in whole sentences."""


def task_facts(history: History, task: TaskHistory) -> TaskFacts:
    """Return what is known of a task."""
    current = [result for result in task.results if result.night >= task.since]
    competing = [result for result in current if result.agent not in history.controls]
    decided, scored = (sum(getattr(r, name) for r in competing) for name in ("decided", "scored"))
    points = sum((r.score or 0.0) * r.scored for r in competing)
    return TaskFacts(
        nights=len({result.night for result in current}),
        trials=sum(result.trials for result in competing),
        success=sum(r.succeeded for r in competing) / decided if decided else None,
        score=points / scored if scored else None,
        discrimination=_discrimination(history, competing),
        flips=flips(competing),
        suspicions=(*_controls_off(current), *_everybody_fails(competing)),
    )


def flips(results: Iterable[TaskResult]) -> int:
    """Return how often an agent's majority of successes turned from one night to its next."""
    verdicts: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        if result.decided:
            verdicts[result.agent].append(2 * result.succeeded > result.decided)
    return sum(a != b for own in verdicts.values() for a, b in pairwise(own))


def _discrimination(history: History, results: Sequence[TaskResult]) -> float | None:
    here, elsewhere = [], []
    for result in results:
        whole = history.nights[result.night].agents[result.agent]
        rest = whole.scored - result.scored
        if result.score is None or rest <= 0:
            continue
        here.append(result.score)
        elsewhere.append((whole.score_sum - result.score * result.scored) / rest)
    if len(here) < _FEWEST_POINTS:
        return None
    try:
        return correlation(here, elsewhere)
    except StatisticsError:
        return None  # one of the two never varies


def _controls_off(results: Sequence[TaskResult]) -> list[str]:
    last = {r.agent: r for r in results if r.agent in MUST_SCORE and r.score is not None}
    found = {agent: control_trouble(agent, result) for agent, result in last.items()}
    return [f"When last scored, the control {a} {t}." for a, t in found.items() if t]


def _everybody_fails(results: Sequence[TaskResult]) -> list[str]:
    tried = [result for result in results if result.decided]
    agents = {result.agent for result in tried}
    if len(agents) < _MOST_FAILED or any(result.succeeded for result in tried):
        return []
    trials = formats.plural(sum(result.decided for result in tried), "trial")
    return [f"No agent has ever solved it: {len(agents)} agents failed in {trials}."]
