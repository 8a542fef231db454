"""Seed queries, what they repeat, and what was not let through."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from taskdata.errors import Misuse
from taskdata.schema.seed import QuarantinedRow, SeedLink, SeedQuery, StoredSeed
from taskdata.store.connection import StoreConnection
from taskdata.tables import CandidateRow, QuarantineRow, RefreshRow, SeedLinkRow, SeedRow

_PAGE = 1_000


class SeedStore(StoreConnection):
    """What the store knows of seeds."""

    def add_seeds(
        self,
        seeds: Sequence[SeedQuery],
        links: Sequence[SeedLink],
        rejected: Sequence[QuarantinedRow],
        origin: str,
    ) -> list[str]:
        """Store seeds, links and quarantined rows in one transaction; return the new seeds' ids.

        A seed that is there already is left as it is.
        """
        with self._writing() as session:
            new = []
            for seed in {s.seed_id: s for s in seeds}.values():
                if session.get(SeedRow, seed.seed_id) is not None:
                    continue
                new.append(seed.seed_id)
                session.add(
                    SeedRow(
                        id=seed.seed_id,
                        source=seed.source,
                        origin=origin,
                        query=seed.model_dump(mode="json"),
                        added_at=datetime.now(UTC),
                    )
                )
            session.flush()
            for link in links:
                session.merge(SeedLinkRow(**link.model_dump()))
            session.add_all(QuarantineRow(**row.model_dump()) for row in rejected)
        return new

    def quarantine(self, rows: Sequence[QuarantinedRow]) -> None:
        """Store what was not let through."""
        with self._writing() as session:
            session.add_all(QuarantineRow(**row.model_dump()) for row in rows)

    def quarantined(self, origin: str | None = None) -> list[QuarantinedRow]:
        """Return what was not let through, of one file or refresh or of all, oldest first."""
        query = select(QuarantineRow).order_by(col(QuarantineRow.id))
        if origin is not None:
            query = query.where(QuarantineRow.origin == origin)
        with self._reading() as session:
            rows = [row.model_dump(exclude={"id"}) for row in session.exec(query)]
        return [QuarantinedRow.model_validate(row) for row in rows]

    def seeds(self, source: str | None = None) -> list[StoredSeed]:
        """Return the seeds, of one source or of all, in order of arrival."""
        query = select(SeedRow).order_by(col(SeedRow.added_at), SeedRow.id)
        if source is not None:
            query = query.where(SeedRow.source == source)
        with self._reading() as session:
            links = [SeedLink.model_validate(r.model_dump()) for r in session.exec(_all_links())]
            rows = list(session.exec(query))
        by_seed: dict[str, list[SeedLink]] = {}
        for link in links:
            by_seed.setdefault(link.seed_id, []).append(link)
        return [_stored(row, by_seed.get(row.id, ())) for row in rows]

    def seed(self, seed_id: str) -> StoredSeed:
        """Return the seed of that id.

        Raises:
            Misuse: if there is none.
        """
        with self._reading() as session:
            row = session.get(SeedRow, seed_id)
            if row is None:
                raise Misuse(f"seed {seed_id!r} is not in the store; `nightshift seeds list`")
            found = session.exec(_all_links().where(SeedLinkRow.seed_id == seed_id))
            links = [SeedLink.model_validate(r.model_dump()) for r in found]
        return _stored(row, links)

    def seed_texts(self) -> Iterator[tuple[str, str]]:
        """Yield id and text of every seed, a page at a time."""
        last = ""
        while True:
            query = select(SeedRow).where(SeedRow.id > last).order_by(SeedRow.id).limit(_PAGE)
            with self._reading() as session:
                page = [(row.id, str(row.query["text"])) for row in session.exec(query)]
            if not page:
                return
            yield from page
            last = page[-1][0]

    def used_seeds(self, bank: str) -> set[str]:
        """Return the ids of seeds that some refresh of this bank has made a candidate from."""
        query = select(CandidateRow.seed_id, RefreshRow.config).join(
            RefreshRow, col(RefreshRow.id) == col(CandidateRow.refresh_id)
        )
        with self._reading() as session:
            return {s for s, config in session.exec(query) if s and config["bank"] == bank}


def _all_links() -> SelectOfScalar[SeedLinkRow]:
    return select(SeedLinkRow).order_by(SeedLinkRow.seed_id, SeedLinkRow.other_id)


def _stored(row: SeedRow, links: Sequence[SeedLink]) -> StoredSeed:
    return StoredSeed(
        id=row.id,
        query=SeedQuery.model_validate(row.query),
        origin=row.origin,
        added_at=row.added_at,
        duplicate_of=tuple(links),
    )
