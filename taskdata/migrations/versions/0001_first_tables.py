"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "bank_release",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_index(op.f("ix_bank_release_name"), "bank_release", ["name"], unique=False)
    op.create_table(
        "task",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_index(op.f("ix_task_category"), "task", ["category"], unique=False)
    op.create_index(op.f("ix_task_task_id"), "task", ["task_id"], unique=False)
    op.create_index(op.f("ix_task_tier"), "task", ["tier"], unique=False)
    op.create_table(
        "bank_release_task",
        sa.Column("release_hash", sa.String(), nullable=False),
        sa.Column("task_hash", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["release_hash"],
            ["bank_release.hash"],
        ),
        sa.ForeignKeyConstraint(
            ["task_hash"],
            ["task.hash"],
        ),
        sa.PrimaryKeyConstraint("release_hash", "task_hash"),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("release_hash", sa.String(), nullable=False),
        sa.Column("code_version", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("dashboard", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["release_hash"],
            ["bank_release.hash"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "gate_result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("gate", sa.String(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["run.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_gate_result_run_id"), "gate_result", ["run_id"], unique=False)
    op.create_table(
        "stage_report",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["run.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_stage_report_run_id"), "stage_report", ["run_id"], unique=False)
    op.create_table(
        "trial",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("task_hash", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("parent_trial_id", sa.String(), nullable=True),
        sa.Column("feedback", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["parent_trial_id"],
            ["trial.id"],
        ),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["run.id"],
        ),
        sa.ForeignKeyConstraint(
            ["task_hash"],
            ["task.hash"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "agent", "task_id", "repetition", "round"),
    )
    op.create_index(op.f("ix_trial_run_id"), "trial", ["run_id"], unique=False)
    op.create_table(
        "diagnosis",
        sa.Column("trial_id", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=True),
        sa.Column("type", sa.String(), nullable=True),
        sa.Column("leaf_level", sa.Boolean(), nullable=False),
        sa.Column("composition_level", sa.Boolean(), nullable=False),
        sa.Column("deliverable_level", sa.Boolean(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("labeller", sa.String(), nullable=False),
        sa.Column("diagnosed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["trial.id"],
        ),
        sa.PrimaryKeyConstraint("trial_id"),
    )
    op.create_table(
        "leaf_score",
        sa.Column("trial_id", sa.String(), nullable=False),
        sa.Column("leaf_id", sa.String(), nullable=False),
        sa.Column("verifier", sa.String(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.CheckConstraint("score BETWEEN 0 AND 10", name="score_in_range"),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["trial.id"],
        ),
        sa.PrimaryKeyConstraint("trial_id", "leaf_id"),
    )
    op.create_table(
        "outcome",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("trial_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("ending", sa.String(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("error_detail", sa.String(), nullable=True),
        sa.Column("final_answer", sa.String(), nullable=False),
        sa.Column("transcript_sha256", sa.String(), nullable=True),
        sa.Column("rejected_files", sa.JSON(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_input_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("wall_seconds", sa.Float(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("tool_calls", sa.Integer(), nullable=False),
        sa.Column("tool_errors", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=True),
        sa.Column("sandbox", sa.String(), nullable=False),
        sa.Column("prompt_version", sa.String(), nullable=True),
        sa.Column("code_version", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("status IN ('finished', 'infrastructure')", name="status_known"),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["trial.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("trial_id", "attempt"),
    )
    op.create_index(op.f("ix_outcome_trial_id"), "outcome", ["trial_id"], unique=False)
    op.create_index(
        "one_finished_outcome",
        "outcome",
        ["trial_id"],
        unique=True,
        sqlite_where=sa.text("status = 'finished'"),
        postgresql_where=sa.text("status = 'finished'"),
    )
    op.create_table(
        "rendered_deliverable",
        sa.Column("trial_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("view_sha256", sa.String(), nullable=False),
        sa.Column("preview_png_sha256", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["trial.id"],
        ),
        sa.PrimaryKeyConstraint("trial_id", "name"),
    )
    op.create_table(
        "scoring_error",
        sa.Column("trial_id", sa.String(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["trial.id"],
        ),
        sa.PrimaryKeyConstraint("trial_id"),
    )
    op.create_table(
        "trial_score",
        sa.Column("trial_id", sa.String(), nullable=False),
        sa.Column("root_score", sa.Float(), nullable=True),
        sa.Column("coverage", sa.Float(), nullable=False),
        sa.Column("tree", sa.JSON(), nullable=False),
        sa.Column("scorer_version", sa.String(), nullable=False),
        sa.Column("scored_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("coverage BETWEEN 0 AND 1", name="coverage_in_range"),
        sa.CheckConstraint("root_score BETWEEN 0 AND 10", name="root_score_in_range"),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["trial.id"],
        ),
        sa.PrimaryKeyConstraint("trial_id"),
    )
    op.create_table(
        "deliverable",
        sa.Column("outcome_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["outcome_id"],
            ["outcome.id"],
        ),
        sa.PrimaryKeyConstraint("outcome_id", "name"),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("deliverable")
    op.drop_table("trial_score")
    op.drop_table("scoring_error")
    op.drop_table("rendered_deliverable")
    op.drop_index(
        "one_finished_outcome",
        table_name="outcome",
        sqlite_where=sa.text("status = 'finished'"),
        postgresql_where=sa.text("status = 'finished'"),
    )
    op.drop_index(op.f("ix_outcome_trial_id"), table_name="outcome")
    op.drop_table("outcome")
    op.drop_table("leaf_score")
    op.drop_table("diagnosis")
    op.drop_index(op.f("ix_trial_run_id"), table_name="trial")
    op.drop_table("trial")
    op.drop_index(op.f("ix_stage_report_run_id"), table_name="stage_report")
    op.drop_table("stage_report")
    op.drop_index(op.f("ix_gate_result_run_id"), table_name="gate_result")
    op.drop_table("gate_result")
    op.drop_table("run")
    op.drop_table("bank_release_task")
    op.drop_index(op.f("ix_task_tier"), table_name="task")
    op.drop_index(op.f("ix_task_task_id"), table_name="task")
    op.drop_index(op.f("ix_task_category"), table_name="task")
    op.drop_table("task")
    op.drop_index(op.f("ix_bank_release_name"), table_name="bank_release")
    op.drop_table("bank_release")
