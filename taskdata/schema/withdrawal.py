"""Withdrawals: tasks on which no agent should be measured, and why."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from taskdata.schema.base import Sha256, Slug, Value

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Withdrawal(Value):
    """The tombstone of a task as it was.

    A task that was changed since is another one, which an import still refuses by id and query.
    """

    task_hash: Sha256
    task_id: Slug
    bank: str
    """The bank as it was named when the task was withdrawn."""
    reason: Reason
    withdrawn_at: datetime

    @property
    def told(self) -> str:
        """Date and reason, as in `2026-03-01: its answer is on the web`."""
        return f"{self.withdrawn_at:%Y-%m-%d}: {self.reason}"


class WithdrawnTask(Value):
    """A withdrawn task of a run's release."""

    withdrawal: Withdrawal
    trials: int = Field(ge=0)
    """Trials of the run on the task; 0: it was withdrawn before the run, which left it out."""
