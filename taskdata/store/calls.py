"""Model calls about trials in the store: kept when they are paid for, found again after a crash."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, select

from taskdata.schema.agent import ModelSpec
from taskdata.schema.model_call import NO_REPLY, SCORING, ModelCall
from taskdata.schema.run import JudgeEffort, OutcomeStatus
from taskdata.schema.transcript import Usage
from taskdata.store.connection import StoreConnection
from taskdata.tables import ModelCallRow, OutcomeRow, RunRow, TrialRow

_CALLS: sa.Table = ModelCallRow.__table__  # type: ignore[attr-defined]
# Every call and every trial asks these: put together once, and without the ORM.
_KEEP = sa.insert(_CALLS)
_KEPT = (
    sa.select(*(column for column in _CALLS.columns if column.name != "id"))
    .where(_CALLS.c.trial_id == sa.bindparam("trial"), _CALLS.c.reply.is_not(None))
    .order_by(_CALLS.c.id)
)
_PAID = _KEPT.where(_CALLS.c.attempt != SCORING)
_JUDGED = _KEPT.where(_CALLS.c.attempt == SCORING)


class CallStore(StoreConnection):
    """What the store knows of the model calls of trials and of their judge."""

    def keep_calls(self, calls: Sequence[ModelCall]) -> None:
        """Store calls that were just paid for, in one transaction."""
        rows = [
            call.model_dump(exclude={"usage"})
            | {name: getattr(call.usage, name) for name in Usage.model_fields}
            for call in calls
        ]
        with self._plainly_writing() as connection:
            connection.execute(_KEEP, rows)

    def paid_calls(self, trial_id: str) -> list[ModelCall]:
        """Return the trial's own whose replies are kept, in the order they were paid for."""
        return self._calls(_PAID, trial_id)

    def judge_calls(self, trial_id: str) -> list[ModelCall]:
        """Return those that its judge was paid for, in the same order."""
        return self._calls(_JUDGED, trial_id)

    def _calls(self, query: sa.Select[Any], trial_id: str) -> list[ModelCall]:
        with self._plainly_reading() as connection:
            rows = connection.execute(query, {"trial": trial_id}).mappings()
            return [_call(dict(row)) for row in rows]

    def forget_replies(self, run_id: str) -> None:
        """Drop the kept replies of finished trials; what the calls cost stays, and the judge's."""
        finished = (
            select(OutcomeRow.trial_id)
            .join(TrialRow, col(TrialRow.id) == col(OutcomeRow.trial_id))
            .where(TrialRow.run_id == run_id, OutcomeRow.status == OutcomeStatus.FINISHED.value)
        )
        kept = col(ModelCallRow.reply).is_not(None) & (col(ModelCallRow.attempt) != SCORING)
        drop = (
            sa.update(ModelCallRow)
            .where(col(ModelCallRow.trial_id).in_(finished), kept)
            .values(reply=None)
        )
        with self._writing() as session:
            session.connection().execute(drop)

    def paid(self, run_id: str) -> tuple[int, float | None]:
        """Return how many replies the run's agents paid for, and USD; None: a price is unknown.

        Those of a trial's attempts that came to nothing are among them.
        """
        query = (
            select(
                sa.func.count(),
                sa.func.count(col(ModelCallRow.cost_usd)),
                sa.func.sum(ModelCallRow.cost_usd),
            )
            .select_from(ModelCallRow)
            .join(TrialRow, col(TrialRow.id) == col(ModelCallRow.trial_id))
            .where(
                col(TrialRow.run_id) == run_id,
                col(ModelCallRow.attempt) != SCORING,
                col(ModelCallRow.model) != NO_REPLY,
            )
        )
        with self._reading() as session:
            calls, priced, usd = session.connection().execute(query).one()
        return calls, float(usd or 0.0) if priced == calls else None

    def judge_efforts(self, run_id: str) -> dict[str, JudgeEffort]:
        """Return what judging each trial of the run has taken; the others needed no paid call."""
        trial = _CALLS.c.trial_id
        query = _judging(trial).where(col(TrialRow.run_id) == run_id).group_by(trial)
        with self._reading() as session:
            rows = session.connection().execute(query).all()
        return {trial_id: _effort(*sums) for trial_id, *sums in rows}

    def past_judging(self, judge: ModelSpec) -> JudgeEffort:
        """Return what that judge's calls have taken together, in all runs."""
        named = [col(RunRow.config)[("judge", name)].as_string() for name in ("provider", "model")]
        query = (
            _judging()
            .join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
            .where(named[0] == judge.provider, named[1] == judge.model)
        )
        with self._reading() as session:
            return _effort(*session.connection().execute(query).one())

    def spent_usd(self, run_id: str) -> float | None:
        """Return what the run has paid models for in USD; None: unknown.

        Those behind tools and the judge are among them; pictures and clips, which a run with a
        cap on money is not allowed, are not.

        A cost that is unknown counts as the most that it can be, and so does what attempts at
        calls may be charged though they brought no reply. What was paid for elsewhere, as kept
        replies and imported results were, is no money of this run.
        """
        usd = sa.func.coalesce(_CALLS.c.cost_usd, _CALLS.c.cost_at_most_usd)
        query = (
            sa.select(sa.func.count(), sa.func.count(usd), sa.func.sum(usd))
            .select_from(_CALLS)
            .join(TrialRow, col(TrialRow.id) == _CALLS.c.trial_id)
            .where(col(TrialRow.run_id) == run_id)
        )
        with self._reading() as session:
            calls, bounded, spent = session.connection().execute(query).one()
        return float(spent or 0.0) if bounded == calls else None


def _judging(*by: sa.Column[Any]) -> sa.Select[Any]:
    """Return by those columns of judges' calls: how many, their tokens, how many priced, USD."""
    calls = _CALLS.c
    tokens = sa.func.sum(calls.input_tokens + calls.output_tokens)
    priced, usd = sa.func.count(calls.cost_usd), sa.func.sum(calls.cost_usd)
    return (
        sa.select(*by, sa.func.count(), tokens, priced, usd)
        .select_from(_CALLS)
        .join(TrialRow, col(TrialRow.id) == calls.trial_id)
        .where(calls.attempt == SCORING, calls.model != NO_REPLY)
    )


def _effort(calls: int, tokens: int | None, priced: int, usd: float | None) -> JudgeEffort:
    cost_usd = float(usd or 0.0) if priced == calls else None
    return JudgeEffort(calls=calls, tokens=int(tokens or 0), cost_usd=cost_usd)


def _call(row: dict[str, Any]) -> ModelCall:
    usage = Usage(**{name: row.pop(name) for name in Usage.model_fields})
    return ModelCall.model_validate(row | {"usage": usage})
