"""Asking the model for a checkpoint tree, which code accepts only if it breaks no rule."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stages.construct.answers.drafts import shown_nodes, shown_task, tree_of
from stages.construct.answers.forms import ROOT, NodeForm, TreeForm
from stages.construct.asking.ask import Asked
from stages.construct.asking.leaf_by_leaf import NOTHING, Earlier, Leaves, leaf_by_leaf
from stages.construct.case import Case
from stages.construct.material.checks import checks_for
from stages.construct.rules.book import require
from stages.construct.rules.coverage import coverage_map, uncovered
from stages.construct.rules.tree import tree_violations
from stages.construct.rules.violation import Violation, counted
from stages.construct.rules.wording import tree_wording
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.construct import TaskDraft
from taskdata.schema.requirement import ExplicitRequirement


@dataclass(frozen=True)
class WrittenTree:
    """A draft with a tree that the model wrote for it."""

    draft: TaskDraft
    coverage: tuple[ExplicitRequirement, ...] = ()
    """The coverage map, if the tree was written demand by demand; empty: not asked for."""


async def written_tree(
    case: Case,
    draft: TaskDraft,
    old: Checkpoint | None,
    found: Sequence[Violation],
    earlier: Earlier = NOTHING,
    *,
    mends: bool = False,
) -> Asked[WrittenTree]:
    """Return the draft with a tree that the model writes for it.

    Args:
        case: The candidate.
        draft: The task that the tree is for.
        old: The tree before, from which the model may take over what fits; None: there is none.
        found: What was found wrong with it.
        earlier: What else is known of it, for a tree that is written leaf by leaf.
        mends: Whether it was written for this wording of the task.

    Raises like `asking.ask`.
    """

    def accept(nodes: Sequence[NodeForm]) -> WrittenTree:
        changed = draft.model_copy(update={"checkpoints": tree_of(nodes)})
        broken = (*tree_violations(changed, case.book), *tree_wording(changed, case.book))
        require((*counted(broken, case.book), *gaps(case, changed)))
        return WrittenTree(changed)

    context = await asyncio.to_thread(case.context)
    if case.shop.config.drafts_in_steps:
        return _put_together(await leaf_by_leaf(case, draft, found, context, earlier), accept)
    shown = {
        "task": shown_task(draft),
        "old_tree": shown_nodes(old) if old else [],
        "mends": mends,
        "violations": [str(violation) for violation in found],
    }
    return await case.ask(
        "checkpoints",
        context | shown,
        TreeForm,
        lambda form: accept(form.checkpoints),
        choices={
            "check": ["", *(check.name for check in checks_for(draft))],
            "looks_at": [spec.name for spec in draft.deliverables],
        },
    )


def _put_together(
    asked: Asked[Leaves], accept: Callable[[Sequence[NodeForm]], WrittenTree]
) -> Asked[WrittenTree]:
    """Return the tree of leaves that were asked for one by one; no answer if it breaks a rule."""
    written, faults = None, asked.faults
    if asked.answer is not None:
        try:
            draft = accept((ROOT, *asked.answer.nodes)).draft
            written = WrittenTree(draft, coverage_map(draft, asked.answer.scored))
        except BadTaskData as exc:
            faults = (*faults, str(exc))
    return Asked(written, faults, asked.tally, asked.prompt_version, asked.left_out)


def gaps(case: Case, draft: TaskDraft) -> tuple[Violation, ...]:
    """Return what code finds required in the query and no leaf scores, if that must not be."""
    return counted(uncovered(draft), case.book) if requires_coverage(case, draft) else ()


def requires_coverage(case: Case, draft: TaskDraft) -> bool:
    """Return whether every explicit requirement of the draft must have a leaf."""
    # The tree of a task with an answer scores that answer, whatever else the query says.
    return case.shop.config.require_coverage and draft.answer is None
