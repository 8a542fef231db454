"""The entry point of intake: adds a file of seeds to the store, all of its good rows or none.

A file is read to its end before anything of it is stored, so a file that breaks off leaves no
trace. Its rows are kept on disk meanwhile, and the store is written in one short transaction.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, partial
from io import BytesIO
from itertools import chain, islice, tee
from pathlib import Path
from typing import BinaryIO

from pydantic import Field

from quality.encoders.encoder import SentenceEncoder
from quality.language import language_of
from quality.safety.files import FileFinding
from quality.safety.personal import masked
from stages.intake.attachments import AttachmentFolder
from stages.intake.duplicates import DuplicateIndex
from stages.intake.file_findings import entries_of
from stages.intake.protection import protected
from stages.intake.readers.delimited import read_csv
from stages.intake.readers.jsonl import read_jsonl
from stages.intake.readers.raw import Fault, RawRow
from stages.intake.readers.yaml_list import read_yaml
from stages.intake.rows import Defaults, UnknownFields, read_row
from stages.intake.spool import Spool
from taskdata.banks.loader import bundled_banks, load_bank
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.base import Value
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.seed import EXCERPT_CHARACTERS, QuarantinedRow, SeedLink, SeedQuery
from taskdata.schema.task import Tier
from taskdata.store import Store

_logger = logging.getLogger(__name__)

ROWS_TOLD = 50
"""Quarantined rows that a report contains; the store has all of them."""

_TOGETHER = 256
"""Rows looked up together in the store and in the index of duplicates."""


class SeedFormat(StrEnum):
    """Formats of a seed file."""

    JSONL = "jsonl"
    CSV = "csv"
    YAML = "yaml"


FORMATS = {
    ".jsonl": SeedFormat.JSONL,
    ".ndjson": SeedFormat.JSONL,
    ".csv": SeedFormat.CSV,
    ".yaml": SeedFormat.YAML,
    ".yml": SeedFormat.YAML,
}
"""Format by the ending of a file's name."""

_READERS = {
    SeedFormat.JSONL: read_jsonl,
    SeedFormat.CSV: read_csv,
    SeedFormat.YAML: read_yaml,
}


@dataclass(frozen=True)
class SeedFile:
    """A file or stream of seeds."""

    origin: str
    """Its name in the store and in messages."""
    format: SeedFormat
    folder: Path
    """Where its attachments are."""
    content: Path | BinaryIO

    @classmethod
    def at(cls, path: Path, format_: SeedFormat | None = None) -> "SeedFile":
        """Return the file at `path`; its ending determines the format if none is given.

        Raises:
            Misuse: if the ending belongs to no known format.
        """
        found = format_ or FORMATS.get(path.suffix.lower())
        if found is None:
            known = ", ".join(FORMATS)
            raise Misuse(f"{path}: the ending says no format; expected {known}, or give --format")
        return cls(os.fsencode(path).decode(errors="replace"), found, path.parent, path)


class FileReport(Value):
    """What happened to the rows of one file."""

    rows: int = Field(ge=0)
    added: tuple[str, ...]
    """Ids of the seeds that are new."""
    known: int = Field(ge=0)
    """Rows whose seed was in the store already, or in an earlier row of the file."""
    duplicates: int = Field(ge=0)
    """New seeds that repeat another seed or a task."""
    quarantined: int = Field(ge=0)
    rejected: tuple[QuarantinedRow, ...] = ()
    """The first refused rows."""
    notes: tuple[str, ...] = ()


class IntakeReport(Value):
    """What happened to several files, each by its origin."""

    files: dict[str, FileReport]
    errors: dict[str, str]
    """Why nothing of a file was stored."""


class _Arrival(Value):
    """A good row that is not stored yet."""

    row: int
    seed: SeedQuery
    findings: tuple[FileFinding, ...] = ()
    """Orders to the model and requests for harm in its attachments."""


def known_texts(store: Store, encoder: SentenceEncoder | None = None) -> DuplicateIndex:
    """Return an index of bundled banks, releases and seeds, for finding duplicates.

    It is built once and used for several files; `add_file` adds what it stores.
    """
    index = DuplicateIndex(encoder)
    for bank in bundled_banks():
        # A planning case asks what the task asks that it was made of.
        asked = (task for task in load_bank(bank).tasks if task.tier is not Tier.PLANNING)
        index.learn("task", ((task.id, task.query) for task in asked))
    index.learn("task", store.task_queries())
    index.learn("seed", store.seed_texts())
    return index


def add_files(
    store: Store,
    files: Iterable[SeedFile],
    defaults: Defaults,
    encoder: SentenceEncoder | None = None,
    safety: SafetyRules = NOTHING_ALLOWED,
) -> IntakeReport:
    """Add files one after the other; one that cannot be read does not stop the others."""
    # Only a new seed makes it worth reading everything that is stored.
    index = cache(partial(known_texts, store, encoder))
    reports, errors = {}, {}
    for file in files:
        try:
            reports[file.origin] = add_file(store, file, defaults, index, safety)
        except BadTaskData as exc:
            errors[file.origin] = str(exc)
    return IntakeReport(files=reports, errors=errors)


def add_discovered(
    store: Store,
    seeds: Iterable[SeedQuery],
    origin: str,
    dropped: Iterable[tuple[str, str]] = (),
    safety: SafetyRules = NOTHING_ALLOWED,
    encoder: SentenceEncoder | None = None,
) -> FileReport:
    """Store seeds that a model has proposed, as if a file named `origin` held them.

    Args:
        store: The store of seeds.
        seeds: The seeds.
        origin: Name of the discovery.
        dropped: Text and reason of each proposal that was left out; these are quarantined.
        safety: What becomes of personal data.
        encoder: Compares the meaning of the seeds with that of stored texts; None: only words are.
    """
    lines = (seed.model_dump_json(exclude_none=True) for seed in seeds)
    content = BytesIO("\n".join(lines).encode())
    file = SeedFile(origin, SeedFormat.JSONL, Path(), content)
    index = cache(partial(known_texts, store, encoder))
    report = add_file(store, file, Defaults(), index, safety)
    now = datetime.now(UTC)
    rows = [
        QuarantinedRow(
            stage="seeds",
            origin=origin,
            field="text",
            reason=masked(reason),
            excerpt=masked(text)[:EXCERPT_CHARACTERS],
            at=now,
        )
        for text, reason in dropped
    ]
    store.quarantine(rows)
    return report


def add_file(
    store: Store,
    file: SeedFile,
    defaults: Defaults,
    index: Callable[[], DuplicateIndex],
    safety: SafetyRules = NOTHING_ALLOWED,
) -> FileReport:
    """Store the seeds of a file, their duplicate links, and the refused rows.

    Adding a file again changes nothing.

    Raises:
        BadTaskData: if the file as a whole cannot be read; nothing of it is stored then.
    """
    with Spool(_Arrival) as read, Spool(QuarantinedRow) as rejected, Spool(_Arrival) as new:
        notes = _read(file, defaults, safety, read, rejected)
        attachments = AttachmentFolder(file.folder)
        for arrival in read:
            attachments.put(arrival.seed.attachments, store.artifacts)
        with Spool(SeedLink) as links:
            _look_up(store, index, read, new, links)
            arrivals, again = tee(new)
            added = store.add_seeds(
                (arrival.seed for arrival in arrivals),
                links,
                chain(rejected, _stopped(new, file.origin)),
                file.origin,
                (arrival.row for arrival in again),
                language_of,
            )
            repeating = len({link.seed_id for link in links} & set(added))
        stopped = sum(bool(arrival.findings) for arrival in new)
        _logger.info("seeds added", extra={"origin": file.origin, "seeds": len(added)})
        return FileReport(
            rows=len(read) + len(rejected),
            added=tuple(added),
            known=len(read) - len(added),
            duplicates=repeating,
            quarantined=len(rejected),
            rejected=tuple(islice(rejected, ROWS_TOLD)),
            notes=notes + _told(stopped),
        )


def _read(
    file: SeedFile,
    defaults: Defaults,
    safety: SafetyRules,
    read: Spool[_Arrival],
    rejected: Spool[QuarantinedRow],
) -> tuple[str, ...]:
    unknown = UnknownFields()
    attachments = AttachmentFolder(file.folder, safety)
    with _opened(file) as stream:
        for raw in _READERS[file.format](stream, file.origin):
            seed = _seed(raw, defaults, unknown, attachments, safety)
            if isinstance(seed, Fault):
                rejected.add(_quarantined(file.origin, raw, seed))
            else:
                files = (attachments.findings.get(f.path, ()) for f in seed.attachments)
                found = tuple(chain.from_iterable(files))
                read.add(_Arrival(row=raw.number, seed=seed, findings=found))
    empty = None if len(read) or len(rejected) else "holds no row"
    return tuple(note for note in (unknown.note(), empty) if note)


def _seed(
    raw: RawRow,
    defaults: Defaults,
    unknown: UnknownFields,
    attachments: AttachmentFolder,
    safety: SafetyRules,
) -> SeedQuery | Fault:
    row = read_row(raw, defaults, unknown)
    if isinstance(row, Fault):
        return row
    seed = protected(row.seed, safety)
    if isinstance(seed, Fault):
        return seed
    files = attachments.read(row.attachments)
    return files if isinstance(files, Fault) else seed.model_copy(update={"attachments": files})


def _told(stopped: int) -> tuple[str, ...]:
    if not stopped:
        return ()
    what = f"{stopped} of the added seeds {'wait' if stopped > 1 else 'waits'} in quarantine"
    return (f"{what} for what an attachment says; `nightshift seeds list --quarantined` names it",)


def _stopped(arrivals: Iterable[_Arrival], origin: str) -> Iterator[QuarantinedRow]:
    for arrival in arrivals:
        yield from entries_of(arrival.seed, arrival.findings, origin, arrival.row)


def _quarantined(origin: str, raw: RawRow, fault: Fault) -> QuarantinedRow:
    return QuarantinedRow(
        stage="seeds",
        origin=origin,
        row=raw.number,
        field=fault.field,
        reason=fault.reason,
        excerpt=masked(raw.excerpt)[:EXCERPT_CHARACTERS],
        at=datetime.now(UTC),
    )


def _look_up(
    store: Store,
    index: Callable[[], DuplicateIndex],
    read: Iterable[_Arrival],
    new: Spool[_Arrival],
    links: Spool[SeedLink],
) -> None:
    """Determine which seeds are new and what they repeat."""
    met: set[str] = set()
    remaining = iter(read)
    while page := list(islice(remaining, _TOGETHER)):
        by_id = {arrival.seed.seed_id: arrival for arrival in reversed(page)}
        met |= store.known_seeds([seed_id for seed_id in by_id if seed_id not in met])
        fresh = {i: by_id[i] for i in reversed(by_id) if i not in met}
        met.update(fresh)
        for arrival in fresh.values():
            new.add(arrival)
        texts = [(i, arrival.seed.text) for i, arrival in fresh.items()]
        for link in index().links(texts) if texts else ():
            links.add(link)


@contextmanager
def _opened(file: SeedFile) -> Iterator[BinaryIO]:
    if not isinstance(file.content, Path):
        yield file.content
        return
    try:
        stream = file.content.open("rb")
    except OSError as exc:
        raise BadTaskData(f"{file.content}: cannot be read: {exc.strerror}") from exc
    with stream:
        yield stream
