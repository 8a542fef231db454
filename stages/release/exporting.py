"""Export a bank with its canary: all of it, or what can be published of it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from taskdata.banks.found import FoundBank, ReleasedBank, find_bank
from taskdata.canary import canary_of, notice
from taskdata.errors import Misuse
from taskdata.formats import jsonl, parts, public
from taskdata.formats.exporting import replacing
from taskdata.formats.registry import writer
from taskdata.schema.base import Value
from taskdata.schema.outline import TaskFilter
from taskdata.schema.public import PartsManifest
from taskdata.schema.task import Task
from taskdata.store import Store

NOTICE = "CANARY.txt"
MANIFEST = "manifest.json"
PUBLIC = "public"
PRIVATE = "private"
_PUBLIC_FORMAT = "jsonl"


class Parts(Value):
    """How a bank is split."""

    public_share: float = Field(gt=0, lt=1)
    seed: int = 0


class ExportReport(Value):
    """What was written."""

    bank: str
    format: str
    path: str
    tasks: int
    private: int | None = None
    """Of these, tasks in the private part; None: the bank was not split."""
    withdrawn: int
    """Tasks that were left out because they were withdrawn."""
    canary: str


def export_bank(
    store: Store, name: str, format: str, path: Path, *, force: bool = False
) -> ExportReport:
    """Write a bank and its files whole, without its withdrawn tasks.

    Args:
        store: Where the bank may be.
        name: What `find_bank` takes.
        format: A name from `taskdata.formats.registry`.
        path: File or folder.
        force: Overwrite what is there.

    Raises:
        Misuse: if the bank or format is unknown, or something is there and `force` is not given.
    """
    write = writer(format)
    bank = find_bank(store, name)
    canary = canary_of(_name(bank))
    chosen = _Chosen(store)
    write(chosen.of(bank.tasks()), path, bank.fetch, force=force, canary=canary)
    if path.is_dir():
        _put(path / NOTICE, notice(_name(bank)))
    return _report(name, format, path, chosen, canary)


def export_public(store: Store, name: str, format: str, path: Path) -> ExportReport:
    """Write what agents see of a bank's tasks into a folder of its own.

    Raises:
        Misuse: if the bank is unknown, the format is not `jsonl`, or the folder is not empty.
    """
    _require_public(format, path)
    bank = find_bank(store, name)
    canary = canary_of(_name(bank))
    chosen = _Chosen(store)
    public.write(chosen.of(bank.tasks()), path, bank.fetch, canary)
    _put(path / NOTICE, notice(_name(bank)))
    return _report(name, format, path, chosen, canary)


def export_parts(store: Store, name: str, format: str, path: Path, wanted: Parts) -> ExportReport:
    """Write the public part into `public/`, and the other tasks, whole, into `private/`.

    `public/manifest.json` holds the content hashes of both parts.

    Raises:
        Misuse: as `export_public`, or if a part would be empty.
    """
    _require_public(format, path)
    bank, chosen = find_bank(store, name), _Chosen(store)
    outlines = [t for t in bank.outlines(TaskFilter()) if t.hash not in chosen.withdrawn]
    shown = parts.public_ids(outlines, wanted.public_share, wanted.seed)
    if not 0 < len(shown) < len(outlines):
        raise Misuse(
            f"--split {wanted.public_share:g}: {len(shown)} of {len(outlines)} tasks would be "
            "public; give a share that leaves tasks in both parts"
        )
    canary = canary_of(_name(bank))
    tasks = list(chosen.of(bank.tasks()))
    open_tasks = (task for task in tasks if task.id in shown)
    public.write(open_tasks, path / PUBLIC, bank.fetch, canary)
    held_back = (task for task in tasks if task.id not in shown)
    jsonl.write(held_back, path / PRIVATE, bank.fetch, force=False, canary=canary)
    manifest = PartsManifest(
        bank=name,
        seed=wanted.seed,
        public_share=wanted.public_share,
        public={t.id: t.hash for t in outlines if t.id in shown},
        private=tuple(sorted(t.hash for t in outlines if t.id not in shown)),
    )
    _put(path / PUBLIC / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
    for part in (PUBLIC, PRIVATE):
        _put(path / part / NOTICE, notice(_name(bank)))
    report = _report(name, format, path, chosen, canary)
    return report.model_copy(update={"private": len(outlines) - len(shown)})


class _Chosen:
    """Counts tasks on their way out, and leaves out those that were withdrawn."""

    def __init__(self, store: Store) -> None:
        self.withdrawn = store.withdrawals()
        self.counts: Counter[str] = Counter()

    def of(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield those of the tasks that go out."""
        for task in tasks:
            if self.withdrawn and task.content_hash in self.withdrawn:
                self.counts["withdrawn"] += 1
                continue
            self.counts["tasks"] += 1
            yield task


def _report(name: str, format: str, path: Path, chosen: _Chosen, canary: str) -> ExportReport:
    return ExportReport(
        bank=name,
        format=format,
        path=str(path),
        tasks=chosen.counts["tasks"],
        withdrawn=chosen.counts["withdrawn"],
        canary=canary,
    )


def _name(bank: FoundBank) -> str:
    return bank.release.bank if isinstance(bank, ReleasedBank) else bank.bank.name


def _require_public(format: str, path: Path) -> None:
    """Refuse a target that cannot hold a public export, or whose files would be published, too."""
    if format != _PUBLIC_FORMAT:
        raise Misuse(
            f"format {format!r}: a public export is written as {_PUBLIC_FORMAT}; other formats "
            "have fields for answers and checkpoints"
        )
    if path.suffix == f".{_PUBLIC_FORMAT}" or (path.exists() and not path.is_dir()):
        raise Misuse(f"{path}: a public export is a folder; give the name of a new one")
    if path.is_dir() and any(path.iterdir()):
        raise Misuse(f"{path} is not empty, and would be published whole; give a new folder")


def _put(path: Path, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode())
