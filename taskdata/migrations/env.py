"""Alembic environment: migrates the connection that the store hands in."""

from alembic import context
from sqlmodel import SQLModel

from taskdata import tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    user_module_prefix=f"{tables.__name__}.",
)
with context.begin_transaction():
    context.run_migrations()
