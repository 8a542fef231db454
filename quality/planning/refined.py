"""What refinement made of plans (APB, table 4)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from quality.planning.answers import PlanAnswer, answer_of
from quality.refinement.attempts import refined_trials
from quality.statistics.intervals import clustered_mean, clustered_share
from quality.statistics.paired import compare_by_task
from taskdata.schema.planning import Form
from taskdata.schema.planning_summary import RefinedPlans
from taskdata.schema.run import TrialResult
from taskdata.schema.task import Task

Pair = tuple[PlanAnswer, PlanAnswer]
"""A first answer, and the one that stands after the last round."""


def refined_plans(
    by_agent: Mapping[str, Sequence[TrialResult]], tasks: Mapping[str, Task], arms: Sequence[str]
) -> tuple[RefinedPlans, ...]:
    """Return correctness before and after refinement, by agent, arm and form.

    Args:
        by_agent: The results of each agent, of all rounds.
        tasks: By content hash.
        arms: Those of the run, in its order.
    """
    found = []
    for agent, results in by_agent.items():
        for arm in arms:
            pairs, retried = _pairs(results, tasks, arm)
            for form in Form if retried else ():
                those = [pair for pair in pairs if pair[0].case.form is form]
                again = sum(pair[0] is not pair[1] for pair in those)
                if those:
                    found.append(_row(agent, arm, form, those, again))
    return tuple(found)


def _pairs(
    results: Sequence[TrialResult], tasks: Mapping[str, Task], arm: str
) -> tuple[list[Pair], int]:
    """Return all pairs of answers with marks, and how many were tried again."""
    refined = refined_trials(results, arm)
    last = {one.first.trial.id: one.attempts[-1] for one in refined}
    pairs = []
    for result in results:
        first = answer_of(result, tasks) if result.trial.round == 0 else None
        if first is None:
            continue
        again = last.get(result.trial.id)
        after = first if again is None else answer_of(again, tasks)
        if after is not None and first.correct is not None and after.correct is not None:
            pairs.append((first, after))
    return pairs, len(refined)


def _row(agent: str, arm: str, form: Form, pairs: Sequence[Pair], retried: int) -> RefinedPlans:
    sources = [first.source for first, _ in pairs]
    before, after = [bool(a.correct) for a, _ in pairs], [bool(b.correct) for _, b in pairs]
    changes = [float(now) - float(then) for then, now in zip(before, after, strict=True)]
    first: dict[str, list[float]] = defaultdict(list)
    second: dict[str, list[float]] = defaultdict(list)
    for source, then, now in zip(sources, before, after, strict=True):
        first[source].append(float(then))
        second[source].append(float(now))
    return RefinedPlans(
        agent=agent,
        arm=arm,
        form=form.value,
        answers=len(pairs),
        retried=retried,
        base=clustered_share(before, sources),
        refined=clustered_share(after, sources),
        difference=clustered_mean(changes, sources, -1, 1),
        p_value=compare_by_task(first, second).p_value,
    )
