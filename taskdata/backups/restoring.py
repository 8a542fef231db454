"""Restoring a backup: every artifact by its hash, then all rows, all or none.

The rows come last, so a restore that was interrupted has left a store without runs, and is begun
again.
"""

import hashlib
import tempfile
from pathlib import Path, PurePosixPath

from taskdata.artifacts import sha256_of
from taskdata.backups.containers import ARTIFACTS, MANIFEST, BackupReader, found_backup
from taskdata.backups.manifest import Manifest
from taskdata.backups.writing import HOME
from taskdata.errors import Misuse, NightshiftError
from taskdata.private_files import private_folder
from taskdata.store import Store
from taskdata.store.copying import sqlite_copy


def restore_backup(store: Store, source: Path, home: Path, *, replace: bool = False) -> Manifest:
    """Bring a backup into a store and a home.

    Args:
        store: Where the rows and artifacts go, of any kind of database.
        source: The folder or file of the backup.
        home: Where its pages go.
        replace: Whether rows that are there are removed first; else there must be none.

    Raises:
        Misuse: if there is no backup, it was made by newer code, or the store is not empty.
        NightshiftError: if the backup is damaged; nothing was changed but artifacts that were
            added.
        StoreUnavailable: if the store cannot be written.
    """
    if not replace and not store.is_empty():
        raise Misuse(
            "the database has runs, seeds or tasks; restore into an empty home and database, or "
            "--force replaces all that is there"
        )
    private_folder(home)
    with (
        found_backup(source) as backup,
        tempfile.TemporaryDirectory(dir=home, prefix=".restore-") as folder,
    ):
        manifest = _manifest(backup, source)
        database = Path(folder) / "database.db"
        backup.copy_to(_required(backup, manifest.database, source), database)
        if sha256_of(database) != manifest.database_sha256:
            raise NightshiftError(f"backup {source}: {manifest.database} is damaged")
        with sqlite_copy(Store, database) as copied:
            copied.migrate()
            certain, possible = copied.artifact_names()
            _restore_artifacts(store, backup, source, possible)
            lost = certain.difference(manifest.missing) - _restored(store)
            if lost:
                raise NightshiftError(
                    f"backup {source}: {len(lost)} artifacts are not in it, such as {min(lost)}"
                )
            store.copy_in(copied, replace=replace)
        _restore_pages(backup, home, replace=replace)
    return manifest


def _manifest(backup: BackupReader, source: Path) -> Manifest:
    try:
        return Manifest.model_validate_json(backup.read(MANIFEST))
    except ValueError as exc:
        raise NightshiftError(
            f"backup {source}: {MANIFEST} is not as this version writes it; update Nightshift"
        ) from exc


def _required(backup: BackupReader, name: str, source: Path) -> str:
    if name not in set(backup.names()):
        raise NightshiftError(f"backup {source}: {name} is not in it")
    return name


def _restored(store: Store) -> set[str]:
    return {name for name, _ in store.artifacts.listed()}


def _restore_artifacts(store: Store, backup: BackupReader, source: Path, wanted: set[str]) -> None:
    for name in backup.names():
        sha256 = name.rsplit("/", 1)[-1]
        if not name.startswith(ARTIFACTS) or sha256 not in wanted:
            continue
        data = backup.read(name)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise NightshiftError(f"backup {source}: artifact {sha256} is damaged")
        store.artifacts.put_bytes(data)


def _restore_pages(backup: BackupReader, home: Path, *, replace: bool) -> None:
    for name in backup.names():
        path = PurePosixPath(name.removeprefix(HOME))
        if not name.startswith(HOME) or path.is_absolute() or ".." in path.parts:
            continue
        target = home / path
        if target.exists() and not replace:
            continue
        private_folder(target.parent)
        backup.copy_to(name, target)
