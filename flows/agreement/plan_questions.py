"""Which plans a person is asked to mark, and in which order."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from flows.agreement.label_questions import taking_turns
from flows.agreement.plans import answered_cases
from flows.agreement.questions import chosen_agents
from taskdata.errors import Misuse
from taskdata.schema.planning import PlanningCase
from taskdata.schema.run import Run, TrialResult
from taskdata.schema.task import Task
from taskdata.store import Store


@dataclass(frozen=True)
class PlanQuestion:
    """One answer to a planning case."""

    result: TrialResult
    task: Task
    case: PlanningCase


def plan_questions(
    store: Store, run: Run, annotator: str, agents: Sequence[str] = (), most: int | None = None
) -> list[PlanQuestion]:
    """Return the plans of first attempts of a run that `annotator` is asked to mark.

    The sample is the same for everybody, so that people mark the same plans: agents and settings
    take turns in it. The order in which it is asked about is the annotator's own and always the
    same.

    Args:
        store: Where the run is.
        run: The run.
        annotator: Who is asked.
        agents: Only plans of these; empty: of all that compete, or of the controls where nobody
            does.
        most: The size of the sample; None: all plans.

    Raises:
        Misuse: if an agent is unknown, or there is no plan.
    """
    chosen = chosen_agents(run, agents)
    tasks = store.tasks_of_run(run.id)
    cases = {key: task.planning for key, task in tasks.items() if task.planning is not None}
    answers = [
        result
        for result in answered_cases(store.results(run.id, round_=0), tasks)
        if result.trial.agent in chosen
    ]
    if not answers:
        raise Misuse(
            f"run {run.id} has no plan that could be read; agents answer planning cases with "
            "`nightshift run --mode plan` (docs/planning.md)"
        )

    def agent_and_setting(result: TrialResult) -> tuple[str, ...]:
        return result.trial.agent, cases[result.trial.task_hash].setting

    sample = taking_turns(answers, run.id, agent_and_setting)[:most]
    random.Random(f"{run.id}\n{annotator}\nplans").shuffle(sample)  # noqa: S311 - no secret
    return [
        PlanQuestion(one, tasks[one.trial.task_hash], cases[one.trial.task_hash]) for one in sample
    ]
