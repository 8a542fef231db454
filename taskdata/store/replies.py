"""Model replies by the hash of the question: what was paid for is not asked again."""

from datetime import UTC, datetime
from typing import Any

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
