"""Releases of a bank: what changed, why, and where every task came from."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from taskdata.schema.base import Sha256, Slug, Value
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.statistics import BankStatistics

Proof = Literal["proven", "unproven"]


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
    decisions: tuple[QuarantineDecision, ...] = ()
    """Rules that a person let it break, and edits, of the task and of its seed."""

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
    created_at: datetime
