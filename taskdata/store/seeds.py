"""Seed queries, their duplicates, and rejected rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice, repeat
from typing import TypeVar

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from taskdata.errors import Misuse
from taskdata.schema.seed import QuarantinedRow, SeedLink, SeedQuery, StoredSeed
from taskdata.store.connection import StoreConnection
from taskdata.tables import CandidateRow, QuarantineRow, RefreshRow, SeedLinkRow, SeedRow, TaskRow

_PAGE = 1_000

_T = TypeVar("_T")


class SeedStore(StoreConnection):
    """Stores and finds seeds."""

    def add_seeds(
        self,
        seeds: Iterable[SeedQuery],
        links: Iterable[SeedLink],
        rejected: Iterable[QuarantinedRow],
        origin: str,
        rows: Iterable[int] | None = None,
        language: Callable[[str], str] | None = None,
    ) -> list[str]:
        """Store seeds, links and quarantined rows in one transaction; return the new seeds' ids.

        A seed that exists is left as it is, with its links; a quarantined row that exists is not
        stored again.

        Args:
            seeds: The seeds, of which one page at a time is held in memory.
            links: What the new seeds repeat; each pair at most once.
            rejected: Rows for the quarantine.
            origin: File that the seeds come from.
            rows: Row of each seed in that file, counted from 1.
            language: Says the language of a text; None: that of the seeds stays unknown.
        """
        new: dict[str, None] = {}
        placed = zip(seeds, repeat(None) if rows is None else rows, strict=False)
        with self._writing() as session:
            for page in _pages(placed):
                ids = [seed.seed_id for seed, _row in page]
                known = set(session.exec(_known(ids)))
                for seed_id, (seed, row) in zip(ids, page, strict=True):
                    if seed_id not in known and seed_id not in new:
                        new[seed_id] = None
                        found = language(seed.text) if language else None
                        session.add(_seed_row(seed, seed_id, origin, row, found))
                _write_out(session)
            for some in _pages(link for link in links if link.seed_id in new):
                session.add_all(SeedLinkRow(**link.model_dump()) for link in some)
                _write_out(session)
            _quarantine(session, rejected)
        return list(new)

    def known_seeds(self, seed_ids: Sequence[str]) -> set[str]:
        """Return those of the ids that the store has."""
        with self._reading() as session:
            return {i for page in _pages(seed_ids) for i in session.exec(_known(page))}

    def quarantine(self, rows: Sequence[QuarantinedRow]) -> None:
        """Store rejected rows, except those that are stored already."""
        with self._writing() as session:
            _quarantine(session, rows)

    def set_languages(self, languages: Mapping[str, str]) -> None:
        """Store the languages of seeds, by id."""
        with self._writing() as session:
            for page in _pages(languages):
                for row in session.exec(select(SeedRow).where(col(SeedRow.id).in_(page))):
                    row.language = languages[row.id]
                    session.add(row)
                _write_out(session)

    def seeds(self, source: str | None = None, language: str | None = None) -> list[StoredSeed]:
        """Return the seeds, of one source and language or of all, in order of arrival."""
        query = select(SeedRow).order_by(col(SeedRow.added_at), SeedRow.id)
        if source is not None:
            query = query.where(SeedRow.source == source)
        if language is not None:
            query = query.where(SeedRow.language == language)
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

    def task_queries(self) -> Iterator[tuple[str, str]]:
        """Yield id and query of every task of every release, a page at a time."""
        last = ""
        while True:
            query = select(TaskRow).where(TaskRow.hash > last).order_by(TaskRow.hash).limit(_PAGE)
            with self._reading() as session:
                page = [
                    (row.hash, row.task_id, str(row.spec["query"])) for row in session.exec(query)
                ]
            if not page:
                return
            yield from ((task_id, text) for _hash, task_id, text in page)
            last = page[-1][0]

    def used_seeds(self, bank: str) -> set[str]:
        """Return the ids of seeds that some refresh of this bank has made a candidate from."""
        query = select(CandidateRow.seed_id, RefreshRow.config).join(
            RefreshRow, col(RefreshRow.id) == col(CandidateRow.refresh_id)
        )
        with self._reading() as session:
            return {s for s, config in session.exec(query) if s and config["bank"] == bank}


def _pages(items: Iterable[_T]) -> Iterator[list[_T]]:
    remaining = iter(items)
    while page := list(islice(remaining, _PAGE)):
        yield page


def _write_out(session: Session) -> None:
    """Write the added rows and drop their objects; the transaction goes on."""
    session.flush()
    session.expunge_all()


def _known(seed_ids: Sequence[str]) -> SelectOfScalar[str]:
    return select(SeedRow.id).where(col(SeedRow.id).in_(seed_ids))


def _seed_row(
    seed: SeedQuery, seed_id: str, origin: str, row: int | None, language: str | None
) -> SeedRow:
    return SeedRow(
        id=seed_id,
        source=seed.source,
        origin=origin,
        row=row,
        query=seed.model_dump(mode="json"),
        added_at=datetime.now(UTC),
        language=language,
    )


def _quarantine(session: Session, rows: Iterable[QuarantinedRow]) -> None:
    stored: dict[str, set[tuple[str | int | None, ...]]] = {}
    for page in _pages(rows):
        for row in page:
            if row.origin not in stored:
                # What was mended and breaks a rule again is in quarantine again.
                found = session.exec(
                    select(QuarantineRow)
                    .where(QuarantineRow.origin == row.origin)
                    .where(col(QuarantineRow.ended).is_(None) | (QuarantineRow.ended == "dropped"))
                )
                stored[row.origin] = {_complaint(earlier) for earlier in found}
            if _complaint(row) not in stored[row.origin]:
                stored[row.origin].add(_complaint(row))
                session.add(QuarantineRow(**row.model_dump()))
        _write_out(session)


def _complaint(row: QuarantinedRow | QuarantineRow) -> tuple[str | int | None, ...]:
    return row.stage, row.row, row.item, row.field, row.rule, row.value, row.reason, row.excerpt


def _all_links() -> SelectOfScalar[SeedLinkRow]:
    return select(SeedLinkRow).order_by(SeedLinkRow.seed_id, SeedLinkRow.other_id)


def _stored(row: SeedRow, links: Sequence[SeedLink]) -> StoredSeed:
    return StoredSeed(
        id=row.id,
        query=SeedQuery.model_validate(row.query),
        origin=row.origin,
        row=row.row,
        added_at=row.added_at,
        language=row.language,
        duplicate_of=tuple(links),
    )
