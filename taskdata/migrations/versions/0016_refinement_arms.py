"""Several arms of refinement may start from one first attempt: the arm identifies a trial, too."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_NARROW = ("run_id", "agent", "task_id", "repetition", "round")
_WIDE = (*_NARROW, "arm")
_COLUMNS = (
    "id, run_id, agent, task_id, task_hash, tier, category, repetition, round, parent_trial_id, "
    "feedback"
)
_BEFORE_ARMS = "checkpoint"
"""The feedback of a run whose configuration names none."""
_TRIALS = sa.table("trial", *(sa.column(n) for n in ("run_id", "round", "arm")))
_RUNS = sa.table("run", sa.column("id", sa.String()), sa.column("config", sa.JSON()))


def upgrade() -> None:
    """Add the arm: that of its run's configuration for a refined trial, and none in round 0."""
    op.add_column("trial", sa.Column("arm", sa.String(), nullable=False, server_default=""))
    bind = op.get_bind()
    for run_id, config in bind.execute(sa.select(_RUNS.c.id, _RUNS.c.config)).all():
        arm = config.get("feedback", _BEFORE_ARMS)
        refined = sa.and_(_TRIALS.c.run_id == run_id, _TRIALS.c.round > 0)
        bind.execute(sa.update(_TRIALS).where(refined).values(arm=arm))
    _make_unique(_NARROW, _WIDE, f"{_COLUMNS}, arm")


def downgrade() -> None:
    """Drop the arm; of several arms' trials in a round the earlier schema can hold one."""
    several = sa.text(
        "SELECT run_id FROM trial GROUP BY run_id, agent, task_id, repetition, round "
        "HAVING count(*) > 1"
    )
    if (run_id := op.get_bind().execute(several).scalar()) is not None:
        raise RuntimeError(f"run {run_id} has several arms, which revision 0015 cannot hold")
    _make_unique(_WIDE, _NARROW, _COLUMNS)
    if op.get_bind().dialect.name != "sqlite":
        op.drop_column("trial", "arm")


def _make_unique(before: tuple[str, ...], after: tuple[str, ...], columns: str) -> None:
    """Replace the unique constraint over `before` by one over `after`."""
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        _make_anew(after, columns)
        return
    constraints = sa.inspect(bind).get_unique_constraints("trial")
    (name,) = (c["name"] for c in constraints if set(c["column_names"]) == set(before))
    op.drop_constraint(str(name), "trial", type_="unique")
    op.create_unique_constraint(None, "trial", list(after))


def _make_anew(unique: tuple[str, ...], columns: str) -> None:
    """Make the table again with its rows, for SQLite cannot drop a constraint.

    Rows of other tables refer to trials, so references are checked at the end of the transaction.
    """
    bind = op.get_bind()
    driver = bind.connection.driver_connection
    if driver is not None and not driver.in_transaction:  # the driver begins none before DDL
        bind.exec_driver_sql("BEGIN")
    op.execute("PRAGMA defer_foreign_keys = ON")
    # The names are those above.
    op.execute(f"CREATE TEMPORARY TABLE kept_trial AS SELECT {columns} FROM trial")  # noqa: S608
    op.drop_table("trial")
    with_arm = [sa.Column("arm", sa.String(), nullable=False, server_default="")]
    op.create_table(
        "trial",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in ("agent", "task_id", "task_hash", "tier", "category")
        ),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        *(with_arm if "arm" in unique else []),
        sa.Column("parent_trial_id", sa.String(), nullable=True),
        sa.Column("feedback", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["parent_trial_id"], ["trial.id"]),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"]),
        sa.ForeignKeyConstraint(["task_hash"], ["task.hash"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint(*unique),
    )
    op.execute(f"INSERT INTO trial ({columns}) SELECT {columns} FROM kept_trial")  # noqa: S608
    op.execute("DROP TABLE kept_trial")
    op.create_index(op.f("ix_trial_run_id"), "trial", ["run_id"], unique=False)
    op.create_index(op.f("ix_trial_parent_trial_id"), "trial", ["parent_trial_id"], unique=False)
