"""The rewrite stage: augments, refines, or repairs a draft (GTA-2, section 3.3.4).

A rewrite changes the task but not the tree, which is regenerated once the task is clean. A model
that changes nothing is asked again; if it changes nothing then either, the draft goes on as it is.
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

UNCHANGED = "unchanged"
"""The verdict of a rewrite that changed nothing."""

_SAYS_UNCHANGED = {
    "augmentation": "the task asks for exactly what it asked for before; add to what it asks for",
    "refinement": "the task reads exactly as before; put what is missing or unclear into words",
}
"""What is told, once, of an answer that changes nothing. Validation tells it of a repair."""

_ASKED = ("query", "files", "deliverables", "tools")
"""The fields of a draft that say what is asked for; others, such as its title, describe that."""

_PROMPTS = {"augmentation": "augment", "refinement": "refine", REPAIR: "repair"}


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Rewrite every due candidate, as the classifier or the validation demands.

    The counts before and after are recorded with the step. Raises like `work.walk`.
    """
    return walk(store, refresh_id, Construction.REWRITE, _take, connect)


async def _take(case: Case) -> StepOutcome:
    draft = case.drafted()
    cause, said = _cause(case)
    told = _SAYS_UNCHANGED.get(cause)
    is_told = False

    def accept(form: TaskForm) -> TaskDraft:
        nonlocal is_told
        is_small = case.shop.config.drafts_in_steps
        changed = rewritten(draft, tidied(form) if is_small else form)
        if told is not None and not is_told and _is_same(draft, changed, cause):
            is_told = True
            raise BadTaskData(told)
        require(task_violations(changed, case.book))
        return changed

    context = await asyncio.to_thread(case.context)
    shown = {"draft": shown_task(draft), **said}
    asked = await case.ask(
        _PROMPTS[cause], context | shown, TaskForm, accept, choices=task_choices(case)
    )
    new = asked.answer
    if new is None and told is not None and asked.faults[-1:] == (told,):
        new = draft
    if new is None:
        return invalid(asked, cause=cause)
    is_same = _is_same(draft, new, cause)
    return StepOutcome(
        UNCHANGED if is_same else "rewritten",
        next=Construction.VALIDATE,
        reasons=("the model returned the task as it was",) if is_same else (),
        draft=None if is_same else new,
        facts={
            "cause": cause,
            "before": counts(draft).model_dump(),
            "after": counts(draft if is_same else new).model_dump(),
            "answers_refused": list(asked.faults),
        },
        tally=asked.tally,
        prompt_version=asked.prompt_version,
    )


def _is_same(draft: TaskDraft, changed: TaskDraft, cause: str) -> bool:
    """Return whether a rewrite leaves everything as it was that its cause is about."""
    # Rules may be broken in any field.
    fields = TaskForm.model_fields if cause == REPAIR else _ASKED
    return all(_bare(getattr(draft, name)) == _bare(getattr(changed, name)) for name in fields)


def _bare(value: Any) -> Any:
    """Return a text without the white space between its words that says nothing."""
    return " ".join(value.split()) if isinstance(value, str) else value


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
