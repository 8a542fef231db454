"""What the steps of a candidate say about its draft, read back by later stages."""

from collections.abc import Sequence

from stages.construct.rules.violation import Violation
from taskdata.schema.construct import Construction, ConstructionStep, TaskDraft

VIOLATIONS = "violations"
"""The verdict of a validation that found some, and the key of its facts that lists them."""


def tree_is_current(draft: TaskDraft, steps: Sequence[ConstructionStep]) -> bool:
    """Return whether the draft's tree was made for what the draft asks for now.

    The tree's maker is the latest step that came with it and was no rewrite, for rewrites leave the
    tree alone. A tree that no step came with was written by a person, with the task around it.
    Where the draft has an answer, the tree scores that answer, which rewrites leave alone too.
    """
    if draft.answer is not None:
        return True
    for step in reversed(steps):
        made = step.draft
        if made is None or step.stage is Construction.REWRITE:
            continue
        if made.checkpoints == draft.checkpoints:
            asked = (made.query, made.deliverables, made.files)
            return asked == (draft.query, draft.deliverables, draft.files)
    return True


def found_violations(steps: Sequence[ConstructionStep]) -> tuple[Violation, ...]:
    """Return what the latest validation found, () if it found the draft clean or there is none."""
    validated = _last(steps, Construction.VALIDATE)
    if validated is None:
        return ()
    listed = validated.facts.get(VIOLATIONS, ())
    return tuple(Violation.model_validate(violation) for violation in listed)


def is_sent_back(steps: Sequence[ConstructionStep]) -> bool:
    """Return whether the latest rewrite is older than a validation that found violations."""
    for step in reversed(steps):
        if step.stage is Construction.REWRITE:
            return False
        if step.stage is Construction.VALIDATE:
            return step.verdict == VIOLATIONS
    return False


def classification(steps: Sequence[ConstructionStep]) -> ConstructionStep | None:
    """Return the step that classified the candidate, None if none has."""
    return _last(steps, Construction.CLASSIFY)


def _last(steps: Sequence[ConstructionStep], stage: Construction) -> ConstructionStep | None:
    return next((step for step in reversed(steps) if step.stage is stage), None)
