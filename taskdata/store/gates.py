"""The passes of a gate over runs, refreshes and releases."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, select

from taskdata.schema.gate import ExpectationOutcome, GatePass, GateResult
from taskdata.store.connection import StoreConnection
from taskdata.tables import BankGateRow, GateResultRow, ReleaseNotesRow


class GateHistoryStore(StoreConnection):
    """Finds what gates found before."""

    def gate_history(self, gate: str, most: int = 30) -> list[GatePass]:
        """Return the latest passes of a gate, newest first: every one, also of the same run."""
        of_runs, of_banks = col(GateResultRow.id), col(BankGateRow.id)
        with self._reading() as session:
            runs = session.exec(
                select(GateResultRow)
                .where(GateResultRow.gate == gate)
                .order_by(of_runs.desc())
                .limit(most)
            ).all()
            banks = session.exec(
                select(BankGateRow)
                .where(BankGateRow.gate == gate)
                .order_by(of_banks.desc())
                .limit(most)
            ).all()
        releases = self._releases_of(row.subject for row in banks)
        passes = [_pass(row, row.run_id, None) for row in runs]
        passes += [_pass(row, row.subject, releases.get(row.subject, "")) for row in banks]
        return sorted(passes, key=lambda done: done.at, reverse=True)[:most]

    def _releases_of(self, refresh_ids: Iterable[str]) -> dict[str, str]:
        """Return the releases that refreshes led to, as `bank@version`."""
        wanted = set(refresh_ids)
        if not wanted:
            return {}
        refresh_id = sa.type_coerce(ReleaseNotesRow.notes, sa.JSON)["refresh_id"].as_string()
        query: Any = sa.select(
            col(ReleaseNotesRow.bank), col(ReleaseNotesRow.version), refresh_id
        ).where(refresh_id.in_(wanted))
        with self._plainly_reading() as connection:
            return {of: f"{bank}@{version}" for bank, version, of in connection.execute(query)}


def _pass(row: GateResultRow | BankGateRow, subject: str, release: str | None) -> GatePass:
    result = GateResult.model_validate(row.result)
    return GatePass(
        gate=row.gate,
        subject=subject,
        release=release or None,
        is_run=release is None,
        success=row.success,
        rows=result.rows,
        quarantined=len(result.quarantined),
        outcomes=tuple(ExpectationOutcome.model_validate(o) for o in row.outcomes or ()),
        at=row.recorded_at,
    )
