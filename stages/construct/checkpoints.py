"""The checkpoints stage: a tree that fits the current task (GTA-2, section 3.3.4)."""

import asyncio
from collections.abc import Sequence
from typing import Any

from environments.models.registry import model_client
from stages.construct.answers.drafts import shown_nodes, shown_task, tree_of
from stages.construct.answers.forms import TreeForm
from stages.construct.asking.ask import Asked, Tally
from stages.construct.asking.opinions import opinion
from stages.construct.history import (
    VIOLATIONS,
    found_violations,
    tree_is_current,
    tree_weaknesses,
)
from stages.construct.rules.book import require
from stages.construct.rules.coverage import uncovered
from stages.construct.rules.tree import tree_violations
from stages.construct.rules.violation import Violation, counted
from stages.construct.rules.wording import tree_wording
from stages.construct.work import Case, Connect, StepOutcome, invalid, walk
from taskdata.schema.construct import CandidateStatus, Construction, TaskDraft
from taskdata.schema.run import StageReport
from taskdata.store import Store


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Give every due candidate a fitting tree; the prove stage is next.

    A tree is kept if it was made for the current query and neither validation nor proof found a
    fault in it. If the refresh requires coverage, a leaf must score every explicit requirement of
    the query, too. A new tree is checked against every rule of trees and by a model's opinion. If
    it has faults, it is rewritten at most `max_rewrites` times, or not at all if proof has sent the
    candidate back; then the candidate is quarantined. Raises the errors of `work.walk`.
    """
    return walk(store, refresh_id, Construction.CHECKPOINTS, _take, connect)


async def _take(case: Case) -> StepOutcome:
    draft = case.drafted()
    weak = tree_weaknesses(case.steps)
    found = weak or tuple(v for v in found_violations(case.steps) if v.is_of_tree)
    found += _uncovered(case, draft)
    current = tree_is_current(draft, case.steps)
    if current and not found:
        return StepOutcome("kept", next=Construction.PROVE)
    tally, ignored = Tally(), list[str]()
    # Proof limits the number of its own rewrites.
    for _ in range(1 if weak else 1 + case.shop.config.max_rewrites):
        asked = await _written(case, draft, found)
        tally += asked.tally
        if asked.answer is None:
            return invalid(asked, tally)
        draft = asked.answer
        said = await opinion(case, draft, "tree")
        tally += said.asked.tally
        ignored += said.ignored
        if not said.is_given:
            return invalid(said.asked, tally)
        found = said.violations
        if not found:
            facts = {"leaves": len(draft.checkpoints.leaves()), "ignored": ignored}
            return _outcome("regenerated", draft, found, facts, tally, asked)
    facts = {"ignored": ignored, VIOLATIONS: [violation.model_dump() for violation in found]}
    return _outcome(VIOLATIONS, draft, found, facts, tally, asked)


def _uncovered(case: Case, draft: TaskDraft) -> tuple[Violation, ...]:
    return uncovered(draft) if case.shop.config.require_coverage else ()


async def _written(case: Case, draft: TaskDraft, found: Sequence[Violation]) -> Asked[TaskDraft]:
    def accept(form: TreeForm) -> TaskDraft:
        changed = draft.model_copy(update={"checkpoints": tree_of(form.checkpoints)})
        broken = (*tree_violations(changed, case.book), *tree_wording(changed, case.book))
        require((*counted(broken, case.book), *_uncovered(case, changed)))
        return changed

    context = await asyncio.to_thread(case.context)
    shown = {
        "task": shown_task(draft),
        "old_tree": shown_nodes(draft.checkpoints),
        "violations": [str(violation) for violation in found],
    }
    return await case.ask("checkpoints", context | shown, TreeForm, accept)


def _outcome(
    verdict: str,
    draft: TaskDraft,
    found: Sequence[Violation],
    facts: dict[str, Any],
    tally: Tally,
    asked: Asked[TaskDraft],
) -> StepOutcome:
    listed = "; ".join(map(str, found))
    return StepOutcome(
        verdict,
        next=None if found else Construction.PROVE,
        status=CandidateStatus.QUARANTINED if found else None,
        reason=f"the regenerated tree still breaks rules: {listed}"[:1_000] if found else "",
        reasons=tuple(map(str, found)),
        draft=draft,
        facts=facts,
        tally=tally,
        prompt_version=asked.prompt_version,
    )
