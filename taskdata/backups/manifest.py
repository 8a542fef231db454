"""What a backup says of itself."""

from datetime import datetime
from typing import Literal

from taskdata.schema.base import Sha256, Value


class Manifest(Value):
    """The file `backup.json`."""

    format: Literal[1] = 1
    created_at: datetime
    code_version: str
    database: str
    """Name of the SQLite file with all rows."""
    database_sha256: Sha256
    runs: int
    artifacts: int
    artifact_bytes: int
    missing: tuple[str, ...] = ()
    """Artifacts that rows refer to and that were not in the store, or not with their own bytes."""
