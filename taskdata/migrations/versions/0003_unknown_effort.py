"""What an attempt took may be unknown; tokens of caches and of reasoning are told apart."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_EFFORT: dict[str, sa.types.TypeEngine[Any]] = {
    "wall_seconds": sa.Float(),
    "turns": sa.Integer(),
    "tool_calls": sa.Integer(),
    "tool_errors": sa.Integer(),
    "input_tokens": sa.Integer(),
    "output_tokens": sa.Integer(),
    "cached_input_tokens": sa.Integer(),
}
_TOLD_APART = ("cache_write_tokens", "reasoning_tokens")


def upgrade() -> None:
    """Let NULL stand for unknown, and add the new counts: 0 in what was recorded before."""
    for name, kind in _EFFORT.items():
        _rewrite(name, kind, nullable=True)
    for name in _TOLD_APART:
        op.add_column("outcome", sa.Column(name, sa.Integer(), nullable=True))
        op.execute(f"UPDATE outcome SET {name} = 0")  # noqa: S608 - names of our own


def downgrade() -> None:
    """Go back to columns that cannot say unknown: it becomes 0."""
    for name in _TOLD_APART:
        op.drop_column("outcome", name)
    for name, kind in _EFFORT.items():
        op.execute(f"UPDATE outcome SET {name} = 0 WHERE {name} IS NULL")  # noqa: S608
        _rewrite(name, kind, nullable=False)


def _rewrite(name: str, kind: sa.types.TypeEngine[Any], *, nullable: bool) -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.alter_column("outcome", name, existing_type=kind, nullable=nullable)
        return
    # SQLite changes a column only by copying the table, which the rows that refer to it forbid.
    default = None if nullable else sa.text("0")
    op.add_column(
        "outcome", sa.Column(f"{name}_new", kind, nullable=nullable, server_default=default)
    )
    op.execute(f"UPDATE outcome SET {name}_new = {name}")  # noqa: S608 - names of our own
    op.drop_column("outcome", name)
    op.execute(f"ALTER TABLE outcome RENAME COLUMN {name}_new TO {name}")
