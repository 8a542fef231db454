"""Asking the model for a checkpoint tree, which code accepts only if it breaks no rule."""

import asyncio
from collections.abc import Sequence
from typing import Any

from stages.construct.answers.drafts import shown_nodes, shown_task, tree_of
from stages.construct.answers.forms import LeavesForm, NodeForm, TreeForm, nodes_of
from stages.construct.answers.leaf_schema import leaves_schema
from stages.construct.asking.ask import Asked
from stages.construct.material.checks import checks_for, kind_named
from stages.construct.rules.book import require
from stages.construct.rules.coverage import uncovered
from stages.construct.rules.tree import tree_violations
from stages.construct.rules.violation import Violation, counted
from stages.construct.rules.wording import tree_wording
from stages.construct.work import Case
from stages.score.library import check_library
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.construct import TaskDraft


async def written_tree(
    case: Case,
    draft: TaskDraft,
    old: Checkpoint | None,
    found: Sequence[Violation],
    *,
    mends: bool = False,
) -> Asked[TaskDraft]:
    """Return the draft with a tree that the model writes for it.

    Args:
        case: The candidate.
        draft: The task that the tree is for.
        old: The tree before, from which the model may take over what fits; None: there is none.
        found: What was found wrong with it.
        mends: Whether it was written for this wording of the task.

    Raises like `asking.ask`.
    """

    def accept(nodes: Sequence[NodeForm]) -> TaskDraft:
        changed = draft.model_copy(update={"checkpoints": tree_of(nodes)})
        broken = (*tree_violations(changed, case.book), *tree_wording(changed, case.book))
        require((*counted(broken, case.book), *gaps(case, changed)))
        return changed

    in_steps = case.shop.config.drafts_in_steps
    context = await asyncio.to_thread(case.context)
    shown = {
        "task": shown_task(draft),
        "old_tree": shown_nodes(old) if old else [],
        "mends": mends,
        "violations": [str(violation) for violation in found],
        "in_steps": in_steps,
    }
    choices = {
        "check": ["", *(check.name for check in checks_for(draft))],
        "looks_at": [spec.name for spec in draft.deliverables],
    }
    if in_steps:
        return await case.ask(
            "checkpoints",
            context | shown,
            LeavesForm,
            lambda form: accept(nodes_of(form)),
            choices=choices,
            schema=_leaves_schema(draft) if case.window.is_local else None,
        )
    return await case.ask(
        "checkpoints",
        context | shown,
        TreeForm,
        lambda form: accept(form.checkpoints),
        choices=choices,
    )


def _leaves_schema(draft: TaskDraft) -> dict[str, Any]:
    checks = [check_library()[check.name] for check in checks_for(draft)]
    return leaves_schema(checks, [(one.name, kind_named(one.type)) for one in draft.deliverables])


def gaps(case: Case, draft: TaskDraft) -> tuple[Violation, ...]:
    """Return what code finds required in the query and no leaf scores, if that must not be."""
    return counted(uncovered(draft), case.book) if requires_coverage(case, draft) else ()


def requires_coverage(case: Case, draft: TaskDraft) -> bool:
    """Return whether every explicit requirement of the draft must have a leaf."""
    # The tree of a task with an answer scores that answer, whatever else the query says.
    return case.shop.config.require_coverage and draft.answer is None
