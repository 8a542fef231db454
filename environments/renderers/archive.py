"""ZIP archives: the list of their files; nothing is unpacked."""

import zipfile
from pathlib import Path

from environments.renderers.limits import (
    MAX_FILE_BYTES,
    MAX_LISTED_ENTRIES,
    Meter,
    Unreadable,
    refuse_beyond,
)
from taskdata.schema.views import ArchiveEntry, ArchiveView


def read_archive(path: Path) -> ArchiveView:
    """Return names and stated sizes of the files in a ZIP archive."""
    refuse_beyond(path.stat().st_size, MAX_FILE_BYTES, "bytes")
    meter = Meter()
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as exc:
        raise Unreadable(f"its content is not that of a ZIP archive: {exc}") from exc
    refuse_beyond(len(entries), MAX_LISTED_ENTRIES, "files")
    return ArchiveView(
        entries=tuple(
            ArchiveEntry(name=meter.text(entry.filename), size_bytes=entry.file_size)
            for entry in entries
        )
    )
