"""Trials are found by the trial that they refine: removing one would look through all others."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the index."""
    op.create_index(op.f("ix_trial_parent_trial_id"), "trial", ["parent_trial_id"], unique=False)


def downgrade() -> None:
    """Take the index away."""
    op.drop_index(op.f("ix_trial_parent_trial_id"), table_name="trial")
