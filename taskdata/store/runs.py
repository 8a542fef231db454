"""Runs, their stage reports and their gate results in the store."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy import ColumnElement
from sqlmodel import col, desc, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.effort import PastEffort
from taskdata.schema.gate import TASKS, ExpectationOutcome, GateResult
from taskdata.schema.model_call import NO_REPLY
from taskdata.schema.run import (
    OutcomeStatus,
    Run,
    RunConfig,
    RunFigures,
    RunStatus,
    StageReport,
    Trial,
)
from taskdata.store.connection import StoreConnection, not_before
from taskdata.tables import (
    GateResultRow,
    ModelCallRow,
    OutcomeRow,
    RunRow,
    ScoreRow,
    ScoringErrorRow,
    StageReportRow,
    TrialRow,
)

_BEGINS_NOW = timedelta(minutes=1)


class RunStore(StoreConnection):
    """Stores and finds runs, their stage reports and their gate results."""

    def add_run(self, run: Run) -> None:
        """Store a new run; one that begins now is the newest, however the clock was set.

        Raises:
            Misuse: if one of that id is being removed.
        """
        with self._writing() as session:
            known = session.get(RunRow, run.id)
            if known is not None and known.status == RunStatus.REMOVING.value:
                raise _being_removed(run.id)
            row = RunRow(**run.model_dump(mode="python") | _jsonable(run.config))
            if abs(datetime.now(UTC) - run.created_at) < _BEGINS_NOW:
                newest = session.exec(select(sa.func.max(col(RunRow.created_at)))).one()
                row.created_at = not_before(run.created_at, newest)
            session.add(row)

    def run(self, run_id: str) -> Run:
        """Return the run of that id.

        Raises:
            Misuse: if there is none, or it is being removed.
        """
        with self._reading() as session:
            row = session.get(RunRow, run_id)
        if row is None:
            raise Misuse(f"run {run_id!r} is not in the store; `nightshift runs` lists them")
        if row.status == RunStatus.REMOVING.value:
            raise _being_removed(run_id)
        return _run(row)

    def find_run(self, run_id: str) -> Run | None:
        """Return the run of that id; None if there is none, or it is being removed."""
        with self._reading() as session:
            row = session.get(RunRow, run_id)
        if row is None or row.status == RunStatus.REMOVING.value:
            return None
        return _run(row)

    def runs(self) -> list[Run]:
        """Return all evaluations and rescorings, newest first."""
        with self._reading() as session:
            return [_run(row) for row in session.exec(_evaluations())]

    def figures(self, run_id: str | None = None) -> dict[str, RunFigures]:
        """Return the figures of all runs by id, or of one run; runs without any are left out."""
        queries = [_mean_scores(), _failed(), _unscored(), _paid()]
        if run_id is not None:
            queries = [query.where(col(TrialRow.run_id) == run_id) for query in queries]
        with self._reading() as session:
            scores, failed, unscored, paid = (
                session.connection().execute(query).all() for query in queries
            )
        by_agent: dict[str, dict[str, float]] = defaultdict(dict)
        for run_id, agent, mean in scores:
            by_agent[run_id][agent] = float(mean)
        errors = Counter({run_id: int(count) for run_id, count in failed})
        errors.update({run_id: int(count) for run_id, count in unscored})
        cost = {
            run_id: float(usd or 0.0) if priced == calls else None
            for run_id, calls, priced, usd in paid
        }
        return {
            run_id: RunFigures(
                scores=by_agent.get(run_id, {}),
                errors=errors[run_id],
                cost_usd=cost.get(run_id, 0.0),
            )
            for run_id in {*by_agent, *errors, *cost}
        }

    def latest_run(self) -> Run:
        """Return the newest evaluation or rescoring.

        Raises:
            Misuse: if there is none yet.
        """
        with self._reading() as session:
            row = session.exec(_evaluations().limit(1)).first()
        if row is None:
            raise Misuse("there is no run yet; `nightshift run` makes one")
        return _run(row)

    def proof_trials(self, task_hashes: Collection[str]) -> list[Trial]:
        """Return the trials of those tasks in proof runs, newest run first."""
        query = (
            select(TrialRow)
            .join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
            .where(_purpose() == "proof", col(TrialRow.task_hash).in_(task_hashes))
            .order_by(desc(RunRow.created_at), desc(RunRow.id), TrialRow.agent)
        )
        with self._reading() as session:
            return [Trial.model_validate(row.model_dump()) for row in session.exec(query)]

    def past_efforts(self, agent: str) -> list[PastEffort]:
        """Return what finished attempts of that agent used, where known, whatever its settings.

        Those of rescorings are attempts of their sources.
        """
        tokens = col(OutcomeRow.input_tokens) + col(OutcomeRow.output_tokens)
        query = (
            select(TrialRow.task_hash, OutcomeRow.turns, tokens, OutcomeRow.cost_usd)
            .join(OutcomeRow, col(OutcomeRow.trial_id) == col(TrialRow.id))
            .join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
            .where(TrialRow.agent == agent, col(RunRow.config)["rescores"].as_string().is_(None))
            .where(OutcomeRow.status == OutcomeStatus.FINISHED.value)
            .where(col(OutcomeRow.turns).is_not(None) & tokens.is_not(None))
        )
        with self._reading() as session:
            rows = session.exec(query).all()
        return [
            PastEffort(task_hash=task, turns=turns or 0, tokens=used, cost_usd=cost)
            for task, turns, used, cost in rows
        ]

    def set_run_status(self, run_id: str, status: RunStatus, error: str | None = None) -> None:
        """Record the status of a run; a final status also sets its end time."""
        with self._writing() as session:
            row = session.get_one(RunRow, run_id)
            row.status = status.value
            row.error = error
            ended = max(datetime.now(UTC), row.created_at)
            row.finished_at = None if status is RunStatus.RUNNING else ended
            session.add(row)

    def set_max_usd(self, run_id: str, max_usd: float) -> None:
        """Set what the run's models may cost; no measurement depends on it.

        Raises:
            Misuse: if there is no such run, or no run can have such a cap.
        """
        fields = self.run(run_id).config.model_dump() | {"max_usd": max_usd}
        try:
            config = RunConfig.model_validate(fields)
        except ValidationError:
            raise Misuse(
                f"max_usd = {max_usd:g}: a cap is a number of USD above 0; run {run_id} stays as "
                "it was"
            ) from None
        with self._writing() as session:
            row = session.get_one(RunRow, run_id)
            row.config = config.model_dump(mode="json")

    def set_labeller(self, run_id: str, labeller: ModelSpec, base_url: str | None) -> None:
        """Set the model that labels what rules leave open; no score depends on it.

        Raises:
            Misuse: if there is no such run.
        """
        changes = {"labeller": labeller, "labeller_base_url": base_url}
        config = self.run(run_id).config.model_copy(update=changes)
        with self._writing() as session:
            row = session.get_one(RunRow, run_id)
            row.config = config.model_dump(mode="json")

    def set_dashboard(self, run_id: str, path: str) -> None:
        """Record the path of the run's dashboard."""
        with self._writing() as session:
            row = session.get_one(RunRow, run_id)
            row.dashboard = path
            session.add(row)

    def record_gate(self, result: GateResult, outcomes: Sequence[ExpectationOutcome] = ()) -> None:
        """Store one pass of a gate, with what each of its expectations found."""
        with self._writing() as session:
            session.add(
                GateResultRow(
                    run_id=result.run_id,
                    gate=result.gate,
                    success=result.success,
                    result=result.model_dump(mode="json"),
                    outcomes=[outcome.model_dump(mode="json") for outcome in outcomes] or None,
                    recorded_at=datetime.now(UTC),
                )
            )

    def gates(self, run_id: str) -> list[GateResult]:
        """Return the latest result of each gate of the run, in order of recording."""
        query = (
            select(GateResultRow)
            .where(GateResultRow.run_id == run_id)
            .order_by(col(GateResultRow.id))
        )
        with self._reading() as session:
            rows = list(session.exec(query))
        latest = {row.gate: GateResult.model_validate(row.result) for row in rows}
        return list(latest.values())

    def quarantined_tasks(self, run_id: str) -> frozenset[str]:
        """Return the ids of the tasks that the gate before the run has left out of it."""
        held = (result for result in self.gates(run_id) if result.gate == TASKS)
        return frozenset(task_id for result in held for task_id in result.quarantined)

    def record_stage(self, report: StageReport) -> None:
        """Store one pass of a stage."""
        with self._writing() as session:
            session.add(
                StageReportRow(
                    run_id=report.run_id,
                    stage=report.stage,
                    round=report.round,
                    report=report.model_dump(mode="json"),
                    recorded_at=datetime.now(UTC),
                )
            )

    def stages(self, run_id: str) -> list[StageReport]:
        """Return every pass of every stage of the run, oldest first."""
        query = (
            select(StageReportRow)
            .where(StageReportRow.run_id == run_id)
            .order_by(col(StageReportRow.id))
        )
        with self._reading() as session:
            return [StageReport.model_validate(row.report) for row in session.exec(query)]


def _being_removed(run_id: str) -> Misuse:
    return Misuse(f"run {run_id} is being removed; `nightshift prune --yes` finishes that")


def _evaluations() -> SelectOfScalar[RunRow]:
    # Runs of earlier revisions have no purpose; all of them are evaluations.
    is_listed = or_(_purpose().is_(None), _purpose().in_(("evaluation", "rescoring")))
    query = select(RunRow).where(is_listed, RunRow.status != RunStatus.REMOVING.value)
    return query.order_by(desc(RunRow.created_at), desc(RunRow.id))


def _mean_scores() -> sa.Select[Any]:
    return (
        sa.select(col(TrialRow.run_id), col(TrialRow.agent), sa.func.avg(col(ScoreRow.root_score)))
        .join(ScoreRow, col(ScoreRow.trial_id) == col(TrialRow.id))
        .where(col(TrialRow.round) == 0, col(ScoreRow.root_score).is_not(None))
        .group_by(col(TrialRow.run_id), col(TrialRow.agent))
    )


def _failed() -> sa.Select[Any]:
    """Return by run how many trials have failed attempts only."""
    finished = sa.select(col(OutcomeRow.trial_id)).where(
        col(OutcomeRow.status) == OutcomeStatus.FINISHED.value
    )
    return (
        sa.select(col(TrialRow.run_id), sa.func.count(sa.distinct(col(TrialRow.id))))
        .join(OutcomeRow, col(OutcomeRow.trial_id) == col(TrialRow.id))
        .where(col(TrialRow.id).not_in(finished))
        .group_by(col(TrialRow.run_id))
    )


def _unscored() -> sa.Select[Any]:
    return (
        sa.select(col(TrialRow.run_id), sa.func.count())
        .join(ScoringErrorRow, col(ScoringErrorRow.trial_id) == col(TrialRow.id))
        .group_by(col(TrialRow.run_id))
    )


def _paid() -> sa.Select[Any]:
    """Return by run how many replies were paid for, how many of them have a price, and USD."""
    usd = col(ModelCallRow.cost_usd)
    return (
        sa.select(col(TrialRow.run_id), sa.func.count(), sa.func.count(usd), sa.func.sum(usd))
        .join(ModelCallRow, col(ModelCallRow.trial_id) == col(TrialRow.id))
        .where(col(ModelCallRow.model) != NO_REPLY)
        .group_by(col(TrialRow.run_id))
    )


def _purpose() -> ColumnElement[str]:
    purpose: ColumnElement[str] = col(RunRow.config)["purpose"].as_string()
    return purpose


def _jsonable(config: RunConfig) -> dict[str, object]:
    return {"config": config.model_dump(mode="json")}


def _run(row: RunRow) -> Run:
    return Run.model_validate(row.model_dump())
