"""Model calls of trials in the store: kept when they are paid for, found again after a crash."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlmodel import col, select

from taskdata.schema.model_call import ModelCall
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.transcript import Usage
from taskdata.store.connection import StoreConnection
from taskdata.tables import ModelCallRow, OutcomeRow, TrialRow


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
            session.connection().execute(sa.insert(ModelCallRow), rows)

    def paid_calls(self, trial_id: str) -> list[ModelCall]:
        """Return the calls whose replies are kept, in the order in which they were paid for."""
        query = (
            select(ModelCallRow)
            .where(ModelCallRow.trial_id == trial_id, col(ModelCallRow.reply).is_not(None))
            .order_by(col(ModelCallRow.id))
        )
        with self._reading() as session:
            return [_call(row) for row in session.exec(query)]

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

        A reply that an attempt left to the next one counts for both, so this is never too little.
        """
        recorded = (
            select(OutcomeRow.cost_usd)
            .join(TrialRow, col(TrialRow.id) == col(OutcomeRow.trial_id))
            .where(TrialRow.run_id == run_id)
        )
        booked = sa.exists().where(
            col(OutcomeRow.trial_id) == col(ModelCallRow.trial_id),
            col(OutcomeRow.attempt) == col(ModelCallRow.attempt),
        )
        cut_short = (
            select(ModelCallRow.cost_usd)
            .join(TrialRow, col(TrialRow.id) == col(ModelCallRow.trial_id))
            .where(TrialRow.run_id == run_id, ~booked)
        )
        with self._reading() as session:
            costs = [*session.exec(recorded), *session.exec(cut_short)]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None


def _call(row: ModelCallRow) -> ModelCall:
    fields = row.model_dump(exclude={"id", *Usage.model_fields})
    usage = Usage(**{name: getattr(row, name) for name in Usage.model_fields})
    return ModelCall.model_validate(fields | {"usage": usage})
