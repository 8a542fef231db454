"""ZIP archives among imported files: decompression bombs are refused."""

import zipfile

from environments.sandbox.collect import MAX_REASONS, Collected, CollectedFile
from taskdata.archives import archive_fault


def without_bombs(collected: Collected) -> Collected:
    """Return the collected files without ZIP archives that must not be opened, with reasons."""
    faults = {file.name: _fault(file) for file in collected.files}
    reasons = [f"{name!a} {fault}" for name, fault in faults.items() if fault]
    return Collected(
        tuple(file for file in collected.files if faults[file.name] is None),
        (*collected.rejected, *reasons[:MAX_REASONS]),
    )


def _fault(file: CollectedFile) -> str | None:
    # Checked by name and header first: most files are no archive, and may be large.
    return archive_fault(file.path.read_bytes()) if zipfile.is_zipfile(file.path) else None
