"""Failure labels that people gave to trials, and the cards of labellers."""

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add both tables."""
    time = taskdata.tables.UtcDateTime(timezone=True)
    op.create_table(
        "label_annotation",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("trial_id", sa.String(), sa.ForeignKey("trial.id"), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("at", time, nullable=False),
        sa.UniqueConstraint("trial_id", "annotator"),
    )
    op.create_index("ix_label_annotation_trial_id", "label_annotation", ["trial_id"])
    op.create_table(
        "label_card",
        sa.Column("labeller", sa.String(), primary_key=True),
        sa.Column("made_at", time, nullable=False),
        sa.Column("card", sa.String(), nullable=False),
    )


def downgrade() -> None:
    """Drop them; what people labelled is lost."""
    op.drop_table("label_card")
    op.drop_table("label_annotation")
