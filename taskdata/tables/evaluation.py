"""Tables of tasks, runs and trials, of outcomes and model calls, and of scores and diagnoses.

A row and the value that it stores are two classes on purpose: SQLModel does not validate the
fields of a table, a value is immutable and may be nested, and a column may be indexed or renamed
without a change of what other rooms see.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, text
from sqlmodel import Field, SQLModel, UniqueConstraint

from taskdata.tables.columns import json_column, time_column


class TaskRow(SQLModel, table=True):
    """A task by content hash; immutable."""

    __tablename__ = "task"
    hash: str = Field(primary_key=True)
    task_id: str = Field(index=True)
    tier: str = Field(index=True)
    category: str = Field(index=True)
    spec: dict[str, Any] = json_column()
    outline: dict[str, Any] | None = json_column(nullable=True)
    """The fields that lists show, so that listing reads no trees; None in old rows."""


class ReleaseRow(SQLModel, table=True):
    """An immutable snapshot of a bank."""

    __tablename__ = "bank_release"
    hash: str = Field(primary_key=True)
    name: str = Field(index=True)
    created_at: datetime = time_column()


class ReleaseTaskRow(SQLModel, table=True):
    """Which tasks a release holds."""

    __tablename__ = "bank_release_task"
    release_hash: str = Field(primary_key=True, foreign_key="bank_release.hash")
    task_hash: str = Field(primary_key=True, foreign_key="task.hash")


class RunRow(SQLModel, table=True):
    """One evaluation."""

    __tablename__ = "run"
    id: str = Field(primary_key=True)
    status: str
    config: dict[str, Any] = json_column()
    release_hash: str = Field(foreign_key="bank_release.hash")
    code_version: str
    created_at: datetime = time_column()
    finished_at: datetime | None = time_column(nullable=True)
    error: str | None = None
    dashboard: str | None = None
    flow_run_id: str | None = None


class TrialRow(SQLModel, table=True):
    """One agent on one task, in one repetition and one arm and round of refinement."""

    __tablename__ = "trial"
    __table_args__ = (UniqueConstraint("run_id", "agent", "task_id", "repetition", "round", "arm"),)
    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    agent: str
    task_id: str
    task_hash: str = Field(foreign_key="task.hash")
    tier: str
    category: str
    repetition: int
    round: int
    arm: str = ""
    """Empty in round 0; not NULL, which would be unequal to itself in the unique constraint."""
    parent_trial_id: str | None = Field(default=None, foreign_key="trial.id", index=True)
    feedback: str | None = None


class OutcomeRow(SQLModel, table=True):
    """The outcome of one attempt; a trial has at most one finished attempt."""

    __tablename__ = "outcome"
    __table_args__ = (
        UniqueConstraint("trial_id", "attempt"),
        Index(
            "one_finished_outcome",
            "trial_id",
            unique=True,
            sqlite_where=text("status = 'finished'"),
            postgresql_where=text("status = 'finished'"),
        ),
        CheckConstraint("status IN ('finished', 'infrastructure')", name="status_known"),
    )
    id: int | None = Field(default=None, primary_key=True)
    trial_id: str = Field(foreign_key="trial.id", index=True)
    attempt: int
    status: str
    ending: str | None = None
    error: str | None = None
    error_detail: str | None = None
    final_answer: str = ""
    transcript_sha256: str | None = None
    rejected_files: list[str] = json_column()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    wall_seconds: float | None = None
    turns: int | None = None
    tool_calls: int | None = None
    tool_errors: int | None = None
    tool_uses: list[dict[str, Any]] | None = json_column(nullable=True)
    tool_pictures: list[dict[str, Any]] | None = json_column(nullable=True)
    self_verification: str | None = None
    model_id: str | None = None
    sandbox: str
    sandbox_image: str | None = None
    limits: dict[str, Any] | None = json_column(nullable=True)
    prompt_version: str | None = None
    code_version: str
    started_at: datetime = time_column()
    finished_at: datetime = time_column()


class ModelCallRow(SQLModel, table=True):
    """A model call that was paid for, stored as soon as its reply had arrived.

    Of the rows with the same `shared_key`, the first one holds the reply that all work gets.
    """

    __tablename__ = "model_call"
    __table_args__ = (
        Index(
            "shared_replies",
            "shared_key",
            "id",
            sqlite_where=text("shared_key IS NOT NULL"),
            postgresql_where=text("shared_key IS NOT NULL"),
        ),
    )
    id: int | None = Field(default=None, primary_key=True)
    purpose: str
    trial_id: str | None = Field(default=None, foreign_key="trial.id", index=True)
    attempt: int
    refresh_id: str | None = Field(default=None, foreign_key="refresh.id", index=True)
    key: str
    shared_key: str | None = None
    model: str
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    tokens_at_most: int | None = None
    cost_usd: float | None = None
    cost_at_most_usd: float | None = None
    at: datetime = time_column()
    reply: dict[str, Any] | None = json_column(nullable=True)


class DeliverableRow(SQLModel, table=True):
    """A file collected from an attempt."""

    __tablename__ = "deliverable"
    outcome_id: int = Field(primary_key=True, foreign_key="outcome.id")
    name: str = Field(primary_key=True)
    sha256: str
    size_bytes: int


class ScoreRow(SQLModel, table=True):
    """The score of a trial; written once."""

    __tablename__ = "trial_score"
    __table_args__ = (
        CheckConstraint("root_score BETWEEN 0 AND 10", name="root_score_in_range"),
        CheckConstraint("coverage BETWEEN 0 AND 1", name="coverage_in_range"),
    )
    trial_id: str = Field(primary_key=True, foreign_key="trial.id")
    root_score: float | None
    """The lower bound, which the agent is credited with; NULL: nothing was to be scored."""
    coverage: float
    tree: dict[str, Any] = json_column()
    scorer_version: str
    scored_at: datetime = time_column()


class LeafScoreRow(SQLModel, table=True):
    """One verifier's score of one leaf; NULL is unscored, for the cause named in `unscored`."""

    __tablename__ = "leaf_score"
    __table_args__ = (CheckConstraint("score BETWEEN 0 AND 10", name="score_in_range"),)
    trial_id: str = Field(primary_key=True, foreign_key="trial.id")
    leaf_id: str = Field(primary_key=True)
    verifier: str
    score: float | None
    reason: str
    unscored: str | None = None


class ScoringErrorRow(SQLModel, table=True):
    """Why a finished trial could not be scored; deleted once it is."""

    __tablename__ = "scoring_error"
    trial_id: str = Field(primary_key=True, foreign_key="trial.id")
    message: str
    failed_at: datetime = time_column()


class RenderedRow(SQLModel, table=True):
    """The artifact that holds the view of a deliverable."""

    __tablename__ = "rendered_deliverable"
    trial_id: str = Field(primary_key=True, foreign_key="trial.id")
    name: str = Field(primary_key=True)
    sha256: str
    view_sha256: str
    preview_png_sha256: str | None = None


class PagePicturesRow(SQLModel, table=True):
    """Pictures of the pages of a file, whichever trials delivered it."""

    __tablename__ = "page_pictures"
    sha256: str = Field(primary_key=True)
    ending: str = Field(primary_key=True)
    drawer: str = Field(primary_key=True)
    pictures: list[str] = json_column()
    page_count: int
    reason: str


class DiagnosisRow(SQLModel, table=True):
    """Failure labels of a trial."""

    __tablename__ = "diagnosis"
    trial_id: str = Field(primary_key=True, foreign_key="trial.id")
    stage: str | None
    type: str | None
    leaf_level: bool
    composition_level: bool
    deliverable_level: bool
    evidence: list[str] = json_column()
    labels: list[dict[str, Any]] | None = json_column(nullable=True)
    by_model: dict[str, Any] | None = json_column(nullable=True)
    labeller: str
    diagnosed_at: datetime = time_column()


class GateResultRow(SQLModel, table=True):
    """One pass of one gate."""

    __tablename__ = "gate_result"
    id: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    gate: str = Field(index=True)
    success: bool
    result: dict[str, Any] = json_column()
    outcomes: list[dict[str, Any]] | None = json_column(nullable=True)
    recorded_at: datetime = time_column()


class StageReportRow(SQLModel, table=True):
    """One pass of one stage."""

    __tablename__ = "stage_report"
    id: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    stage: str
    round: int
    report: dict[str, Any] = json_column()
    recorded_at: datetime = time_column()
