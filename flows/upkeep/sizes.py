"""How much room an installation takes, part by part."""

import time
from contextlib import closing
from pathlib import Path

from flows.config import Settings
from taskdata.artifacts import ArtifactStore
from taskdata.schema.base import Value
from taskdata.store import Store

_SECONDS_TO_LIST = 10.0
"""Within which artifacts are counted: a bucket may hold any number."""


class Sizes(Value):
    """Bytes by part."""

    database: int
    artifacts: int
    artifact_files: int
    artifacts_are_more: bool
    """Whether there was no time to count all of them."""
    dashboards: int
    prefect: int
    """Of the local Prefect server: database and logs; 0 where it was never started."""


def sizes(settings: Settings) -> Sizes:
    """Return how much room the installation takes.

    Raises:
        StoreUnavailable: if the database or the artifacts cannot be reached.
    """
    home = settings.home.resolve()
    with closing(Store(settings.address)) as store:
        database = store.database_bytes()
        size, count, is_more = _artifacts(store.artifacts)
    return Sizes(
        database=database,
        artifacts=size,
        artifact_files=count,
        artifacts_are_more=is_more,
        dashboards=sum(folder_bytes(home / name) for name in ("runs", "banks", "site")),
        prefect=folder_bytes(home / "prefect"),
    )


def folder_bytes(folder: Path) -> int:
    """Return what the files below a folder take; 0 where there is no such folder."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except FileNotFoundError:  # removed meanwhile, by the server whose file it was
            continue
    return total


def readable(size_bytes: int) -> str:
    """Return a number of bytes for people: `512 B`, `3.4 MB`."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _artifacts(artifacts: ArtifactStore) -> tuple[int, int, bool]:
    deadline = time.monotonic() + _SECONDS_TO_LIST
    size = count = 0
    for _, file in artifacts.listed():
        size, count = size + file.size_bytes, count + 1
        if time.monotonic() > deadline:
            return size, count, True
    return size, count, False
