"""The inbox: a folder into which seed files are dropped, and out of which they go once read.

Files of a seed format at its top are seeds. Their attachments lie in folders beside them. A file
that the store has goes into `done/`, one that cannot be read into `quarantined/`.
"""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from quality.encoders.encoder import SentenceEncoder
from stages.intake.rows import Defaults
from stages.intake.work import FORMATS, IntakeReport, SeedFile, add_files
from taskdata.errors import BadTaskData
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.seed import QuarantinedRow
from taskdata.store import Store

_DONE = "done"
_QUARANTINED = "quarantined"


def take_in(
    store: Store,
    inbox: Path,
    defaults: Defaults,
    encoder: SentenceEncoder | None = None,
    unchanged_seconds: float = 0.0,
    safety: SafetyRules = NOTHING_ALLOWED,
) -> IntakeReport:
    """Add the files in the inbox, and move those that the store has into `done/`.

    A file that cannot be read goes into `quarantined/` with its reason in a text file beside it,
    and into the store's quarantine. A file that is being written stays for the next time, and so
    does one that was changed within `unchanged_seconds`. No inbox: nothing to do.

    Raises:
        BadTaskData: if a file cannot be moved.
    """
    whole = [p for p in waiting(inbox) if not (_is_fresh(p, unchanged_seconds) or is_written(p))]
    paths = {f"inbox/{path.name}": path for path in whole}
    files = [replace(SeedFile.at(path), origin=origin) for origin, path in paths.items()]
    if not files:
        return IntakeReport(files={}, errors={})
    report = add_files(store, files, defaults, encoder, safety)
    for origin in report.files:
        _move(paths[origin], _DONE)
    for origin, reason in report.errors.items():
        _quarantine(store, origin, paths[origin], reason)
    return report


def waiting(inbox: Path) -> Iterator[Path]:
    """Yield the seed files that lie in the inbox, in order of their names; whole or not."""
    for path in sorted(inbox.iterdir()) if inbox.is_dir() else ():
        # A link that leads nowhere is told when it is opened; a pipe would never end.
        if path.suffix.lower() in FORMATS and (path.is_file() or path.is_symlink()):
            yield path


def is_written(path: Path) -> bool:
    """Return whether a process of this machine has the file open for writing.

    False where the file system cannot tell, as over a network, or the file is another account's.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False  # whoever reads it is told why it cannot be read
    try:
        # Whoever opens the file while the lease is held causes a signal; this one is ignored.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        # The kernel gives a read lease on a file only while nobody has it open for writing.
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _is_fresh(path: Path, seconds: float) -> bool:
    try:
        # A file may bring a time of its own, also one that is yet to come.
        return 0 <= time.time() - path.stat().st_mtime < seconds
    except OSError:
        return False  # a link that leads nowhere: nobody writes it


def _quarantine(store: Store, origin: str, path: Path, reason: str) -> None:
    target = _move(path, _QUARANTINED)
    target.with_name(f"{target.name}.reason.txt").write_text(f"{reason}\n", encoding="utf-8")
    row = QuarantinedRow(stage="seeds", origin=origin, reason=reason, at=datetime.now(UTC))
    store.quarantine([row])


def _move(path: Path, folder: str) -> Path:
    """Move a file into a folder of the inbox, beside older ones of its name; return where to."""
    into = path.parent / folder
    target, number = into / path.name, 1
    try:
        into.mkdir(exist_ok=True)
        while os.path.lexists(target):
            number += 1
            target = into / f"{path.stem}-{number}{path.suffix}"
        path.rename(target)
    except OSError as exc:
        raise BadTaskData(f"{path}: read, but cannot be moved to {into}: {exc.strerror}") from exc
    return target
