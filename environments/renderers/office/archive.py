"""Checks that an office file (a ZIP of XML) must pass before a library opens it."""

import zipfile
from pathlib import Path

from environments.renderers.limits import (
    MAX_ARCHIVE_BYTES,
    MAX_ARCHIVE_ENTRIES,
    MAX_FILE_BYTES,
    Unreadable,
    refuse_beyond,
)

_CHUNK = 1 << 20


def require_office_file(path: Path, main_part: str, kind: str) -> None:
    """Raise `Unreadable` unless `path` is a ZIP of acceptable size that contains `main_part`.

    A ZIP entry is never unpacked beyond the size in its header, so checking these sizes is enough
    against decompression bombs. Office XML needs no document type; an entity could only serve to
    exhaust a parser.
    """
    refuse_beyond(path.stat().st_size, MAX_FILE_BYTES, "bytes")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            refuse_beyond(len(entries), MAX_ARCHIVE_ENTRIES, "parts")
            refuse_beyond(sum(e.file_size for e in entries), MAX_ARCHIVE_BYTES, "unpacked bytes")
            names = [e.filename for e in entries]
            if main_part not in names:
                raise Unreadable(f"it is a ZIP archive but holds no {kind} (no {main_part})")
            if len(set(names)) != len(names):
                raise Unreadable("two parts in its ZIP archive have the same name")
            for entry in entries:
                if entry.filename.endswith((".xml", ".rels")):
                    _require_no_doctype(archive, entry)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as exc:
        raise Unreadable(f"its content is not that of a {kind} file: {exc}") from exc


def _require_no_doctype(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    tail = b""
    with archive.open(entry) as part:
        while chunk := part.read(_CHUNK):
            if b"<!DOCTYPE" in tail + chunk or b"<!ENTITY" in tail + chunk:
                raise Unreadable(f"its part {entry.filename} declares a document type")
            tail = chunk[-16:]
