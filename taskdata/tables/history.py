"""The table of nights: what stays of a run for the pages that look over many of them."""

from datetime import datetime

from sqlalchemy import Column, Text
from sqlmodel import Field, SQLModel

from taskdata.tables.columns import UtcDateTime


class NightRow(SQLModel, table=True):
    """One published run; it stays where the run itself is removed, so no key refers to the run."""

    __tablename__ = "night"
    run_id: str = Field(primary_key=True)
    created_at: datetime = Field(sa_column=Column(UtcDateTime(), nullable=False, index=True))
    release_hash: str
    confirms: str | None = Field(default=None, index=True)
    night: str = Field(sa_column=Column(Text(), nullable=False))
    """The night as JSON; as text, for it is parsed and checked in one go."""
    morning: str | None = Field(default=None, sa_column=Column(Text(), nullable=True))
    """The morning as JSON; NULL of a confirming re-run."""
