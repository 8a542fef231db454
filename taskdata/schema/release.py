"""Releases of a bank: what changed, why, and where every task came from."""

from collections import Counter
from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from taskdata.schema.base import Sha256, Slug, Value
from taskdata.schema.evidence import TaskEvidence
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.review import ReviewAgreement
from taskdata.schema.statistics import BankStatistics

Proof = Literal["proven", "unproven"]


class ReferenceKind(StrEnum):
    """Why a reference solution can be believed; the first that holds is recorded."""

    PERSON = "person"
    """A person wrote or changed it."""
    STRONGER_MODEL = "stronger_model"
    """Drafted by another model than the tree, configured as the stronger one."""
    TWICE = "twice"
    """A second solution, drafted without sight of the tree, agrees on the checked values."""
    SELF_CONSISTENT = "self_consistent"
    """It only reaches the full score with a tree that the same model wrote."""
    SUPPLIED = "supplied"
    """The task came with it from another bank, which does not say who wrote it."""
    NONE = "none"
    """The task has no reference solution."""

    @property
    def reason(self) -> str:
        """The same in words for readers."""
        return _REASONS[self]


_REASONS = {
    ReferenceKind.PERSON: "written or changed by a person",
    ReferenceKind.STRONGER_MODEL: "drafted by a stronger model than the one that wrote the tree",
    ReferenceKind.TWICE: "confirmed by a second solution, drafted without sight of the tree",
    ReferenceKind.SELF_CONSISTENT: "confirmed by nothing but a tree of the same model",
    ReferenceKind.SUPPLIED: "supplied with the bank that the task came from",
    ReferenceKind.NONE: "none",
}


class TaskChange(Value):
    """One difference between two releases."""

    task_id: Slug
    kind: Literal["added", "removed", "changed"]
    fields: tuple[str, ...] = ()
    """What of a changed task differs."""
    why: str = ""
    """Where an added or changed task came from, or why one went, as far as the lineage says."""


class Lineage(Value):
    """The way of one task into a release."""

    task_id: Slug
    task_hash: Sha256
    proof: Proof
    origin: str
    """`base`, `import`, or the origin of the candidate it was made from."""
    seed_id: str | None = None
    seed_source: str | None = None
    candidate_id: str | None = None
    refresh_id: str | None = None
    prompts: tuple[str, ...] = ()
    """Versions of the prompts behind it, in order."""
    models: tuple[str, ...] = ()
    """Models as reported by their providers."""
    reviewer: str | None = None
    reference: ReferenceKind | None = None
    """None: the release was made before this was recorded."""
    decisions: tuple[QuarantineDecision, ...] = ()
    """Rules that a person let it break, and edits, of the task and of its seed."""
    evidence: TaskEvidence | None = None
    """None: the release was made before this was recorded."""

    @property
    def overrides(self) -> tuple[QuarantineDecision, ...]:
        """The rules that a person let it break."""
        return tuple(one for one in self.decisions if one.kind == "override")


class ReleaseName(Value):
    """Which release of which bank."""

    bank: Slug
    version: int = Field(ge=1)
    hash: Sha256


class ReleaseNotes(Value):
    """What is known of a release beside its tasks; written once, with it."""

    release_hash: Sha256
    bank: Slug
    version: int = Field(ge=1)
    """Counts the releases of that bank."""
    previous_hash: Sha256 | None = None
    snapshot_sha256: Sha256
    """The whole release as one JSON Lines file in the artifact store."""
    changes: tuple[TaskChange, ...] = ()
    statistics: BankStatistics
    lineage: tuple[Lineage, ...] = ()
    refresh_id: str | None = None
    agreement: ReviewAgreement | None = None
    """Of the reviewers of the refresh; None: no two people have reviewed one draft."""
    created_at: datetime

    @property
    def references(self) -> dict[ReferenceKind, int]:
        """Number of tasks by kind of reference; without tasks for which it is not recorded."""
        counted = Counter(entry.reference for entry in self.lineage)
        return {kind: counted[kind] for kind in ReferenceKind if counted[kind]}
