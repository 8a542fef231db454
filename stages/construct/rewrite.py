"""The rewrite stage: augments, refines, or repairs a draft (GTA-2, section 3.3.4).

A rewrite changes the task but not the tree, which is regenerated once the task is clean.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from environments.models.registry import model_client
from stages.construct.answers.drafts import rewritten, shown_task
from stages.construct.answers.forms import TaskForm, tidied
from stages.construct.case import Case, task_choices
from stages.construct.history import classification, found_violations, is_sent_back
from stages.construct.rules.book import require
from stages.construct.rules.task import task_violations
from stages.construct.work import Connect, StepOutcome, invalid, walk
from stages.release.changes import counts
from taskdata.errors import BadTaskData
from taskdata.schema.construct import Construction, ConstructionStep, TaskDraft
from taskdata.schema.run import StageReport
from taskdata.store import Store

REPAIR = "repair"
"""The cause of a rewrite that repairs violations; otherwise the classifier's verdict."""

_PROMPTS = {"augmentation": "augment", "refinement": "refine", REPAIR: "repair"}


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Rewrite every due candidate, as the classifier or the validation demands.

    The counts before and after are recorded with the step. Raises like `work.walk`.
    """
    return walk(store, refresh_id, Construction.REWRITE, _take, connect)


async def _take(case: Case) -> StepOutcome:
    draft = case.drafted()

    def accept(form: TaskForm) -> TaskDraft:
        is_small = case.shop.config.drafts_in_steps
        changed = rewritten(draft, tidied(form) if is_small else form)
        require(task_violations(changed, case.book))
        return changed

    cause, said = _cause(case)
    context = await asyncio.to_thread(case.context)
    shown = {"draft": shown_task(draft), **said}
    asked = await case.ask(
        _PROMPTS[cause], context | shown, TaskForm, accept, choices=task_choices(case)
    )
    if asked.answer is None:
        return invalid(asked, cause=cause)
    return StepOutcome(
        "rewritten",
        next=Construction.VALIDATE,
        draft=asked.answer,
        facts={
            "cause": cause,
            "before": counts(draft).model_dump(),
            "after": counts(asked.answer).model_dump(),
            "answers_refused": list(asked.faults),
        },
        tally=asked.tally,
        prompt_version=asked.prompt_version,
    )


def repairs(steps: Sequence[ConstructionStep]) -> int:
    """Return how often the draft was rewritten to repair violations."""
    return sum(
        step.stage is Construction.REWRITE and step.facts.get("cause") == REPAIR for step in steps
    )


def _cause(case: Case) -> tuple[str, dict[str, Any]]:
    """Return the cause of the rewrite, and what the prompt shows of it."""
    if is_sent_back(case.steps):
        found = [str(violation) for violation in found_violations(case.steps)]
        return REPAIR, {"violations": found, "repairs": repairs(case.steps)}
    classified = classification(case.steps)
    if classified is None or classified.verdict not in _PROMPTS:
        raise BadTaskData(
            f"candidate {case.candidate.id!r} is due for a rewrite, and no step says which"
        )
    return classified.verdict, {"reasons": list(classified.reasons)}
