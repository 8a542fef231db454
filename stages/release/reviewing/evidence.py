"""What speaks for a task and against it: for reviewers, and for the record of a release."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from quality.safety.personal import masked
from stages.construct.history import VIOLATIONS, covered
from stages.construct.proof.adversarial.report import Resistance
from stages.construct.proof.verdict import TaskProof
from stages.release.unsafe import unsafe
from taskdata.schema.construct import ConstructionStep, ReviewDecision, TaskDraft
from taskdata.schema.evidence import Adversaries, Became, CheatPaid, SafetyFinding, TaskEvidence
from taskdata.schema.quarantine import Finding
from taskdata.schema.release import Lineage
from taskdata.schema.safety import PersonalKind, SafetyRules
from taskdata.schema.seed import QuarantineEntry
from taskdata.schema.task import Task

SAFETY_RULES = ("personal_data", "harm", "injection")

_MASKS = re.compile(rf"\[({'|'.join(kind.value.upper() for kind in PersonalKind)})\]")
_FOUND_CHARACTERS = 300
_RELEASE = "release"


def evidence_of(
    draft: TaskDraft | None,
    steps: Sequence[ConstructionStep],
    quarantine: Sequence[QuarantineEntry],
    votes: Sequence[ReviewDecision] = (),
) -> TaskEvidence:
    """Return what is known about a candidate.

    Args:
        draft: Its draft as it stands.
        steps: Its steps, oldest first.
        quarantine: What stopped it, or its seed.
        votes: The verdicts of reviewers that are shown.
    """
    return TaskEvidence(
        adversaries=_adversaries(steps),
        coverage=None if draft is None else covered(draft, steps),
        safety=tuple(dict.fromkeys(_safety(draft, steps, quarantine))),
        is_searched=True,
        reviews=tuple(vote.model_copy(update={"draft": None}) for vote in votes),
    )


def evidence_of_task(task: Task) -> TaskEvidence:
    """Return what is known about a task of another bank: the requirements that its tree covers."""
    fields = {name: getattr(task, name) for name in TaskDraft.model_fields if name != "files"}
    # A task of another bank may be longer than a model may draft, so nothing is validated again.
    draft = TaskDraft.model_construct(**fields, files=tuple(file.path for file in task.files))
    return TaskEvidence(coverage=covered(draft, ()))


def with_proof(entry: Lineage, task: Task, proof: TaskProof | None, rules: SafetyRules) -> Lineage:
    """Return the lineage with what was still unknown about the task.

    Args:
        entry: Its lineage.
        task: The task.
        proof: What cheats and mutations showed; None: they are recorded, or were not tried.
        rules: The kinds of personal data and harm that are allowed.
    """
    known = entry.evidence or evidence_of_task(task)
    update: dict[str, Any] = {}
    if known.adversaries is None and proof is not None and proof.resistance is not None:
        update["adversaries"] = _told(proof.resistance)
    if not known.is_searched:
        found = tuple(_kept(entry, finding) for finding in unsafe(task, rules, _RELEASE))
        update |= {"safety": (*known.safety, *found), "is_searched": True}
    return entry.model_copy(update={"evidence": known.model_copy(update=update)})


def _kept(entry: Lineage, finding: Finding) -> SafetyFinding:
    decided = any(one.rule == finding.rule for one in entry.overrides)
    said = f"{finding.reason} ({finding.value})"[:_FOUND_CHARACTERS]
    became: Became = "overridden" if decided else "kept"
    return SafetyFinding(rule=finding.rule, where=_RELEASE, found=said, became=became)


def _adversaries(steps: Sequence[ConstructionStep]) -> Adversaries | None:
    tried = [s.facts["resistance"] for s in steps if s.facts.get("resistance") is not None]
    return _told(Resistance.model_validate(tried[-1])) if tried else None


def _told(found: Resistance) -> Adversaries:
    return Adversaries(
        cheats=tuple(CheatPaid(name=one.name, score=one.score) for one in found.cheats),
        faults=found.tried,
        noticed=found.noticed,
        unnoticed=tuple(map(str, found.survivors)),
        not_asked_for=found.not_asked_for,
    )


def _safety(
    draft: TaskDraft | None,
    steps: Sequence[ConstructionStep],
    quarantine: Sequence[QuarantineEntry],
) -> Iterator[SafetyFinding]:
    for entry in quarantine:
        if entry.rule in SAFETY_RULES:
            said = entry.reason if entry.value is None else f"{entry.reason} ({entry.value})"
            yield SafetyFinding(
                rule=entry.rule,
                where=entry.stage,
                found=masked(said)[:_FOUND_CHARACTERS],
                became=entry.ended or "stopped",
            )
    for step in steps:
        for one in step.facts.get(VIOLATIONS, ()):
            if one["rule"] in SAFETY_RULES:
                # A draft that still breaks it at the end is in quarantine, which says so above.
                yield SafetyFinding(
                    rule=one["rule"],
                    where=step.stage.value,
                    found=masked(f"{one['field']}: {one['message']}")[:_FOUND_CHARACTERS],
                    became="mended",
                )
    if draft is not None:
        masks = Counter(_MASKS.findall(draft.model_dump_json()))
        for kind, times in masks.items():
            yield SafetyFinding(
                rule="personal_data",
                where="draft",
                found=f"{kind.lower()}, {times} times" if times > 1 else kind.lower(),
                became="masked",
            )
