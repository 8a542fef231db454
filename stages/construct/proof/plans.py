"""The proof of planning cases: nothing is run, the reference and an empty answer are marked."""

from collections.abc import Callable, Sequence

from stages.construct.planning.cases.rules import faults_of, reference_answer
from stages.construct.proof.verdict import MOST_FOR_NOTHING, ProofVerdict, TaskProof
from stages.score.planning.mark import mark
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.task import Task, Tier

_POINTS = 10.0
"""The score of a plan with the grade 1."""


def is_proven_by_marks(task: Task) -> bool:
    """Return whether the task is a planning case."""
    return task.tier is Tier.PLANNING


def prove_cases(
    cases: Sequence[Task], proven: Callable[[TaskProof], None] = lambda proof: None
) -> dict[str, TaskProof]:
    """Return the proof of each planning case by content hash.

    It is proven if no rule is broken, the reference is marked as correct, and an answer without
    plan, call and refusal earns next to nothing.
    """
    proofs = {}
    for case in cases:
        proof = _proof(case)
        proofs[proof.task_hash] = proof
        proven(proof)
    return proofs


def _proof(case: Task) -> TaskProof:
    planning = case.planning
    reference = None if planning is None else mark(case, reference_answer(planning)).grade
    nothing = mark(case, PredictedPlan()).grade
    faults = [*faults_of(case)]
    if nothing is None or nothing * _POINTS > MOST_FOR_NOTHING:
        faults.append("an empty answer is not marked as worthless")
    return TaskProof(
        task_id=case.id,
        task_hash=case.content_hash,
        verdict=ProofVerdict.FAILED if faults else ProofVerdict.PROVEN,
        reasons=tuple(faults),
        reference_score=None if reference is None else reference * _POINTS,
        nop_score=None if nothing is None else nothing * _POINTS,
        coverage=1.0,
    )
