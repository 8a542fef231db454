"""Runs, their stage reports and their gate results in the store."""

from datetime import UTC, datetime

from sqlmodel import col, desc, select

from taskdata.errors import Misuse
from taskdata.schema.run import GateResult, Run, RunConfig, RunStatus, StageReport
from taskdata.store.connection import StoreConnection
from taskdata.tables import GateResultRow, RunRow, StageReportRow


class RunStore(StoreConnection):
    """What the store knows of runs."""

    def add_run(self, run: Run) -> None:
        """Store a new run."""
        with self._writing() as session:
            session.add(RunRow(**run.model_dump(mode="python") | _jsonable(run.config)))

    def run(self, run_id: str) -> Run:
        """Return the run of that id.

        Raises:
            Misuse: if there is none.
        """
        run = self.find_run(run_id)
        if run is None:
            raise Misuse(f"run {run_id!r} is not in the store; `nightshift runs` lists them")
        return run

    def find_run(self, run_id: str) -> Run | None:
        """Return the run of that id, or None."""
        with self._reading() as session:
            row = session.get(RunRow, run_id)
        return None if row is None else _run(row)

    def runs(self) -> list[Run]:
        """Return all runs, newest first."""
        query = select(RunRow).order_by(desc(RunRow.created_at), desc(RunRow.id))
        with self._reading() as session:
            return [_run(row) for row in session.exec(query)]

    def latest_run(self) -> Run:
        """Return the newest run.

        Raises:
            Misuse: if there is none yet.
        """
        with self._reading() as session:
            row = session.exec(
                select(RunRow).order_by(desc(RunRow.created_at), desc(RunRow.id)).limit(1)
            ).first()
        if row is None:
            raise Misuse("there is no run yet; `nightshift run` makes one")
        return _run(row)

    def set_run_status(self, run_id: str, status: RunStatus, error: str | None = None) -> None:
        """Record where the run is; a final status also sets its time."""
        with self._writing() as session:
            row = session.get_one(RunRow, run_id)
            row.status = status.value
            row.error = error
            row.finished_at = None if status is RunStatus.RUNNING else datetime.now(UTC)
            session.add(row)

    def set_dashboard(self, run_id: str, path: str) -> None:
        """Record where the run's dashboard is."""
        with self._writing() as session:
            row = session.get_one(RunRow, run_id)
            row.dashboard = path
            session.add(row)

    def record_gate(self, result: GateResult) -> None:
        """Store one pass of a gate."""
        with self._writing() as session:
            session.add(
                GateResultRow(
                    run_id=result.run_id,
                    gate=result.gate,
                    success=result.success,
                    result=result.model_dump(mode="json"),
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


def _jsonable(config: RunConfig) -> dict[str, object]:
    return {"config": config.model_dump(mode="json")}


def _run(row: RunRow) -> Run:
    return Run.model_validate(row.model_dump())
