"""Plans against deeds: the root scores that agents of the same model have on the source tasks."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from quality.planning.answers import first_answers
from quality.planning.outcomes import planning_outcomes
from taskdata.schema.agent import AgentSpec
from taskdata.schema.planning_summary import PlanningOutcome
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
