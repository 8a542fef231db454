"""Model calls of trials in the store: kept when they are paid for, found again after a crash."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, select

from taskdata.schema.model_call import ModelCall
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.transcript import Usage
from taskdata.store.connection import StoreConnection
from taskdata.tables import ModelCallRow, OutcomeRow, TrialRow

_CALLS: sa.Table = ModelCallRow.__table__  # type: ignore[attr-defined]
# Every call and every trial asks these: put together once, and without the ORM.
_KEEP = sa.insert(_CALLS)
_PAID = (
    sa.select(*(column for column in _CALLS.columns if column.name != "id"))
    .where(_CALLS.c.trial_id == sa.bindparam("trial"), _CALLS.c.reply.is_not(None))
    .order_by(_CALLS.c.id)
)


class CallStore(StoreConnection):
    """What the store knows of the model calls of trials."""

    def keep_calls(self, calls: Sequence[ModelCall]) -> None:
        """Store calls that were just paid for, in one transaction."""
        rows = [
            call.model_dump(exclude={"usage"})
            | {name: getattr(call.usage, name) for name in Usage.model_fields}
            for call in calls
        ]
        with self._writing() as session:
            session.connection().execute(_KEEP, rows)

    def paid_calls(self, trial_id: str) -> list[ModelCall]:
        """Return the calls whose replies are kept, in the order in which they were paid for."""
        with self._reading() as session:
            rows = session.connection().execute(_PAID, {"trial": trial_id}).mappings()
            return [_call(dict(row)) for row in rows]

    def forget_replies(self, run_id: str) -> None:
        """Drop the kept replies of finished trials; what the calls cost stays."""
        finished = (
            select(OutcomeRow.trial_id)
            .join(TrialRow, col(TrialRow.id) == col(OutcomeRow.trial_id))
            .where(TrialRow.run_id == run_id, OutcomeRow.status == OutcomeStatus.FINISHED.value)
        )
        drop = (
            sa.update(ModelCallRow)
            .where(col(ModelCallRow.trial_id).in_(finished), col(ModelCallRow.reply).is_not(None))
            .values(reply=None)
        )
        with self._writing() as session:
            session.connection().execute(drop)

    def paid(self, run_id: str) -> tuple[int, float | None]:
        """Return how many calls the run's agents have paid for, and USD; None: a price is unknown.

        Calls of attempts that came to nothing are among them.
        """
        query = (
            select(
                sa.func.count(),
                sa.func.count(col(ModelCallRow.cost_usd)),
                sa.func.sum(ModelCallRow.cost_usd),
            )
            .select_from(ModelCallRow)
            .join(TrialRow, col(TrialRow.id) == col(ModelCallRow.trial_id))
            .where(TrialRow.run_id == run_id)
        )
        with self._reading() as session:
            calls, priced, usd = session.connection().execute(query).one()
        return calls, float(usd or 0.0) if priced == calls else None

    def spent_usd(self, run_id: str) -> float | None:
        """Return what the run's attempts have cost in USD, tools included; None: unknown.

        A reply that an attempt left to the next one counts for both. An attempt that was begun
        again under its number, because its worker died, costs what was recorded of it or what its
        calls come to, whichever is more: neither need hold all of the other.
        """
        spent: dict[tuple[str, int], float] = {}
        with self._reading() as session:
            for query in (_cost_of(OutcomeRow, run_id), _cost_of(ModelCallRow, run_id)):
                for trial, attempt, rows, priced, usd in session.connection().execute(query):
                    if priced < rows:
                        return None
                    spent[trial, attempt] = max(spent.get((trial, attempt), 0.0), float(usd))
        return sum(spent.values())


def _cost_of(table: type[OutcomeRow] | type[ModelCallRow], run_id: str) -> sa.Select[Any]:
    """Return by trial and attempt how many rows there are, how many are priced, and USD."""
    attempt = (col(table.trial_id), col(table.attempt))
    counts = (sa.func.count(), sa.func.count(col(table.cost_usd)), sa.func.sum(table.cost_usd))
    return (
        sa.select(*attempt, *counts)
        .join(TrialRow, col(TrialRow.id) == col(table.trial_id))
        .where(col(TrialRow.run_id) == run_id)
        .group_by(*attempt)
    )


def _call(row: dict[str, Any]) -> ModelCall:
    usage = Usage(**{name: row.pop(name) for name in Usage.model_fields})
    return ModelCall.model_validate(row | {"usage": usage})
