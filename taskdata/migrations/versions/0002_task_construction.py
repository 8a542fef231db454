"""Seeds, refreshes, releases with notes, model replies."""

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the tables of task construction."""
    op.create_table(
        "model_reply",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("reply", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=True),
        sa.Column("item", sa.String(), nullable=True),
        sa.Column("field", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("excerpt", sa.String(), nullable=False),
        sa.Column("at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_quarantine_origin"), "quarantine", ["origin"], unique=False)

    op.create_table(
        "seed",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=True),
        sa.Column("query", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("added_at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_seed_source"), "seed", ["source"], unique=False)

    op.create_table(
        "refresh",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("config", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("code_version", sa.String(), nullable=False),
        sa.Column("created_at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("finished_at", taskdata.tables.UtcDateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("release_hash", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["release_hash"],
            ["bank_release.hash"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "release_notes",
        sa.Column("bank", sa.String(), nullable=False),
        sa.Column("release_hash", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("notes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["release_hash"],
            ["bank_release.hash"],
        ),
        sa.PrimaryKeyConstraint("bank", "release_hash"),
        sa.UniqueConstraint("bank", "version"),
    )
    op.create_table(
        "seed_link",
        sa.Column("seed_id", sa.String(), nullable=False),
        sa.Column("other_kind", sa.String(), nullable=False),
        sa.Column("other_id", sa.String(), nullable=False),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("similarity", sa.Float(), nullable=False),
        sa.CheckConstraint("similarity BETWEEN 0 AND 1", name="similarity_in_range"),
        sa.ForeignKeyConstraint(
            ["seed_id"],
            ["seed.id"],
        ),
        sa.PrimaryKeyConstraint("seed_id", "other_kind", "other_id"),
    )
    op.create_table(
        "candidate",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("refresh_id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("seed_id", sa.String(), nullable=True),
        sa.Column("exemplar", sa.String(), nullable=True),
        sa.Column("aim", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["refresh_id"],
            ["refresh.id"],
        ),
        sa.ForeignKeyConstraint(
            ["seed_id"],
            ["seed.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("refresh_id", "task_id"),
    )
    op.create_index(op.f("ix_candidate_refresh_id"), "candidate", ["refresh_id"], unique=False)

    op.create_table(
        "bank_gate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("gate", sa.String(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("recorded_at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_bank_gate_subject"), "bank_gate", ["subject"], unique=False)

    op.create_table(
        "refresh_stage",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("refresh_id", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("report", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("recorded_at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["refresh_id"],
            ["refresh.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        op.f("ix_refresh_stage_refresh_id"), "refresh_stage", ["refresh_id"], unique=False
    )

    op.create_table(
        "construction_step",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("step", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_id"],
            ["candidate.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("candidate_id", "stage", "attempt"),
    )
    op.create_index(
        op.f("ix_construction_step_candidate_id"),
        "construction_step",
        ["candidate_id"],
        unique=False,
    )

    op.create_table(
        "review",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=False),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
        sa.Column("draft", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_id"],
            ["candidate.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_review_candidate_id"), "review", ["candidate_id"], unique=False)

    op.add_column("task", sa.Column("outline", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("outcome", sa.Column("sandbox_image", sa.String(), nullable=True))
    op.add_column("outcome", sa.Column("limits", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    """Drop them."""
    op.drop_column("outcome", "limits")
    op.drop_column("outcome", "sandbox_image")
    op.drop_column("task", "outline")

    op.drop_index(op.f("ix_review_candidate_id"), table_name="review")
    op.drop_table("review")
    op.drop_index(op.f("ix_construction_step_candidate_id"), table_name="construction_step")
    op.drop_table("construction_step")
    op.drop_index(op.f("ix_refresh_stage_refresh_id"), table_name="refresh_stage")
    op.drop_table("refresh_stage")
    op.drop_index(op.f("ix_bank_gate_subject"), table_name="bank_gate")
    op.drop_table("bank_gate")
    op.drop_index(op.f("ix_candidate_refresh_id"), table_name="candidate")
    op.drop_table("candidate")
    op.drop_table("seed_link")
    op.drop_table("release_notes")
    op.drop_table("refresh")
    op.drop_index(op.f("ix_seed_source"), table_name="seed")
    op.drop_table("seed")
    op.drop_index(op.f("ix_quarantine_origin"), table_name="quarantine")
    op.drop_table("quarantine")
    op.drop_table("model_reply")
