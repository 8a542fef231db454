"""The command that withdraws a task from a bank."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Collection

    from flows.config import Settings
    from taskdata.store import Store


def withdraw(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="Task id, as in `bank list`.")],
    reason: Annotated[str, typer.Option(help="Why; runs, results and pages show it.")],
    bank: Annotated[
        str,
        typer.Option(help="Its bank, with all versions of the task; bank@version: that one only."),
    ] = "starter",
    as_json: JsonOption = False,
) -> None:
    """Withdraw a task for good: later runs and releases leave it out and say why."""
    from flows.config import load_settings
    from stages.release.withdrawing import withdraw as withdrawn
    from taskdata.store import Store

    settings = load_settings()
    store = Store.open(settings.address)
    tombstones = withdrawn(store, bank, task_id, reason)
    pages = _write_pages_again(settings, store, {t.task_hash for t in tombstones})
    store.close()
    if as_json:
        found = [tombstone.model_dump(mode="json") for tombstone in tombstones]
        console.write_json({"withdrawn": found, "pages": pages})
        return
    for tombstone in tombstones:
        console.say(f"{task_id} ({tombstone.task_hash[:12]}) withdrawn on {tombstone.told}")
    for page in pages:
        console.say(f"Page: {page}")
    console.paragraph(
        "Later runs leave it out; results of earlier runs keep their figures and say that "
        "it was withdrawn. A task that is changed gets another hash, and is not withdrawn."
    )


def _write_pages_again(
    settings: "Settings", store: "Store", hashes: "Collection[str]"
) -> list[str]:
    """Write the pages of releases that hold the task, and those over all nights, if there are any.

    Returns:
        Where they are.
    """
    from flows.banks.releasing import publish_bank
    from flows.site import write_nights

    held = [
        notes
        for notes in store.release_notes()
        if any(entry.task_hash in hashes for entry in notes.lineage)
    ]
    there = (n for n in held if (settings.bank_folder(n.bank) / str(n.version)).is_dir())
    pages = [str(publish_bank(settings, store, notes)) for notes in there]
    if store.runs_with_a_morning():
        write_nights(settings, store, ())
        pages.append(str(settings.site_folder / "index.html"))
    return pages
