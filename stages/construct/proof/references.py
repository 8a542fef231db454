"""Drafting missing reference solutions: a model writes them, the checks decide.

A solution counts only if it reaches the full score. Without one, the task stays as it was,
unproven.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments.models.registry import model_client
from environments.ports import SandboxProvider
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from environments.tool_runtime.catalogue import as_markdown
from environments.tool_runtime.toolbox import ALWAYS_PRESENT
from environments.tools.session.finish import FINISH
from stages.construct import work
from stages.construct.answers.drafts import shown_nodes, shown_task
from stages.construct.asking.ask import Tally
from stages.construct.assembling import assembled
from stages.construct.case import Case
from stages.construct.history import DRAFTED_AS, drafted_as
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.chain_form import ReferenceForm, solution_of
from stages.construct.proof.recording import record_chain, task_files
from stages.construct.proof.verdict import earns_all
from stages.construct.work import Connect, StepOutcome, Which, walk
from taskdata.errors import BadTaskData, BudgetExhausted, SandboxFailed
from taskdata.schema.construct import Candidate, Construction, TaskDraft
from taskdata.schema.run import StageReport
from taskdata.schema.task import ReferenceSolution
from taskdata.store import Store

TakeSandboxed = Callable[[Case, SandboxProvider, Path], Awaitable[StepOutcome]]
"""Work on one candidate that runs tools, in sandboxes of the provider and in the folder."""

DRAFTED = "reference_drafted"
NO_REFERENCE = "no_reference"
"""The verdict if no drafted solution reached the full score."""

_MAX_REASON = 1_000


def due(store: Store, refresh_id: str) -> list[Candidate]:
    """Return the candidates at the prove stage without a solution that code could confirm.

    A candidate for which drafting was tried is not tried again, unless a person has changed the
    draft.
    """
    return work.due(store, refresh_id, Construction.PROVE, lambda c: _lacks_solution(store, c))


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Draft the due solutions; every candidate stays at the prove stage.

    Raises like `work.walk`, and:
        SandboxFailed: the sandbox does not work on this machine.
    """
    return solve(store, refresh_id, _take, lambda c: _lacks_solution(store, c), connect)


def solve(
    store: Store, refresh_id: str, take: TakeSandboxed, which: Which, connect: Connect
) -> StageReport:
    """Have the solver of the refresh work on due candidates, whose solutions run in a sandbox.

    Raises like `work.walk`, and:
        SandboxFailed: the sandbox does not work on this machine.
    """
    name = store.refresh(refresh_id).config.sandbox
    provider = sandbox_provider(name)
    if reason := provider.unavailable():
        raise SandboxFailed(f"sandbox {name}: {reason}")
    with reaped(), working_folder() as folder:
        return walk(
            store,
            refresh_id,
            Construction.PROVE,
            lambda case: take(case, provider, folder),
            connect,
            which,
            asks="solver",
        )


def _lacks_solution(store: Store, candidate: Candidate) -> bool:
    draft = store.draft(candidate.id)
    if draft is None or draft.reference is not None or draft.checkpoints.checkable_share() == 0:
        return False
    edited = max((r.at for r in store.reviews(candidate.id) if r.draft is not None), default=None)
    tried = (s.at for s in store.steps(candidate.id) if s.verdict == NO_REFERENCE)
    return not any(edited is None or at > edited for at in tried)


@dataclass
class Attempts:
    """The attempts to solve the task of one candidate."""

    asks_left: int
    tally: Tally = field(default_factory=Tally)
    prompt_version: str | None = None
    rejected: list[ReferenceSolution] = field(default_factory=list)
    faults: tuple[str, ...] = ()
    """Faults of the last rejected solution."""
    told: list[str] = field(default_factory=list)
    """All faults, in order."""


async def _take(case: Case, provider: SandboxProvider, folder: Path) -> StepOutcome:
    draft = case.drafted()
    attempts = Attempts(asks_left=case.shop.config.max_asks)
    context = await asyncio.to_thread(solving_context, case, draft)
    while (solution := await ask_solution(case, draft, context, attempts)) is not None:
        recorded, faults = await _tried(case, draft, solution, provider, folder)
        if not faults:
            return StepOutcome(
                DRAFTED,
                next=Construction.PROVE,
                draft=draft.model_copy(update={"reference": recorded}),
                facts={"refused": attempts.told, DRAFTED_AS: drafted_as(case.shop.config)},
                tally=attempts.tally,
                prompt_version=attempts.prompt_version,
            )
        attempts.rejected.append(recorded)
        attempts.faults = faults
        attempts.told += faults
    return StepOutcome(
        NO_REFERENCE,
        next=Construction.PROVE,
        reasons=tuple(fault[:_MAX_REASON] for fault in attempts.told),
        tally=attempts.tally,
        prompt_version=attempts.prompt_version,
    )


async def ask_solution(
    case: Case, draft: TaskDraft, context: Mapping[str, Any], attempts: Attempts
) -> ReferenceSolution | None:
    """Return the model's next solution; None if it has none, or may not be asked again.

    Raises like `asking.ask`, except `BudgetExhausted`.
    """
    if attempts.asks_left <= 0:
        return None

    def accept(form: ReferenceForm) -> ReferenceSolution:
        allowed = {*draft.tools, *ALWAYS_PRESENT} - {FINISH}
        if unknown := sorted({step.tool for step in form.steps} - allowed):
            raise BadTaskData(
                f"steps: {unknown} cannot be called here; there are {sorted(allowed)}"
            )
        solution = solution_of(form.steps, form.final_answer)
        if _without_results(solution) in map(_without_results, attempts.rejected):
            raise BadTaskData("it is a solution that was tried before and failed; write another")
        return solution

    shown = attempts.rejected[-1].model_dump(mode="json") if attempts.rejected else None
    asking = {**context, "rejected": shown, "faults": list(attempts.faults)}
    try:
        asked = await case.ask("reference", asking, ReferenceForm, accept, attempts.asks_left)
    except BudgetExhausted as exc:
        # A solution is optional: the task continues without one.
        attempts.told.append(str(exc))
        return None
    attempts.tally += asked.tally
    attempts.prompt_version = asked.prompt_version
    attempts.told += asked.faults
    attempts.asks_left -= len(asked.faults) + 1
    return asked.answer


def _without_results(solution: ReferenceSolution) -> ReferenceSolution:
    steps = tuple(step.model_copy(update={"result": None}) for step in solution.steps)
    return solution.model_copy(update={"steps": steps})


async def _tried(
    case: Case,
    draft: TaskDraft,
    solution: ReferenceSolution,
    provider: SandboxProvider,
    folder: Path,
) -> tuple[ReferenceSolution, tuple[str, ...]]:
    """Return the solution with recorded results, and why it does not count; empty: it counts.

    Raises:
        SandboxFailed: the trial was lost to infrastructure.
    """
    store = case.shop.store
    task = assembled(store, case.candidate, draft.model_copy(update={"reference": solution}))
    files = await asyncio.to_thread(task_files, store, task)
    recording = await record_chain(task, files, provider, folder)
    if recording.faults:
        return recording.solution, recording.faults
    task = task.model_copy(update={"reference": recording.solution})
    proofs = await asyncio.to_thread(prove_bank, store, [task], {}, case.shop.config.sandbox)
    proof = proofs[task.content_hash]
    if proof.verdict is None:
        raise SandboxFailed(f"task {task.id!r}: its trial was lost: {'; '.join(proof.reasons)}")
    return recording.solution, () if earns_all(proof) else proof.reasons


def solving_context(case: Case, draft: TaskDraft, *, sees_tree: bool = True) -> dict[str, Any]:
    """Return what the prompt for a solution shows; blocks."""
    offered = {*draft.tools, *ALWAYS_PRESENT} - {FINISH}
    return case.context() | {
        "tool_documentation": as_markdown(s for s in case.shop.tools if s.name in offered),
        "task": shown_task(draft),
        "tree": shown_nodes(draft.checkpoints) if sees_tree else None,
    }
