"""Tables of seeds, refreshes and releases, with every decision on the way to a bank."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint
from sqlmodel import Field, SQLModel, UniqueConstraint

from taskdata.tables.columns import json_column, time_column


class SeedRow(SQLModel, table=True):
    """A seed query by content; immutable."""

    __tablename__ = "seed"
    id: str = Field(primary_key=True)
    source: str = Field(index=True)
    origin: str
    row: int | None = None
    query: dict[str, Any] = json_column()
    added_at: datetime = time_column()
    language: str | None = Field(default=None, index=True)


class SeedLinkRow(SQLModel, table=True):
    """A seed that repeats another seed or a task."""

    __tablename__ = "seed_link"
    __table_args__ = (CheckConstraint("similarity BETWEEN 0 AND 1", name="similarity_in_range"),)
    seed_id: str = Field(primary_key=True, foreign_key="seed.id")
    other_kind: str = Field(primary_key=True)
    other_id: str = Field(primary_key=True)
    method: str
    similarity: float


class QuarantineRow(SQLModel, table=True):
    """A rejected row, seed, task or candidate, and why it was rejected."""

    __tablename__ = "quarantine"
    id: int | None = Field(default=None, primary_key=True)
    stage: str
    origin: str = Field(index=True)
    row: int | None = None
    item: str | None = None
    field: str | None = None
    rule: str | None = None
    value: str | None = None
    reason: str
    excerpt: str
    at: datetime = time_column()
    ended: str | None = None


class QuarantineDecisionRow(SQLModel, table=True):
    """A person's decision about what is in quarantine; `item` as in its decision."""

    __tablename__ = "quarantine_decision"
    id: int | None = Field(default=None, primary_key=True)
    item: str = Field(index=True)
    kind: str
    rule: str | None = None
    found: str
    reason: str
    by: str
    replaced_by: str | None = None
    at: datetime = time_column()


class RefreshRow(SQLModel, table=True):
    """One pass from seeds to a release."""

    __tablename__ = "refresh"
    id: str = Field(primary_key=True)
    status: str
    config: dict[str, Any] = json_column()
    code_version: str
    created_at: datetime = time_column()
    finished_at: datetime | None = time_column(nullable=True)
    error: str | None = None
    release_hash: str | None = Field(default=None, foreign_key="bank_release.hash")
    flow_run_id: str | None = None


class CandidateRow(SQLModel, table=True):
    """A task under construction, and the stage that is due next."""

    __tablename__ = "candidate"
    __table_args__ = (UniqueConstraint("refresh_id", "task_id"),)
    id: str = Field(primary_key=True)
    refresh_id: str = Field(foreign_key="refresh.id", index=True)
    task_id: str
    tier: str
    origin: str
    seed_id: str | None = Field(default=None, foreign_key="seed.id")
    exemplar: str | None = None
    aim: str = ""
    stage: str
    status: str
    reason: str = ""


class ConstructionStepRow(SQLModel, table=True):
    """One step of a candidate; written once, together with the candidate's new state."""

    __tablename__ = "construction_step"
    __table_args__ = (UniqueConstraint("candidate_id", "stage", "attempt"),)
    id: int | None = Field(default=None, primary_key=True)
    candidate_id: str = Field(foreign_key="candidate.id", index=True)
    stage: str
    attempt: int
    verdict: str
    step: dict[str, Any] = json_column()
    at: datetime = time_column()


class ReviewRow(SQLModel, table=True):
    """A person's decision about a candidate."""

    __tablename__ = "review"
    id: int | None = Field(default=None, primary_key=True)
    candidate_id: str = Field(foreign_key="candidate.id", index=True)
    decision: str
    reviewer: str
    comment: str
    checklist: list[dict[str, Any]] | None = json_column(nullable=True)
    draft: dict[str, Any] | None = json_column(nullable=True)
    at: datetime = time_column()


class BankGateRow(SQLModel, table=True):
    """One pass of one gate on the way to a bank; `subject` is a refresh, an import or a release."""

    __tablename__ = "bank_gate"
    id: int | None = Field(default=None, primary_key=True)
    subject: str = Field(index=True)
    gate: str
    success: bool
    result: dict[str, Any] = json_column()
    recorded_at: datetime = time_column()


class RefreshStageRow(SQLModel, table=True):
    """One pass of one stage of a refresh."""

    __tablename__ = "refresh_stage"
    id: int | None = Field(default=None, primary_key=True)
    refresh_id: str = Field(foreign_key="refresh.id", index=True)
    stage: str
    report: dict[str, Any] = json_column()
    recorded_at: datetime = time_column()


class ReleaseNotesRow(SQLModel, table=True):
    """Version, changes, statistics and lineage of a release."""

    __tablename__ = "release_notes"
    __table_args__ = (UniqueConstraint("bank", "version"),)
    bank: str = Field(primary_key=True)
    release_hash: str = Field(primary_key=True, foreign_key="bank_release.hash")
    version: int
    notes: dict[str, Any] = json_column()
    created_at: datetime = time_column()


class WithdrawalRow(SQLModel, table=True):
    """The tombstone of a task; the task need not be stored, so no key refers to it."""

    __tablename__ = "withdrawal"
    task_hash: str = Field(primary_key=True)
    task_id: str
    bank: str
    reason: str
    withdrawn_at: datetime = time_column()
