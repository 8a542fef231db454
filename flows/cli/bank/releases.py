"""Commands about releases of a bank: write one, compare two."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import Misuse, NightshiftError

if TYPE_CHECKING:
    from stages.release.release import Composition
    from taskdata.schema.release import ReleaseNotes, TaskChange
    from taskdata.store import Store

_NAMED = 20


def release(
    refresh: Annotated[
        str | None,
        typer.Option(help="Release what this refresh has approved; default: the newest."),
    ] = None,
    bank: Annotated[
        str | None, typer.Option(help="Release this bundled bank or folder as it is instead.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the snapshot to this file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write an immutable release: snapshot, changelog, statistics, lineage."""
    from flows.banks.releasing import release_composition
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    store = Store.open(settings.address)
    composition = _composition(store, refresh, bank)
    notes = release_composition(settings, store, composition)
    if output is not None:
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            store.artifacts.copy_to(notes.snapshot_sha256, output)
        except OSError as exc:
            raise NightshiftError(f"{output}: cannot be written: {exc.strerror}") from exc
    if as_json:
        console.write_json(notes.model_dump(mode="json") | {"references": notes.references})
        return
    _write_notes(notes)
    if output is not None:
        console.say(f"Snapshot: {output}")


def _composition(store: "Store", refresh: str | None, bank: str | None) -> "Composition":
    from stages.release.release import compose, compose_bank

    if bank is not None:
        if refresh is not None:
            raise Misuse("give --refresh or --bank, not both")
        return compose_bank(bank)
    found = store.refreshes()
    if refresh is None and not found:
        raise Misuse("there is no refresh to release; `nightshift refresh`, or give --bank")
    return compose(store, store.refresh(refresh) if refresh else found[0])


def _write_notes(notes: "ReleaseNotes") -> None:
    proven = sum(entry.proof == "proven" for entry in notes.lineage)
    console.say(
        f"Bank {notes.bank}@{notes.version}: {notes.statistics.tasks} tasks, {proven} proven"
    )
    for kind, count in notes.references.items():
        console.say(f"References {kind.reason}: {count}")
    console.say(f"Hash {notes.release_hash}")
    write_changes(notes.changes)


def write_changes(changes: "tuple[TaskChange, ...]") -> None:
    """Write a changelog as a table."""
    rows = [
        {
            "task": change.task_id,
            "change": change.kind,
            "fields": ", ".join(change.fields),
            "why": change.why,
        }
        for change in changes[:_NAMED]
    ]
    console.table(rows, title=f"{len(changes)} changes")
    if len(changes) > _NAMED:
        console.say(f"... and {len(changes) - _NAMED} more; --json names all")


def diff(
    first: Annotated[str, typer.Argument(help="bank, bank@version, or a hash.")],
    second: Annotated[str, typer.Argument(help="bank, bank@version, or a hash.")],
    as_json: JsonOption = False,
) -> None:
    """Show what changed from one release to another, and why."""
    from flows.config import load_settings
    from stages.release.release import diff as compared
    from taskdata.store import Store

    changes = compared(Store.open(load_settings().address), first, second)
    if as_json:
        by_kind = {
            kind: [c.model_dump(mode="json") for c in changes if c.kind == kind]
            for kind in ("added", "removed", "changed")
        }
        console.write_json({"first": first, "second": second, **by_kind})
        return
    write_changes(changes)
