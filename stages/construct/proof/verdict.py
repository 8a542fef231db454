"""The verdict on a task: its solution reaches the full score, doing nothing scores nothing."""

from collections.abc import Callable
from enum import StrEnum

from stages.construct.proof.adversarial.report import Resistance
from taskdata.schema.agent import AgentSpec
from taskdata.schema.base import Value
from taskdata.schema.run import OutcomeStatus, TrialResult
from taskdata.schema.task import Task

REFERENCE, NOP = AgentSpec(harness="reference"), AgentSpec(harness="nop")
FULL_SCORE = 10.0
MOST_FOR_NOTHING = 1.0
"""A tree that gives an empty answer more than this score does not test the task."""

_ROUNDING = 1e-6
_MAX_LEAVES_NAMED = 8
_MAX_REASON = 200


class ProofVerdict(StrEnum):
    """The result of running a task's trials."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    """There is no evidence against it, but no solution has reached the full score."""
    FAILED = "failed"


class TaskProof(Value):
    """The result of running the reference solution and the agent that does nothing on one task."""

    task_id: str
    task_hash: str
    verdict: ProofVerdict | None
    """None: infrastructure failed; the trials must be run again."""
    reasons: tuple[str, ...] = ()
    reference_score: float | None = None
    """Root score 0-10 of the reference solution; None: there is none, or nothing was scored."""
    nop_score: float | None = None
    """Root score 0-10 of doing nothing."""
    coverage: float | None = None
    """Share (0-1) of the tree's weight that code could score."""
    run_id: str | None = None
    """The proof run that contains its trials."""
    weaknesses: tuple[str, ...] = ()
    """What its verifier would not notice, or what it has and does not use."""
    resistance: Resistance | None = None
    """What cheats earn and which faults in the reference are noticed; None: it was not tried."""

    def resisting(self, found: Resistance) -> "TaskProof":
        """Return the proof with these results; it has failed if the tree pays cheats."""
        fails = self.verdict is not None and found.overpaid
        return self.model_copy(
            update={
                "resistance": found,
                "verdict": ProofVerdict.FAILED if fails else self.verdict,
                "reasons": (*self.reasons, *found.overpaid),
                "weaknesses": (*self.weaknesses, *found.unnoticed),
            }
        )


def verdict_on(task: Task, reference: TrialResult | None, nop: TrialResult | None) -> TaskProof:
    """Return the verdict on a task from its trials; a missing trial must still be run."""
    proof = TaskProof(task_id=task.id, task_hash=task.content_hash, verdict=None)
    lost = _lost("nop", nop) or (_lost("reference", reference) if task.reference else None)
    if nop is None or lost is not None:
        return proof.model_copy(update={"reasons": (lost,)})
    measured = proof.model_copy(
        update={
            "reference_score": reference.root_score if reference else None,
            "nop_score": nop.root_score,
            "coverage": nop.score.root.coverage if nop.score else None,
            "run_id": nop.trial.run_id,
        }
    )
    faults = _faults(reference, nop)
    if faults:
        return measured.model_copy(update={"verdict": ProofVerdict.FAILED, "reasons": faults})
    open_question = _open_question(measured, reference)
    if open_question:
        update = {"verdict": ProofVerdict.UNPROVEN, "reasons": (open_question,)}
        return measured.model_copy(update=update)
    return measured.model_copy(update={"verdict": ProofVerdict.PROVEN})


def earns_all(proof: TaskProof) -> bool:
    """Return whether the reference solution reached the full score."""
    score = proof.reference_score
    return score is not None and score >= FULL_SCORE - _ROUNDING


def does_nothing_pass(proof: TaskProof) -> bool:
    """Return whether doing nothing earns more than it may."""
    return proof.nop_score is not None and proof.nop_score > MOST_FOR_NOTHING + _ROUNDING


def _lost(agent: str, result: TrialResult | None) -> str | None:
    if result is None or result.outcome is None:
        return f"{agent} has not been played"
    if result.outcome.status is OutcomeStatus.INFRASTRUCTURE:
        return f"{agent}: {result.outcome.error}"
    if result.score is None:
        return f"{agent}: {result.scoring_error or 'has not been scored'}"
    return None


def _open_question(proof: TaskProof, reference: TrialResult | None) -> str | None:
    if reference is None:
        return "it has no reference solution"
    if proof.reference_score is None:
        return "no leaf of its tree can be scored without a judge"
    return None


def _faults(reference: TrialResult | None, nop: TrialResult) -> tuple[str, ...]:
    faults: list[str] = []
    earned = reference.root_score if reference else None
    if reference and earned is not None and earned < FULL_SCORE - _ROUNDING:
        faults.append(f"the reference solution earns {earned:.2f} of {FULL_SCORE:g}")
        faults += _leaves(reference, lambda score: score < FULL_SCORE - _ROUNDING)
    given = nop.root_score
    if given is not None and given > MOST_FOR_NOTHING + _ROUNDING:
        faults.append(f"doing nothing earns {given:.2f}, more than {MOST_FOR_NOTHING:g}")
        faults += _leaves(nop, lambda score: score > 0)
    return tuple(faults)


def _leaves(result: TrialResult, is_wrong: Callable[[float], bool]) -> list[str]:
    """Return the leaves behind a wrong score, each with its score and its verifier's reason."""
    leaves = result.score.leaves if result.score else ()
    counted = [leaf for leaf in leaves if leaf.unscored is None or leaf.unscored.was_asked]
    wrong = [leaf for leaf in counted if is_wrong(leaf.score or 0.0)]
    named = [
        f"leaf {leaf.leaf_id}: {leaf.score or 0.0:.2f} "
        f"({' '.join(leaf.reason.split())[:_MAX_REASON]})"
        for leaf in wrong[:_MAX_LEAVES_NAMED]
    ]
    if len(wrong) > _MAX_LEAVES_NAMED:
        named.append(f"and {len(wrong) - _MAX_LEAVES_NAMED} more leaves")
    return named
