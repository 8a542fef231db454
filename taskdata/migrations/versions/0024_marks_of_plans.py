"""Marks that people gave to plans, and the cards of judges of plans."""

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add both tables."""
    time = taskdata.tables.UtcDateTime(timezone=True)
    op.create_table(
        "plan_annotation",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("trial_id", sa.String(), sa.ForeignKey("trial.id"), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("marks", sa.JSON(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("at", time, nullable=False),
        sa.UniqueConstraint("trial_id", "annotator"),
    )
    op.create_index("ix_plan_annotation_trial_id", "plan_annotation", ["trial_id"])
    op.create_table(
        "plan_card",
        sa.Column("judge", sa.String(), primary_key=True),
        sa.Column("made_at", time, nullable=False),
        sa.Column("card", sa.String(), nullable=False),
    )


def downgrade() -> None:
    """Drop them; what people marked is lost."""
    op.drop_table("plan_card")
    op.drop_table("plan_annotation")
