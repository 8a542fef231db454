"""Which artifacts the rows of the database refer to.

References are in columns of their own, inside JSON, and in sentences ("the events up to here:
artifact ..."), and tables grow. So every text of every row is read for what looks like the name of
an artifact: a column that somebody adds tomorrow is read, too, and what is taken for a reference by
mistake only keeps a file that could go.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import JSON, Connection, String

_NAME = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_CERTAIN = re.compile(r'"(?:[a-z_]*_)?sha256": ?"([0-9a-f]{64})"')
_PAGE = 1_000


def text_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """Return the columns that may hold text."""
    return [c for c in table.columns if isinstance(_plain(c.type), String | JSON)]


def names_in(
    connection: Connection, table: sa.Table, condition: sa.ColumnElement[bool] | None = None
) -> Iterator[bytes]:
    """Yield, in no order and as bytes, all that may be the name of an artifact in those rows."""
    for row in _texts(connection, table, text_columns(table), condition):
        for text in row:
            if text is not None and len(text) >= 64:
                yield from map(bytes.fromhex, _NAME.findall(text))


def certain_names_in(connection: Connection, table: sa.Table) -> Iterator[bytes]:
    """Yield what is the name of an artifact without doubt: the fields that are called so."""
    columns = text_columns(table)
    named = [column.name.endswith("sha256") for column in columns]
    for row in _texts(connection, table, columns, None):
        for text, is_name in zip(row, named, strict=True):
            if text is not None and len(text) >= 64:
                found = [text] if is_name else _CERTAIN.findall(text)
                yield from map(bytes.fromhex, found)


def _texts(
    connection: Connection,
    table: sa.Table,
    columns: Sequence[sa.Column[Any]],
    condition: sa.ColumnElement[bool] | None,
) -> Iterator[Sequence[str | None]]:
    if not columns:
        return
    query = sa.select(*(sa.cast(column, sa.Text) for column in columns)).select_from(table)
    if condition is not None:
        query = query.where(condition)
    for row in connection.execute(query, execution_options={"yield_per": _PAGE}):
        yield tuple(row)


def _plain(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    return kind.impl_instance if isinstance(kind, sa.TypeDecorator) else kind
