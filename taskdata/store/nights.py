"""Nights and mornings in the store: one row for each published run."""

from collections.abc import Iterator

import sqlalchemy as sa
from sqlmodel import col, desc, select

from taskdata.errors import Misuse
from taskdata.schema.night import Morning, Night
from taskdata.schema.run import RunStatus
from taskdata.store.connection import StoreConnection
from taskdata.tables import NightRow, RunRow

_AT_ONCE = 10


class NightStore(StoreConnection):
    """Stores and finds nights."""

    def save_night(self, night: Night, morning: Morning | None = None) -> None:
        """Store a night and what it means, in place of what was stored for the run before."""
        row = NightRow(
            run_id=night.run_id,
            created_at=night.created_at,
            release_hash=night.settings.release_hash,
            confirms=night.confirms,
            night=night.model_dump_json(),
            morning=None if morning is None else morning.model_dump_json(),
        )
        with self._writing() as session:
            session.merge(row)

    def night(self, run_id: str) -> Night | None:
        """Return the night of that run; None if it was not published."""
        with self._reading() as session:
            row = session.get(NightRow, run_id)
        return None if row is None else Night.model_validate_json(row.night)

    def nights(
        self, last: int | None = None, before: Night | None = None, *, oldest_first: bool = False
    ) -> Iterator[Night]:
        """Yield nights, the newest first, a few at a time; confirming re-runs are among them.

        Args:
            last: So many at most, of which re-runs count as well; None: all.
            before: Only nights that began before this one.
            oldest_first: Yield the same nights the other way round.
        """
        query = select(NightRow.run_id).order_by(desc(NightRow.created_at), desc(NightRow.run_id))
        if before is not None:
            query = query.where(col(NightRow.created_at) < before.created_at)
        with self._reading() as session:
            ids = list(session.exec(query.limit(last)))
        if oldest_first:
            ids.reverse()
        for start in range(0, len(ids), _AT_ONCE):
            chosen = ids[start : start + _AT_ONCE]
            with self._reading() as session:
                rows = session.exec(
                    select(NightRow.run_id, NightRow.night).where(col(NightRow.run_id).in_(chosen))
                )
                texts = dict(rows.all())
            yield from (Night.model_validate_json(texts[one]) for one in chosen if one in texts)

    def confirmations(self, run_id: str) -> list[Night]:
        """Return the confirming re-runs of that run's night."""
        query = select(NightRow.night).where(NightRow.confirms == run_id)
        with self._reading() as session:
            texts = list(session.exec(query.order_by(NightRow.run_id)))
        return [Night.model_validate_json(text) for text in texts]

    def find_morning(self, run_id: str) -> Morning | None:
        """Return what the night of that run means; None if the run was not published."""
        query = select(NightRow.morning).where(NightRow.run_id == run_id)
        with self._reading() as session:
            text = session.exec(query).first()
        return None if text is None else Morning.model_validate_json(text)

    def morning(self, run_id: str) -> Morning:
        """Return what the night of that run means.

        Raises:
            Misuse: if the run was not published.
        """
        found = self.find_morning(run_id)
        if found is None:
            raise Misuse(
                f"run {run_id!r} has no morning, for it was not published; "
                "`nightshift morning --rebuild` makes those of all runs that have ended"
            )
        return found

    def runs_with_a_morning(self) -> list[str]:
        """Return the ids of published runs, the newest first; confirming re-runs are not."""
        query = select(NightRow.run_id).where(col(NightRow.morning).is_not(None))
        with self._reading() as session:
            return list(
                session.exec(query.order_by(desc(NightRow.created_at), desc(NightRow.run_id)))
            )

    def runs_without_a_night(self) -> list[str]:
        """Return the ids of evaluations and confirming re-runs without one, oldest first.

        These have ended. Runs that failed before anything was published are none of them.
        """
        purpose = col(RunRow.config)["purpose"].as_string()
        ended = sa.or_(
            col(RunRow.status) == RunStatus.COMPLETED.value,
            (col(RunRow.status) == RunStatus.FAILED.value) & col(RunRow.dashboard).is_not(None),
        )
        known = sa.exists().where(col(NightRow.run_id) == col(RunRow.id))
        query = (
            select(RunRow.id)
            .where(ended, ~known)
            .where(sa.or_(purpose.is_(None), purpose.in_(("evaluation", "confirmation"))))
            .order_by(col(RunRow.created_at), col(RunRow.id))
        )
        with self._reading() as session:
            return list(session.exec(query))
