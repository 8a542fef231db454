"""Facts about a candidate's draft, derived from its recorded steps."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from stages.construct.proof.adversarial.report import Resistance
from stages.construct.rules.coverage import coverage_map
from stages.construct.rules.violation import Violation, of_tree
from taskdata.schema.construct import (
    Construction,
    ConstructionStep,
    RefreshConfig,
    ReviewDecision,
    TaskDraft,
)
from taskdata.schema.quarantine import Finding
from taskdata.schema.release import ReferenceKind
from taskdata.schema.requirement import ExplicitRequirement

VIOLATIONS = "violations"
"""The verdict of a step that found violations to the end, and the key that lists them."""

WEAK = "weak"
"""The verdict of a proof: the tree pays cheats, or does not notice faults in the reference."""

CONFIRMED = "reference_confirmed"
"""The verdict if a second solution agrees with the reference."""

DISPUTED = "reference_disputed"
"""The verdict if no second solution agrees with the reference."""

DRAFTED_AS, CONFIRMS = "reference_kind", "confirms"
"""Facts of steps: the kind of a drafted reference; the state of the draft that was confirmed."""

COVERAGE_MAP = "coverage_map"
"""Fact of a step: the requirements of the query with their leaves, as the model named them too."""

_CONFIRMED_FIELDS = {"query", "files", "deliverables", "checkpoints", "reference"}
_MAX_REASON = 1_000

RESISTS = "resists"
"""The rule of trees that pay cheats, or do not notice faults in the reference."""


def tree_is_current(draft: TaskDraft, steps: Sequence[ConstructionStep]) -> bool:
    """Return whether the draft's tree was made for the current task.

    The tree was made by the latest step with a tree that is no rewrite, because rewrites do not
    change the tree. A tree without such a step was written by a person, together with the task. If
    the draft has an answer, the tree scores that answer, which rewrites do not change either.
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
    """Return the violations found by the latest validation, () if there are none."""
    validated = _last(steps, Construction.VALIDATE)
    if validated is None:
        return ()
    listed = validated.facts.get(VIOLATIONS, ())
    return tuple(Violation.model_validate(violation) for violation in listed)


def tree_weaknesses(steps: Sequence[ConstructionStep]) -> tuple[Violation, ...]:
    """Return the weaknesses that proof found in the tree since the tree was last regenerated."""
    for step in reversed(steps):
        if step.stage is Construction.CHECKPOINTS:
            return ()
        if step.stage is Construction.PROVE and step.verdict == WEAK:
            return tuple(
                Violation(field=of_tree(), rule=RESISTS, message=reason) for reason in step.reasons
            )
    return ()


def paying_leaves(steps: Sequence[ConstructionStep]) -> frozenset[str]:
    """Return the leaves that paid cheats too much, if proof has sent the tree back for that."""
    for step in reversed(steps):
        if step.stage is Construction.CHECKPOINTS:
            break
        if step.stage is Construction.PROVE and step.verdict == WEAK:
            found = Resistance.model_validate(step.facts.get("resistance") or {})
            return frozenset(leaf for cheat in found.paid for leaf in cheat.leaves)
    return frozenset()


def times_weak(steps: Sequence[ConstructionStep]) -> int:
    """Return how often proof has sent the candidate back for another tree."""
    return sum(step.verdict == WEAK for step in steps)


def findings_of(
    stage: Construction, verdict: str, reasons: Sequence[str], facts: Mapping[str, Any]
) -> tuple[Finding, ...] | None:
    """Return the rules by which a stage's step stops a candidate; None: its reason says it all."""
    broken = [Violation.model_validate(one) for one in facts.get(VIOLATIONS, ())]
    if verdict == VIOLATIONS and broken:
        found = (
            Finding(gate=stage.value, rule=one.rule, reason=one.message, field=one.field)
            for one in broken
        )
        return tuple(dict.fromkeys(found))
    if not reasons:
        return None
    rule = RESISTS if verdict == WEAK else verdict
    said = "; ".join(dict.fromkeys(reasons))[:_MAX_REASON]
    return (Finding(gate=stage.value, rule=rule, reason=said),)


def covered(draft: TaskDraft, steps: Sequence[ConstructionStep]) -> tuple[ExplicitRequirement, ...]:
    """Return the coverage map of a candidate's draft as it stands now.

    What code finds is found anew in the draft. What the model has named is taken from the latest
    step that recorded a map, without the words that no longer stand in the query and the leaves
    that the tree no longer has.
    """
    maps = (step.facts[COVERAGE_MAP] for step in reversed(steps) if COVERAGE_MAP in step.facts)
    return coverage_map(draft, map(ExplicitRequirement.model_validate, next(maps, ())))


def has_map(draft: TaskDraft, steps: Sequence[ConstructionStep]) -> bool:
    """Return whether the step that made the draft's tree has recorded the tree's coverage map."""
    return any(
        step.draft is not None
        and step.draft.checkpoints == draft.checkpoints
        and COVERAGE_MAP in step.facts
        for step in steps
    )


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


def drafted_as(config: RefreshConfig) -> ReferenceKind:
    """Return the kind of a reference that the solver of a refresh drafts."""
    if config.solver[0] == config.model:
        return ReferenceKind.SELF_CONSISTENT
    return ReferenceKind.STRONGER_MODEL


def confirmable(draft: TaskDraft) -> str:
    """Return a hash of everything that a second solution confirms; any change asks for another."""
    text = draft.model_dump_json(include=_CONFIRMED_FIELDS)
    return hashlib.sha256(text.encode()).hexdigest()


def confirmation(draft: TaskDraft, steps: Sequence[ConstructionStep]) -> ConstructionStep | None:
    """Return the step that tried a second solution of this draft; None: none was tried."""
    state = confirmable(draft)
    tried = (step for step in reversed(steps) if step.verdict in (CONFIRMED, DISPUTED))
    return next((step for step in tried if step.facts.get(CONFIRMS) == state), None)


def reference_kind(
    draft: TaskDraft, steps: Sequence[ConstructionStep], decisions: Sequence[ReviewDecision]
) -> ReferenceKind:
    """Return why a candidate's reference can be believed."""
    if draft.planning is not None:
        return ReferenceKind.SUPPLIED
    if draft.reference is None:
        return ReferenceKind.NONE
    states = [(s.at, s.draft, s.facts.get(DRAFTED_AS)) for s in steps]
    states += [(d.at, d.draft, ReferenceKind.PERSON) for d in decisions]
    states.sort(key=lambda state: state[0])
    origins = (kind for _, made, kind in states if made and made.reference == draft.reference)
    # A step without the fact recorded a chain that the task's own author wrote.
    kind = ReferenceKind(next(origins, None) or ReferenceKind.SELF_CONSISTENT)
    tried = confirmation(draft, steps)
    if kind is ReferenceKind.SELF_CONSISTENT and tried and tried.verdict == CONFIRMED:
        return ReferenceKind.TWICE
    return kind


def _last(steps: Sequence[ConstructionStep], stage: Construction) -> ConstructionStep | None:
    return next((step for step in reversed(steps) if step.stage is stage), None)
