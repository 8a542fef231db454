"""A bank by any of its names: bundled with the project, a folder, or a release in the store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from taskdata.banks.loader import Bank, bundled_banks, holds_tasks, load_bank
from taskdata.errors import Misuse
from taskdata.schema.outline import TaskFilter, TaskOutline, outline
from taskdata.schema.release import ReleaseName
from taskdata.schema.task import Task
from taskdata.store import Store


@dataclass(frozen=True)
class LoadedBank:
    """A bank that was read from disk."""

    name: str
    bank: Bank

    def ids(self) -> set[str]:
        """Return the ids of its tasks."""
        return {task.id for task in self.bank.tasks}

    def tasks(self, only: Sequence[str] = ()) -> Iterator[Task]:
        """Yield its tasks, or those of the ids given, in order of their ids."""
        return (task for task in self.bank.tasks if not only or task.id in only)

    def outlines(self, wanted: TaskFilter) -> list[TaskOutline]:
        """Return the outlines that the filter admits, in order of the ids."""
        outlines = (outline(task, task.content_hash) for task in self.bank.tasks)
        return [task for task in outlines if wanted.admits(task)]

    def fetch(self, sha256: str, target: Path) -> None:
        """Write a file of the bank to `target`."""
        target.write_bytes(self.bank.files[sha256].read_bytes())


@dataclass(frozen=True)
class ReleasedBank:
    """A release in the store."""

    name: str
    release: ReleaseName
    store: Store

    def ids(self) -> set[str]:
        """Return the ids of its tasks."""
        return {i for i, _ in self.store.members_of_release(self.release.hash)}

    def tasks(self, only: Sequence[str] = ()) -> Iterator[Task]:
        """Yield its tasks, or those of the ids given, in order of their ids."""
        found = self.store.each_task_of_release(self.release.hash, only)
        return (task for _, task in found)

    def outlines(self, wanted: TaskFilter) -> list[TaskOutline]:
        """Return the outlines that the filter admits, in order of the ids."""
        return self.store.outlines(self.release.hash, wanted)

    def fetch(self, sha256: str, target: Path) -> None:
        """Write a file of the bank to `target`."""
        self.store.artifacts.copy_to(sha256, target)


FoundBank = LoadedBank | ReleasedBank


def find_bank(store: Store, name: str, only: Sequence[str] = ()) -> FoundBank:
    """Return the bundled bank of that name, the bank in that folder, or the stored release.

    Args:
        store: Where releases are looked for.
        name: A bundled name, a folder, or what `locate_release` takes.
        only: Ids of tasks that must be in it; a bank from disk is read no further.

    Raises:
        Misuse: if there is none, or a task is not in it.
        BadTaskData: if a task on disk is malformed.
    """
    if name in bundled_banks() or holds_tasks(Path(name).expanduser()):
        return LoadedBank(name, load_bank(name, only))
    release = store.locate_release(name)
    if release is None:
        stored = ", ".join(bank.name for bank in store.stored_banks()[:10]) or "none"
        raise Misuse(
            f"bank {name!r} is unknown; bundled: {', '.join(bundled_banks())}; stored: {stored}; "
            "or give a folder that holds <task>/task.yaml"
        )
    bank = ReleasedBank(f"{release.bank}@{release.version}", release, store)
    missing = sorted(set(only) - bank.ids()) if only else []
    if missing:
        raise Misuse(
            f"bank {name!r} has no task {', '.join(map(repr, missing))}; "
            f"`nightshift bank list --bank {name}` names its tasks"
        )
    return bank
