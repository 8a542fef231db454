"""Scores that people gave to leaves, and the cards of judges."""

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add both tables."""
    time = taskdata.tables.UtcDateTime(timezone=True)
    op.create_table(
        "annotation",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("trial_id", sa.String(), sa.ForeignKey("trial.id"), nullable=False),
        sa.Column("leaf_id", sa.String(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("at", time, nullable=False),
        sa.UniqueConstraint("trial_id", "leaf_id", "annotator"),
        sa.CheckConstraint("score BETWEEN 0 AND 10", name="annotation_in_range"),
    )
    op.create_index("ix_annotation_trial_id", "annotation", ["trial_id"])
    op.create_table(
        "judge_card",
        sa.Column("judge", sa.String(), primary_key=True),
        sa.Column("made_at", time, nullable=False),
        sa.Column("card", sa.String(), nullable=False),
    )


def downgrade() -> None:
    """Drop them; what people scored is lost."""
    op.drop_table("judge_card")
    op.drop_table("annotation")
