"""Making a backup: the database first, as it is at one moment, then what it refers to.

A writer stores an artifact before the row that refers to it, so all that the copied rows refer to
is there afterwards, whatever is written meanwhile.
"""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from taskdata.artifacts import sha256_of
from taskdata.backups.containers import ARTIFACTS, BackupWriter, new_backup
from taskdata.backups.manifest import Manifest
from taskdata.errors import NightshiftError
from taskdata.store import Store
from taskdata.store.copying import sqlite_copy
from taskdata.version import code_version

HOME = "home/"
"""Names of files of the home begin with it."""


def write_backup(
    store: Store, target: Path, pages: Mapping[str, Path], *, overwrite: bool = False
) -> Manifest:
    """Back up a store; runs may go on, but nothing may be pruned meanwhile.

    Args:
        store: What is backed up.
        target: A folder, which is brought up to date where it holds a backup, or a `.zip` file.
        pages: Files of the home that go with it, by their paths there.
        overwrite: Whether a file that is there is replaced.

    Raises:
        Misuse: if something else is at the target.
        NightshiftError: if the target cannot be written.
        StoreUnavailable: if the store cannot be read.
    """
    beside = target.resolve().parent
    beside.mkdir(parents=True, exist_ok=True)
    with (
        new_backup(target, overwrite=overwrite) as backup,
        tempfile.TemporaryDirectory(dir=beside, prefix=".nightshift-backup-") as folder,
    ):
        copy = Path(folder) / "database.db"
        with sqlite_copy(Store, copy) as copied:
            store.copy_out(copied)
            certain, possible = copied.artifact_names()
            runs = len(copied.runs())
        digest = sha256_of(copy)
        database = f"database-{digest[:12]}.db"
        backup.add_file(database, copy)
        sizes = {name: file.size_bytes for name, file in store.artifacts.listed()}
        missing = sorted(certain.difference(sizes))
        wanted = sorted(possible.intersection(sizes))
        missing += list(_not_added(store, backup, wanted))
        for name, path in pages.items():
            backup.add_file(f"{HOME}{name}", path)
        manifest = Manifest(
            created_at=datetime.now(UTC),
            code_version=code_version(),
            database=database,
            database_sha256=digest,
            runs=runs,
            artifacts=len(wanted),
            artifact_bytes=sum(sizes[name] for name in wanted),
            missing=tuple(missing),
        )
        names = {database, *(f"{HOME}{name}" for name in pages), *map(_name, wanted)}
        backup.finish(manifest.model_dump_json(indent=2).encode(), names)
    return manifest


def _not_added(store: Store, backup: BackupWriter, names: list[str]) -> Iterator[str]:
    """Add the artifacts that the backup lacks; yield those whose bytes are not what they were."""
    for name in names:
        if backup.has(_name(name)):
            continue
        try:
            data = store.artifacts.read_bytes(name)
        except NightshiftError as exc:
            if exc.transient:
                raise
            yield name
            continue
        backup.add(_name(name), data)


def _name(sha256: str) -> str:
    return f"{ARTIFACTS}{sha256[:2]}/{sha256}"
