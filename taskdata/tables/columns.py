"""Column types that all tables share."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Column, DateTime, TypeDecorator
from sqlmodel import Field


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time; SQLite stores no time zone, so UTC is added on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Any) -> datetime | None:
        """Store UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, _dialect: Any) -> datetime | None:
        """Return an aware datetime in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def json_column(*, nullable: bool = False) -> Any:
    """Return a column that holds JSON."""
    return Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=nullable))


def time_column(*, nullable: bool = False) -> Any:
    """Return a column that holds a point in time."""
    return Field(default=None, sa_column=Column(UtcDateTime(), nullable=nullable))
