"""Notes of the releases of a bank, and how a release is found by its name."""

import re

from sqlmodel import col, desc, select

from taskdata.errors import Misuse, StageFailed
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.release import ReleaseName, ReleaseNotes
from taskdata.store.connection import StoreConnection
from taskdata.tables import ReleaseNotesRow

LATEST = "latest"
"""Stands for the newest version, as in `office@latest`."""

_VERSION = re.compile(r"[0-9]{1,9}")


class ReleaseStore(StoreConnection):
    """Stores and finds what is known of releases beside their tasks."""

    def add_release_notes(self, notes: ReleaseNotes) -> ReleaseNotes:
        """Store the notes of a release, unless it has some, and return its stored notes.

        The version is counted here; the version in `notes` is ignored.

        Raises:
            StageFailed: if the bank's newest release is not the one that the notes call previous.
        """
        with self._writing() as session:
            known = session.get(ReleaseNotesRow, (notes.bank, notes.release_hash))
            if known is not None:
                return ReleaseNotes.model_validate(known.notes)
            newest = session.exec(
                select(ReleaseNotesRow.version, ReleaseNotesRow.release_hash)
                .where(ReleaseNotesRow.bank == notes.bank)
                .order_by(desc(ReleaseNotesRow.version))
            ).first()
            version, previous_hash = newest or (0, None)
            if previous_hash != notes.previous_hash:
                raise StageFailed(
                    f"release: {notes.bank}@{version} came out meanwhile; release again"
                )
            notes = notes.model_copy(update={"version": version + 1})
            session.add(
                ReleaseNotesRow(
                    bank=notes.bank,
                    release_hash=notes.release_hash,
                    version=notes.version,
                    notes=notes.model_dump(mode="json"),
                    created_at=notes.created_at,
                )
            )
        return notes

    def release_notes(self, bank: str | None = None) -> list[ReleaseNotes]:
        """Return the notes of every release, of one bank or of all, newest first."""
        query = select(ReleaseNotesRow).order_by(
            desc(ReleaseNotesRow.created_at), desc(ReleaseNotesRow.version)
        )
        if bank is not None:
            query = query.where(ReleaseNotesRow.bank == bank)
        with self._reading() as session:
            return [ReleaseNotes.model_validate(row.notes) for row in session.exec(query)]

    def find_release(self, name: str) -> ReleaseNotes | None:
        """Return the notes of the release that `locate_release` finds; None if there is none.

        Raises:
            Misuse: if the version is no number, or the digits fit several releases.
        """
        found = self.locate_release(name)
        if found is None:
            return None
        with self._reading() as session:
            row = session.get_one(ReleaseNotesRow, (found.bank, found.hash))
        return ReleaseNotes.model_validate(row.notes)

    def decisions_in_release(self, name: str, task_id: str) -> tuple[QuarantineDecision, ...]:
        """Return what people decided about a task on its way into the release of that name.

        Nothing where there is no such release.

        Raises:
            Misuse: as `find_release`.
        """
        notes = self.find_release(name)
        entries = () if notes is None else notes.lineage
        return next((entry.decisions for entry in entries if entry.task_id == task_id), ())

    def locate_release(self, name: str) -> ReleaseName | None:
        """Return the release that `bank`, `bank@version` or a hash (12 digits or more) names.

        A bare bank name means its newest version, and so does `bank@latest`. None if there is none
        of that name. The notes, which grow with the bank, are not read.

        Raises:
            Misuse: if the version is no number, or the digits fit several releases.
        """
        bank, at, version = name.partition("@")
        columns = select(
            ReleaseNotesRow.bank, ReleaseNotesRow.version, ReleaseNotesRow.release_hash
        ).order_by(desc(ReleaseNotesRow.version))
        query = columns.where(ReleaseNotesRow.bank == bank)
        if at and version != LATEST:
            if not _VERSION.fullmatch(version):
                raise Misuse(
                    f"release {name!r}: expected bank@version, such as refreshed@2, or bank@latest"
                )
            query = query.where(ReleaseNotesRow.version == int(version))
        with self._reading() as session:
            row = session.exec(query).first()
            if row is None and not at and len(bank) >= 12:
                starts = col(ReleaseNotesRow.release_hash).startswith(bank, autoescape=True)
                rows = session.exec(columns.where(starts)).all()
                if len({r[2] for r in rows}) > 1:
                    raise Misuse(f"release {name!r} fits several; give more digits of the hash")
                row = rows[0] if rows else None
        return None if row is None else ReleaseName(bank=row[0], version=row[1], hash=row[2])
