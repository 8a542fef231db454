"""Model replies by the hash of the question, and what they cost: nothing is paid for twice."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sqlmodel import col, select

from taskdata.store.connection import StoreConnection
from taskdata.tables import ModelReplyRow


class ReplyStore(StoreConnection):
    """What the store knows of model replies."""

    def find_reply(self, key: str) -> dict[str, Any] | None:
        """Return the reply kept under `key` as JSON, or None."""
        with self._reading() as session:
            row = session.get(ModelReplyRow, key)
        return None if row is None else row.reply

    def keep_reply(self, key: str, model: str, reply: dict[str, Any]) -> dict[str, Any]:
        """Keep a reply unless one is kept under its key; return the one that is kept then."""
        with self._writing() as session:
            row = session.get(ModelReplyRow, key)
            if row is None:
                row = ModelReplyRow(key=key, model=model, reply=reply, at=datetime.now(UTC))
                session.add(row)
        return row.reply

    def keep_bill(self, payer: str, model: str, bill: dict[str, Any]) -> None:
        """Keep what one call may have cost, answered or not, for `bills` of its payer."""
        # No question's hash has a slash.
        row = ModelReplyRow(
            key=f"{_bills_of(payer)}{uuid4().hex}", model=model, reply=bill, at=datetime.now(UTC)
        )
        with self._writing() as session:
            session.add(row)

    def bills(self, payer: str) -> list[dict[str, Any]]:
        """Return what was kept of the payer's calls, in no order."""
        query = select(ModelReplyRow.reply).where(
            col(ModelReplyRow.key).startswith(_bills_of(payer), autoescape=True)
        )
        with self._reading() as session:
            return [dict(bill) for bill in session.exec(query)]


def _bills_of(payer: str) -> str:
    return f"bill/{payer}/"
