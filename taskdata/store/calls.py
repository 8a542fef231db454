"""The record of model calls: stored when they are paid for, found again after a crash."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, select

from taskdata.schema.agent import ModelSpec
from taskdata.schema.effort import CallEffort
from taskdata.schema.model_call import NO_REPLY, CallPurpose, ModelCall
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.transcript import Usage
from taskdata.store.connection import StoreConnection
from taskdata.tables import ModelCallRow, OutcomeRow, RunRow, TrialRow

_CALLS: sa.Table = ModelCallRow.__table__  # type: ignore[attr-defined]
# Every call and every trial runs these, so they are built once and without the ORM.
_RECORD = sa.insert(_CALLS)
_RECORDED = sa.select(*(column for column in _CALLS.columns if column.name != "id")).order_by(
    _CALLS.c.id
)
_SHARED = _RECORDED.where(_CALLS.c.shared_key == sa.bindparam("key")).limit(1)
_OF_TRIAL = _RECORDED.where(_CALLS.c.trial_id == sa.bindparam("trial"), _CALLS.c.reply.is_not(None))
_IS_JUDGES = _CALLS.c.purpose == CallPurpose.JUDGE.value
_IS_CRITICS = _CALLS.c.purpose == CallPurpose.CRITIC.value
_IS_USERS = _CALLS.c.purpose == CallPurpose.SIMULATED_USER.value
_IS_LABELLERS = _CALLS.c.purpose == CallPurpose.LABELLER.value
_IS_AFTER_TRIAL = _IS_JUDGES | _IS_LABELLERS
_OF_AGENT, _OF_JUDGE = _OF_TRIAL.where(~_IS_AFTER_TRIAL), _OF_TRIAL.where(_IS_JUDGES)
_OF_LABELLER = _OF_TRIAL.where(_IS_LABELLERS)
_BESIDE = (
    CallPurpose.JUDGE,
    CallPurpose.SIMULATED_USER,
    CallPurpose.CRITIC,
    CallPurpose.LABELLER,
)
"""What is paid for a trial beside its agent and the agent's tools."""
_IS_ANSWERED = _CALLS.c.model != NO_REPLY
_OF_ITS_TRIAL = col(TrialRow.id) == _CALLS.c.trial_id
_RUN_OF_TRIAL: sa.Column[str] = TrialRow.__table__.c.run_id  # type: ignore[attr-defined]
_TOKENS = _CALLS.c.input_tokens + _CALLS.c.output_tokens
_TOKENS_AT_MOST = sa.func.coalesce(_CALLS.c.tokens_at_most, _TOKENS)
_USD_AT_MOST = sa.func.coalesce(_CALLS.c.cost_usd, _CALLS.c.cost_at_most_usd)


class CallStore(StoreConnection):
    """Stores and finds model calls: those of trials, of their judges, and of refreshes."""

    def record_calls(self, calls: Sequence[ModelCall]) -> None:
        """Store calls that were just paid for, in one transaction."""
        rows = [
            call.model_dump(exclude={"usage"})
            | {name: getattr(call.usage, name) for name in Usage.model_fields}
            | {"purpose": call.purpose.value}
            for call in calls
        ]
        with self._plainly_writing() as connection:
            connection.execute(_RECORD, rows)

    def shared_call(self, shared_key: str) -> ModelCall | None:
        """Return the call whose reply all work gets that asks for `shared_key`: the first one."""
        found = self._calls(_SHARED, {"key": shared_key})
        return found[0] if found else None

    def paid_calls(self, trial_id: str) -> list[ModelCall]:
        """Return the trial's calls with a stored reply, in order.

        These are the calls of the agent, of its tools, of the simulated user and of the critic.
        """
        return self._calls(_OF_AGENT, {"trial": trial_id})

    def judge_calls(self, trial_id: str) -> list[ModelCall]:
        """Return the calls of the trial's judge whose replies are stored, in order."""
        return self._calls(_OF_JUDGE, {"trial": trial_id})

    def labeller_calls(self, trial_id: str) -> list[ModelCall]:
        """Return the calls of the trial's labeller whose replies are stored, in order."""
        return self._calls(_OF_LABELLER, {"trial": trial_id})

    def _calls(self, query: sa.Select[Any], values: dict[str, str]) -> list[ModelCall]:
        with self._plainly_reading() as connection:
            rows = connection.execute(query, values).mappings()
            return [_call(dict(row)) for row in rows]

    def forget_replies(self, run_id: str) -> None:
        """Drop the replies to agents of finished trials, except shared ones; costs stay."""
        finished = (
            select(OutcomeRow.trial_id)
            .join(TrialRow, col(TrialRow.id) == col(OutcomeRow.trial_id))
            .where(TrialRow.run_id == run_id, OutcomeRow.status == OutcomeStatus.FINISHED.value)
        )
        drop = (
            sa.update(_CALLS)
            .where(_CALLS.c.trial_id.in_(finished), ~_IS_AFTER_TRIAL)
            .where(_CALLS.c.reply.is_not(None), _CALLS.c.shared_key.is_(None))
            .values(reply=None)
        )
        with self._plainly_writing() as connection:
            connection.execute(drop)

    def efforts_beside(self, run_id: str) -> dict[CallPurpose, dict[str, CallEffort]]:
        """Return what judges, users, critics and labellers took, by trial of the run.

        Trials without paid calls are left out.
        """
        by = (_CALLS.c.purpose, _CALLS.c.trial_id)
        query = _answered(_CALLS.c.purpose.in_([one.value for one in _BESIDE]), *by)
        query = query.where(col(TrialRow.run_id) == run_id).group_by(*by)
        with self._plainly_reading() as connection:
            rows = connection.execute(query).all()
        found: dict[CallPurpose, dict[str, CallEffort]] = {one: {} for one in _BESIDE}
        for purpose, trial_id, *sums in rows:
            found[CallPurpose(purpose)][trial_id] = _effort(*_known(*sums))
        return found

    def past_judging(self, judge: ModelSpec) -> CallEffort:
        """Return what that judge's calls took together, in all runs, panels included."""
        named = [col(RunRow.config)[("judge", name)].as_string() for name in ("provider", "model")]
        query = (
            _judging()
            .join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
            .where(named[0] == judge.provider, named[1] == judge.model)
        )
        return _effort(*self._sum(query)) + self._past_on_panels(judge)

    def past_talking(self, user: ModelSpec) -> CallEffort:
        """Return what that model's calls took together where it played a user, in all runs."""
        return self._past(_IS_USERS, "user", user)

    def past_labelling(self, labeller: ModelSpec) -> CallEffort:
        """Return what that model's calls took together where it was the labeller, in all runs."""
        return self._past(_IS_LABELLERS, "labeller", labeller)

    def _past(self, whose: sa.ColumnElement[bool], role: str, model: ModelSpec) -> CallEffort:
        named = [col(RunRow.config)[(role, name)].as_string() for name in ("provider", "model")]
        query = (
            _answered(whose)
            .join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
            .where(named[0] == model.provider, named[1] == model.model)
        )
        return _effort(*self._sum(query))

    def past_critique(self, critic: ModelSpec) -> CallEffort:
        """Return what that model's calls took together where it wrote feedback, in all runs."""
        by = _CALLS.c.model
        with self._plainly_reading() as connection:
            rows = connection.execute(_answered(_IS_CRITICS, by).group_by(by)).all()
        own = [
            _effort(*_known(*sums))
            for answered_by, *sums in rows
            if _who_answered([critic], answered_by) == critic
        ]
        return sum(own, CallEffort())

    def _past_on_panels(self, judge: ModelSpec) -> CallEffort:
        """Return what that judge's calls took in the runs that had it on a panel.

        A call says which model answered, and the run which judges it may have been.
        """
        has_panel = col(RunRow.config)[("judges", 0, "model", "model")].as_string().is_not(None)
        by = (_RUN_OF_TRIAL, _CALLS.c.model)
        with self._plainly_reading() as connection:
            rows = connection.execute(
                _judging(*by)
                .join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
                .where(has_panel)
                .group_by(*by)
            ).all()
            of_runs = sa.select(col(RunRow.id), col(RunRow.config)).where(
                col(RunRow.id).in_({row[0] for row in rows})
            )
            panels = {
                run_id: [ModelSpec.model_validate(one["model"]) for one in config["judges"]]
                for run_id, config in connection.execute(of_runs)
            }
        own = [
            _effort(*_known(*sums))
            for run_id, answered_by, *sums in rows
            if _who_answered(panels[run_id], answered_by) == judge
        ]
        return sum(own, CallEffort())

    def spent_usd(self, run_id: str) -> float | None:
        """Return what the run has paid models for in USD; None: unknown.

        The models behind tools, the judge, the critic and the labeller are counted; pictures and
        clips, which a run with a cap on money is not allowed, are not. An unknown cost counts as
        the most that it can be, and so does what failed attempts may be charged. Shared replies
        that other runs have paid for, and imported results, cost this run nothing.
        """
        query = _sums(_TOKENS, _USD_AT_MOST).join(TrialRow, _OF_ITS_TRIAL)
        return self._sum(query.where(col(TrialRow.run_id) == run_id))[2]

    def spent_on_refresh(self, refresh_id: str) -> tuple[int, int, float | None]:
        """Return how many calls a refresh made, with how many tokens and for how many USD.

        Unknown tokens and costs count as the most that they can be; the USD are None where that is
        unknown, too. Failed attempts that may be charged count as a call.
        """
        query = _sums(_TOKENS_AT_MOST, _USD_AT_MOST).where(_CALLS.c.refresh_id == refresh_id)
        return self._sum(query)

    def _sum(self, query: sa.Select[Any]) -> tuple[int, int, float | None]:
        with self._plainly_reading() as connection:
            return _known(*connection.execute(query).one())


def _who_answered(panel: Sequence[ModelSpec], model: str) -> ModelSpec | None:
    """Return the judge that a provider's model id stands for, such as a dated snapshot of it."""
    fitting = [
        judge for judge in panel if model == judge.model or model.startswith(f"{judge.model}-")
    ]
    return max(fitting, key=lambda judge: len(judge.model), default=None)


def _sums(
    tokens: sa.ColumnElement[int], usd: sa.ColumnElement[float], *by: sa.Column[Any]
) -> sa.Select[Any]:
    """Return by those columns of calls: how many, their tokens, how many are priced, USD."""
    sums = (sa.func.count(), sa.func.sum(tokens), sa.func.count(usd), sa.func.sum(usd))
    return sa.select(*by, *sums).select_from(_CALLS)


def _answered(whose: sa.ColumnElement[bool], *by: sa.Column[Any]) -> sa.Select[Any]:
    sums = _sums(_TOKENS, _CALLS.c.cost_usd, *by).join(TrialRow, _OF_ITS_TRIAL)
    return sums.where(whose, _IS_ANSWERED)


def _judging(*by: sa.Column[Any]) -> sa.Select[Any]:
    return _answered(_IS_JUDGES, *by)


def _known(
    calls: int, tokens: int | None, priced: int, usd: float | None
) -> tuple[int, int, float | None]:
    """Return calls, tokens and USD of a row of `_sums`; the USD are None where one is unknown."""
    return calls, int(tokens or 0), float(usd or 0.0) if priced == calls else None


def _effort(calls: int, tokens: int, cost_usd: float | None) -> CallEffort:
    return CallEffort(calls=calls, tokens=tokens, cost_usd=cost_usd)


def _call(row: dict[str, Any]) -> ModelCall:
    usage = Usage(**{name: row.pop(name) for name in Usage.model_fields})
    return ModelCall.model_validate(row | {"usage": usage})
