"""The checkpoints stage: a tree that fits the current task (GTA-2, section 3.3.4)."""

from dataclasses import dataclass, field
from typing import Any

from environments.models.registry import model_client
from stages.construct.asking.ask import Asked, Tally
from stages.construct.asking.leaf_by_leaf import Earlier
from stages.construct.asking.opinions import opinion
from stages.construct.asking.requirements import named_requirements
from stages.construct.asking.tree import gaps, requires_coverage, written_tree
from stages.construct.case import Case
from stages.construct.history import (
    COVERAGE_MAP,
    VIOLATIONS,
    covered,
    found_violations,
    has_map,
    paying_leaves,
    tree_is_current,
    tree_weaknesses,
)
from stages.construct.rules.coverage import coverage_map, uncovered
from stages.construct.rules.violation import Violation, counted
from stages.construct.work import Connect, StepOutcome, invalid, walk
from taskdata.schema.construct import CandidateStatus, Construction, TaskDraft
from taskdata.schema.requirement import ExplicitRequirement, MapOrigin
from taskdata.schema.run import StageReport
from taskdata.store import Store


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Give every due candidate a fitting tree; the prove stage is next.

    A tree is kept if it was made for the current query and neither validation nor proof found a
    fault in it. If the refresh requires coverage, a leaf must score every explicit requirement of
    the query, too: those that code finds, and those that the model names. A new tree is checked
    against every rule of trees and by a model's opinion. If it has faults, it is rewritten at most
    `max_rewrites` times, or not at all if proof has sent the candidate back; then the candidate is
    quarantined. Raises the errors of `work.walk`.
    """
    return walk(store, refresh_id, Construction.CHECKPOINTS, _take, connect)


@dataclass
class _Work:
    """What the stage has asked and found so far about one candidate."""

    case: Case
    draft: TaskDraft
    found: tuple[Violation, ...]
    is_current: bool
    """Whether the tree was made for the current task."""
    tally: Tally = field(default_factory=Tally)
    ignored: list[str] = field(default_factory=list)
    coverage: tuple[ExplicitRequirement, ...] = ()
    """The coverage map of the latest tree; empty: not asked for."""
    prompt_version: str | None = None
    """Of the tree; of the map if the tree is kept."""
    failed: Asked[Any] | None = None
    """A question to which no answer was usable."""

    @property
    def facts(self) -> dict[str, Any]:
        """What the step records besides its verdict."""
        facts: dict[str, Any] = {"leaves": len(self.draft.checkpoints.leaves())}
        facts |= {"ignored": self.ignored} if self.ignored else {}
        facts |= {VIOLATIONS: [one.model_dump() for one in self.found]} if self.found else {}
        if self.coverage:
            facts[COVERAGE_MAP] = [one.model_dump(mode="json") for one in self.coverage]
        return facts


async def _take(case: Case) -> StepOutcome:
    draft = case.drafted()
    weak = tree_weaknesses(case.steps)
    found = weak or tuple(v for v in found_violations(case.steps) if v.is_of_tree)
    work = _Work(case, draft, (*found, *gaps(case, draft)), tree_is_current(draft, case.steps))
    if work.is_current and has_map(draft, case.steps):
        work.coverage = covered(draft, case.steps)
    if work.is_current and not work.found:
        await _map(work, work.coverage)
        if work.failed is not None:
            return invalid(work.failed, work.tally)
        if not work.found:
            return _outcome("kept", work, is_new=False)
    # Proof limits the number of its own rewrites.
    for _ in range(1 if weak else 1 + case.shop.config.max_rewrites):
        await _rewrite(work)
        if work.failed is not None:
            return invalid(work.failed, work.tally)
        if not work.found:
            return _outcome("regenerated", work)
    return _outcome(VIOLATIONS, work)


async def _rewrite(work: _Work) -> None:
    """Have the model write another tree, and find what is wrong with it."""
    case, old = work.case, work.draft.checkpoints
    paying = paying_leaves(case.steps)
    earlier = Earlier(
        named=tuple(one for one in work.coverage if one.origin is MapOrigin.MODEL),
        unsound=frozenset(leaf.requirement for leaf in old.leaves() if leaf.id in paying),
    )
    asked = await written_tree(case, work.draft, old, work.found, earlier, mends=work.is_current)
    work.tally += asked.tally
    work.prompt_version = asked.prompt_version
    if asked.answer is None:
        work.failed = asked
        return
    work.draft, work.is_current = asked.answer.draft, True
    said = await opinion(work.case, work.draft, "tree")
    work.tally += said.asked.tally
    work.ignored += said.ignored
    if not said.is_given:
        work.failed = said.asked
        return
    work.found = said.violations
    await _map(work, asked.answer.coverage)


async def _map(work: _Work, known: tuple[ExplicitRequirement, ...]) -> None:
    """Have the model name what the query demands, and add the demands that no leaf scores.

    It is not asked for the map of a tree that was written demand by demand, which is `known`.
    """
    if not requires_coverage(work.case, work.draft):
        return
    named = known
    if not known:
        asked = await named_requirements(work.case, work.draft)
        work.tally += asked.tally
        work.prompt_version = work.prompt_version or asked.prompt_version
        if asked.answer is None:
            work.failed = asked
            return
        named = asked.answer
    work.coverage = coverage_map(work.draft, named)
    missing = uncovered(work.draft, named)
    work.found = (*work.found, *counted(missing, work.case.book))


def _outcome(verdict: str, work: _Work, *, is_new: bool = True) -> StepOutcome:
    found, listed = work.found, "; ".join(map(str, work.found))
    return StepOutcome(
        verdict,
        next=None if found else Construction.PROVE,
        status=CandidateStatus.QUARANTINED if found else None,
        reason=f"the regenerated tree still breaks rules: {listed}"[:1_000] if found else "",
        reasons=tuple(map(str, found)),
        draft=work.draft if is_new else None,
        facts=work.facts,
        tally=work.tally,
        prompt_version=work.prompt_version,
    )
