"""Why an answer to a planning case is wrong: its errors E1 to E6 (APB), and nothing of the work.

The labels of other taxonomies are about tools that were run and files that were left, so an answer
has none of them. Whatever is wrong with it, the stage is the plan.
"""

from stages.diagnose.labels import LABELLER
from taskdata.schema.diagnosis import Diagnosis, FailureLevels, FailureStage
from taskdata.schema.planning_score import PlanningScore

_NOWHERE = FailureLevels(leaf=False, composition=False, deliverable=False)


def diagnosed_plan(trial_id: str, score: PlanningScore) -> Diagnosis:
    """Return the diagnosis of an answer, with a sentence for each error."""
    says = tuple(
        f"{flag.error.value}{f', step {flag.step}' if flag.step else ''}: {flag.evidence}"
        for flag in score.flags
    )
    return Diagnosis(
        trial_id=trial_id,
        stage=FailureStage.PLAN if score.correct is False else None,
        levels=_NOWHERE,
        evidence=says or (_without_errors(score),),
        labeller=LABELLER,
    )


def _without_errors(score: PlanningScore) -> str:
    if score.unreadable:
        return "the answer could not be read"
    return "the plan is correct" if score.correct else "it is not known whether the plan is correct"
