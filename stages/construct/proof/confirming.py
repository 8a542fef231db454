"""Confirming references: a second solution is drafted without sight of the tree, and compared.

A reference that a model drafts for a tree of its own proves only that the two fit each other. A
solution whose author has not seen the tree earns the full score only if the tree expects what the
task asks for.
"""

import asyncio
from pathlib import Path

from environments.models.registry import model_client
from environments.ports import SandboxProvider
from stages.construct import work
from stages.construct.assembling import assembled
from stages.construct.case import Case
from stages.construct.history import (
    CONFIRMED,
    CONFIRMS,
    DISPUTED,
    confirmable,
    confirmation,
    reference_kind,
)
from stages.construct.proof.adversarial.bank import left_by_reference
from stages.construct.proof.agreement import disagreements
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.recording import record_chain, task_files
from stages.construct.proof.references import Attempts, ask_solution, solve, solving_context
from stages.construct.proof.verdict import TaskProof, earns_all
from stages.construct.work import Connect, StepOutcome
from taskdata.errors import SandboxFailed
from taskdata.schema.construct import Candidate, Construction, TaskDraft
from taskdata.schema.release import ReferenceKind
from taskdata.schema.run import StageReport
from taskdata.schema.task import ReferenceSolution, Task
from taskdata.store import Store

_MAX_REASON = 1_000


def due(store: Store, refresh_id: str) -> list[Candidate]:
    """Return the candidates at the prove stage with a reference that is to be confirmed.

    A draft for which a second solution was tried is not tried again. A reference by a person needs
    no confirmation.
    """
    return work.due(store, refresh_id, Construction.PROVE, lambda c: _is_due(store, c))


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Draft and compare the second solutions; every candidate stays at the prove stage.

    Raises like `references.solve`.
    """
    return solve(store, refresh_id, _take, lambda c: _is_due(store, c), connect)


def _is_due(store: Store, candidate: Candidate) -> bool:
    draft = store.draft(candidate.id)
    if draft is None or draft.reference is None or draft.checkpoints.checkable_share() == 0:
        return False
    steps = store.steps(candidate.id)
    if confirmation(draft, steps) is not None:
        return False
    return reference_kind(draft, steps, store.reviews(candidate.id)) is not ReferenceKind.PERSON


async def _take(case: Case, provider: SandboxProvider, folder: Path) -> StepOutcome:
    draft = case.drafted()
    attempts = Attempts(asks_left=case.shop.config.max_asks)
    second = await _second(case, draft, attempts, provider, folder)
    reasons = ("no second solution could be run", *attempts.told)
    if second is not None:
        reasons = await asyncio.to_thread(_compared, case, draft, second)
    return StepOutcome(
        DISPUTED if reasons else CONFIRMED,
        next=Construction.PROVE,
        reasons=tuple(reason[:_MAX_REASON] for reason in reasons),
        facts={
            CONFIRMS: confirmable(draft),
            "second": second.model_dump(mode="json") if second else None,
            "refused": attempts.told,
        },
        tally=attempts.tally,
        prompt_version=attempts.prompt_version,
    )


async def _second(
    case: Case, draft: TaskDraft, attempts: Attempts, provider: SandboxProvider, folder: Path
) -> ReferenceSolution | None:
    """Return the first solution whose chain runs; None if there is none.

    Its author is told which tools misbehave, but nothing about scores, which would reveal the tree.
    """
    context = await asyncio.to_thread(solving_context, case, draft, sees_tree=False)
    while (solution := await ask_solution(case, draft, context, attempts)) is not None:
        task = _with(case, draft, solution)
        files = await asyncio.to_thread(task_files, case.shop.store, task)
        recording = await record_chain(task, files, provider, folder)
        if not recording.faults:
            return recording.solution
        attempts.rejected.append(recording.solution)
        attempts.faults = recording.faults
        attempts.told += recording.faults
    return None


def _compared(case: Case, draft: TaskDraft, second: ReferenceSolution) -> tuple[str, ...]:
    """Return why the second solution does not confirm the reference; empty: it does. Blocks.

    Raises:
        SandboxFailed: a trial was lost to infrastructure.
    """
    store, reference = case.shop.store, assembled(case.shop.store, case.candidate, draft)
    other = _with(case, draft, second)
    proofs = [_proof(case, task) for task in (reference, other)]
    for proof, whose in zip(proofs, ("the reference", "the second solution"), strict=True):
        if not earns_all(proof):
            return (f"{whose} does not reach the full score", *proof.reasons)
    left = [left_by_reference(store, proof) for proof in proofs]
    if left[0] is None or left[1] is None:
        return ("what the solutions delivered is not recorded",)
    return disagreements(reference, left[0], left[1])


def _proof(case: Case, task: Task) -> TaskProof:
    proof = prove_bank(case.shop.store, [task], {}, case.shop.config.sandbox)[task.content_hash]
    if proof.verdict is None:
        raise SandboxFailed(f"task {task.id!r}: its trial was lost: {'; '.join(proof.reasons)}")
    return proof


def _with(case: Case, draft: TaskDraft, solution: ReferenceSolution) -> Task:
    changed = draft.model_copy(update={"reference": solution})
    return assembled(case.shop.store, case.candidate, changed)
