"""Backups of an installation: its store, its pages and its prices; no login and no key."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from flows.config import Settings
from flows.locks import is_served, is_worked_on, upkeep_lock
from taskdata.backups.manifest import Manifest
from taskdata.backups.restoring import restore_backup
from taskdata.backups.writing import write_backup
from taskdata.errors import Misuse
from taskdata.store import Store

_FOLDERS = ("runs", "banks", "site")
_FILES = ("prices.yaml",)


def back_up(settings: Settings, target: Path, *, overwrite: bool = False) -> Manifest:
    """Back up the installation, also while runs go on; raises as `write_backup`."""
    home = settings.home.resolve()
    if target.resolve().is_relative_to(home):
        raise Misuse(f"{target} is inside of what is backed up, {home}; name a place elsewhere")
    with upkeep_lock(settings), closing(Store.open(settings.address)) as store:
        pages = {path.relative_to(home).as_posix(): path for path in _pages(home)}
        return write_backup(store, target, pages, overwrite=overwrite)


def restore(settings: Settings, source: Path, *, replace: bool = False) -> Manifest:
    """Bring a backup into this installation; raises as `restore_backup`.

    Raises:
        Misuse: if something is at work here.
    """
    home = settings.home.resolve()
    if is_served(home):
        raise Misuse(f"`nightshift serve` is at work on {home}; end it first")
    with upkeep_lock(settings), closing(Store.open(settings.address)) as store:
        for run_id in store.unfinished_runs():
            if is_worked_on(settings, run_id):
                raise Misuse(f"run {run_id} is being worked on; wait for it, or end it first")
        manifest = restore_backup(store, source, home, replace=replace)
        for run in store.runs():
            page = settings.run_folder(run.id) / "dashboard.html"
            if run.dashboard:
                store.set_dashboard(run.id, str(page))
    return manifest


def _pages(home: Path) -> Iterator[Path]:
    for name in _FOLDERS:
        for path in sorted((home / name).rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield path
    for name in _FILES:
        if (home / name).is_file():
            yield home / name
