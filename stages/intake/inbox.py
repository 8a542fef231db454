"""The inbox: a folder for seed files, which are moved away once they are stored.

Files of a seed format at its top level are seed files. Their attachments are in folders beside
them.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stages.intake.embedding import Embedder
from stages.intake.rows import Defaults
from stages.intake.work import FORMATS, IntakeReport, SeedFile, add_files
from taskdata.errors import BadTaskData
from taskdata.store import Store

_DONE = "done"


def take_in(
    store: Store, inbox: Path, defaults: Defaults, embedder: Embedder | None = None
) -> IntakeReport:
    """Add the files in the inbox, and move stored files into `done/`.

    A file that cannot be read stays where it is. Without an inbox there is nothing to do.

    Raises:
        BadTaskData: if a file cannot be moved.
    """
    paths = {f"inbox/{path.name}": path for path in _waiting(inbox)}
    files = [replace(SeedFile.at(path), origin=origin) for origin, path in paths.items()]
    if not files:
        return IntakeReport(files={}, errors={})
    report = add_files(store, files, defaults, embedder)
    for origin in report.files:
        _settle(paths[origin])
    return report


def _waiting(inbox: Path) -> Iterator[Path]:
    for path in sorted(inbox.iterdir()) if inbox.is_dir() else ():
        # A broken link is reported when it is opened; reading a pipe would never end.
        if path.suffix.lower() in FORMATS and (path.is_file() or path.is_symlink()):
            yield path


def _settle(path: Path) -> None:
    """Move a file into `done/`, without replacing older files of that name."""
    done = path.parent / _DONE
    target, number = done / path.name, 1
    try:
        done.mkdir(exist_ok=True)
        while os.path.lexists(target):
            number += 1
            target = done / f"{path.stem}-{number}{path.suffix}"
        path.rename(target)
    except OSError as exc:
        raise BadTaskData(f"{path}: stored, but cannot be moved to {done}: {exc.strerror}") from exc
