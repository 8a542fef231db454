"""What a plan before the work is worth (APB, section 5.1 and table 3)."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from quality.statistics.intervals import clustered_mean, clustered_share
from quality.statistics.paired import compare_by_task
from quality.statistics.significance import holm
from taskdata.schema.agent import AgentSpec
from taskdata.schema.plan import WAYS_OF_PLANNING
from taskdata.schema.planning_score import PlanningScore
from taskdata.schema.planning_summary import DraftMarks, WaysOfPlanning
from taskdata.schema.run import TrialResult

DIRECT = "direct"
_Scores = Mapping[str, Sequence[float]]
"""Root scores by task."""


def ways_of_planning(
    agents: Sequence[AgentSpec], results: Sequence[TrialResult]
) -> tuple[WaysOfPlanning, ...]:
    """Return the ways of planning side by side, for each harness and model with several.

    Args:
        agents: Those of the run.
        results: Its trials; first attempts count.
    """
    groups: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for agent in agents:
        if agent.model is not None:
            groups[agent.harness, str(agent.model)][agent.planning] = agent.name
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        if result.trial.round == 0 and result.root_score is not None:
            scores[result.trial.agent][result.trial.task_id].append(result.root_score)
    return tuple(
        _side_by_side(
            harness, model, {way: scores[names[way]] for way in WAYS_OF_PLANNING if way in names}
        )
        for (harness, model), names in groups.items()
        if len(names) > 1
    )


def drafts_in_sum(marks: Mapping[str, Sequence[PlanningScore]]) -> DraftMarks:
    """Return what code found in plans, from their marks by task; tasks weigh as their plans do."""
    each = [(task, mark) for task, found in marks.items() for mark in found]
    return DraftMarks(
        plans=len(each),
        faulty=clustered_share(
            [mark.correct is False for _, mark in each], [task for task, _ in each]
        ),
        unreadable=sum(mark.unreadable for _, mark in each),
        as_reference=sum(mark.same_as_reference for _, mark in each),
        errors=dict(sorted(Counter(e.value for _, m in each for e in m.errors).items())),
    )


def _side_by_side(harness: str, model: str, by_way: Mapping[str, _Scores]) -> WaysOfPlanning:
    common = sorted(set.intersection(*(set(scores) for scores in by_way.values())))
    own = {way: {task: scores[task] for task in common} for way, scores in by_way.items()}
    others = [way for way in own if way != DIRECT] if DIRECT in own else []
    tested = {way: compare_by_task(own[DIRECT], own[way], widest=10) for way in others}
    corrected = holm([one.p_value for one in tested.values()])
    return WaysOfPlanning(
        harness=harness,
        model=model,
        tasks=len(common),
        root_scores={
            way: clustered_mean(
                [score for task in common for score in scores[task]],
                [task for task in common for _ in scores[task]],
                lowest=0,
                highest=10,
            )
            for way, scores in own.items()
        },
        over_direct={way: one.difference for way, one in tested.items()},
        p_values=dict(zip(tested, corrected, strict=True)),
    )
