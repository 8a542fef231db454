"""Plans against deeds: what their agents achieve, and the plans that are made before the work."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from quality.planning.answers import first_answers
from quality.planning.outcomes import planning_outcomes
from quality.planning.ways import drafts_in_sum
from taskdata.schema.agent import AgentSpec
from taskdata.schema.planning_score import PlanningScore
from taskdata.schema.planning_summary import PlanningOutcome, WaysOfPlanning
from taskdata.schema.run import Run, RunStatus, TrialResult
from taskdata.schema.task import Task
from taskdata.store import Store


def outcomes_of(
    store: Store, run: Run, results: Sequence[TrialResult], tasks: Mapping[str, Task]
) -> tuple[PlanningOutcome, ...]:
    """Return how the plans of each agent of a run go with what its model achieved on the tasks.

    The root scores are those of the newest completed run in which an agent of the same model did
    tasks that the run's cases were made from, unchanged since.

    Args:
        store: Where the runs are.
        run: A run over planning cases.
        results: Its trials.
        tasks: Its tasks by content hash.
    """
    sources = {t.planning.origin.task_hash for t in tasks.values() if t.planning is not None}
    answers = first_answers(results, tasks)
    found: list[PlanningOutcome] = []
    for planner in run.config.agents:
        doing = None if planner.model is None else _doing(store, run, planner, sources)
        if doing is not None:
            name, scores = doing
            found += planning_outcomes(planner.name, answers.get(planner.name, []), name, scores)
    return tuple(found)


def with_drafts(
    store: Store,
    run: Run,
    ways: Sequence[WaysOfPlanning],
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
) -> tuple[WaysOfPlanning, ...]:
    """Return the ways of planning with what code finds in the plans themselves.

    A revised plan is told with the draft that it was made of, from the same trials.
    """
    found: list[WaysOfPlanning] = []
    for one in ways:
        names = {
            agent.planning: agent.name
            for agent in run.config.agents
            if agent.harness == one.harness and str(agent.model) == one.model and agent.plans
        }
        planner = names.get("plan_refine") or names.get("plan_first")
        own = [r for r in results if r.trial.agent == planner and r.trial.round == 0]
        drafts, followed = _marked(store, own, tasks)
        marks = {"plan_first": drafts, "plan_refine": followed}
        told = {way: drafts_in_sum(marks[way]) for way in names if marks[way]}
        found.append(one.model_copy(update={"drafts": told}))
    return tuple(found)


_Marks = Mapping[str, Sequence[PlanningScore]]
"""Marks of plans by task id."""


def _marked(
    store: Store, results: Sequence[TrialResult], tasks: Mapping[str, Task]
) -> tuple[_Marks, _Marks]:
    """Return the marks of the drafts, and of the plans that were followed."""
    from stages.score.planning.drafts import draft_case, draft_marks

    drafts: dict[str, list[PlanningScore]] = defaultdict(list)
    followed: dict[str, list[PlanningScore]] = defaultdict(list)
    for result in results:
        transcript = None if result.outcome is None else store.transcript_of(result.outcome)
        if transcript is None or transcript.plan is None:
            continue
        offered = [tool.name for tool in transcript.tools]
        task = tasks[result.trial.task_hash]
        if (case := draft_case(task, offered)) is not None:
            drafts[task.id].append(draft_marks(case, transcript.plan.draft))
            followed[task.id].append(draft_marks(case, transcript.plan.followed))
    return drafts, followed


def _doing(
    store: Store, run: Run, planner: AgentSpec, sources: set[str]
) -> tuple[str, Mapping[str, Sequence[float]]] | None:
    """Return an agent of the planner's model with its root scores by task id, if there is one."""
    for other in store.runs():
        agents = [a.name for a in other.config.agents if a.model == planner.model]
        if other.id == run.id or other.status is not RunStatus.COMPLETED or not agents:
            continue
        common = sources & store.tasks_of_run(other.id).keys()
        if not common:
            continue
        scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for result in store.results(other.id, 0):
            root = result.root_score
            if result.trial.task_hash in common and root is not None:
                scores[result.trial.agent][result.trial.task_id].append(root)
        for agent in agents:
            if scores[agent]:
                return agent, scores[agent]
    return None
