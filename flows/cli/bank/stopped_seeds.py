"""Commands about seeds: show one; and of those in quarantine: edit, override, gate again, drop."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.bank.editing import edited
from flows.cli.bank.options import ReviewerOption, reviewer_of
from flows.cli.bank.stopped_candidates import ReasonOption, write_quarantine
from flows.cli.options import JsonOption
from taskdata.errors import GateFailed

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.store import Store

SeedArgument = Annotated[
    str, typer.Argument(help="Seed id, or the name of a refused row such as row-3.")
]


def show(seed: SeedArgument, as_json: JsonOption = False) -> None:
    """Show a seed, or a refused row, with what stops it and what people decided about it."""
    from stages.release.seed_quarantine import all_entries

    store = _opened()[1]
    entries = all_entries(store, seed)
    stored = None if any(entry.item is None for entry in entries) else store.seed(seed)
    decisions = tuple(store.quarantine_decisions([seed]))
    if as_json:
        console.write_json(
            {
                "seed": None if stored is None else stored.model_dump(mode="json"),
                "quarantine": [entry.model_dump(mode="json") for entry in entries],
                "decisions": [one.model_dump(mode="json") for one in decisions],
            }
        )
        return
    if stored is None:
        console.say(f"{seed}: a refused row of {entries[0].origin}, row {entries[0].row or '-'}")
        console.block(entries[0].excerpt)
    else:
        query = stored.query
        where = f", row {stored.row}" if stored.row else ""
        console.say(f"Seed {stored.id} ({query.source}, {stored.origin}{where})")
        console.block(query.text)
        console.say(f"Licence: {query.license or 'none is named'}")
        console.say(f"Address: {query.url or 'none'}")
    write_quarantine(entries, decisions)


def edit(
    seed: SeedArgument,
    file: Annotated[
        Path | None,
        typer.Option(
            help="YAML or JSON of what changes: text, source, url, collected_on, license; "
            "without it your editor opens."
        ),
    ] = None,
    reviewer: ReviewerOption = None,
    reason: Annotated[str, typer.Option(help="Why.")] = "",
) -> None:
    """Change a seed in quarantine: what it becomes is a new seed, for the next refresh."""
    from stages.release.seed_quarantine import edit_seed, stopped_seed

    settings, store = _opened()
    found = stopped_seed(store, seed)
    fields = edited(file, found.editable if file is None else {})
    became = edit_seed(store, seed, fields, reason, reviewer_of(reviewer), settings.safety)
    console.say(f"{seed}: is now seed {became}; the next `nightshift refresh` takes it up")


def override(
    seed: SeedArgument,
    rule: Annotated[str, typer.Option(help="The rule that it may break, as in the list.")],
    reason: ReasonOption,
    reviewer: ReviewerOption = None,
) -> None:
    """Let one seed break one rule; the reason goes with its task into the release."""
    from stages.release.seed_quarantine import override_seed

    left = override_seed(_opened()[1], seed, rule, reason, reviewer_of(reviewer))
    if left:
        console.say(f"{seed}: may break {rule}; still stopped by {', '.join(left)}")
        return
    console.say(f"{seed}: may break {rule}; the next `nightshift refresh` takes it up")


def regate(seed: SeedArgument, reviewer: ReviewerOption = None) -> None:
    """Have the gate judge this one seed again: the gate's limits may have changed."""
    from flows.banks.gates import hold_refresh_gate
    from flows.locks import run_lock
    from stages.release.quarantine import sentence
    from stages.release.seed_quarantine import reopen_seed, seed_entries

    settings, store = _opened()
    candidates = reopen_seed(store, seed, reviewer_of(reviewer))
    for refresh_id in dict.fromkeys(one.refresh_id for one in candidates):
        of_refresh = {one.id for one in candidates if one.refresh_id == refresh_id}
        with run_lock(settings, refresh_id):
            try:
                hold_refresh_gate(
                    store, refresh_id, "seeds", settings.gates, of_refresh, settings.home
                )
            except GateFailed:
                if not any(entry.item == seed for entry in seed_entries(store)):
                    raise
    entries = [entry for entry in seed_entries(store) if entry.item == seed]
    for entry in entries:
        console.paragraph(f"{seed}: {entry.stage} stops it: {sentence(entry)}")
    if not entries:
        console.say(f"{seed}: passes; the next `nightshift refresh` takes it up")


def drop(seed: SeedArgument, reason: ReasonOption, reviewer: ReviewerOption = None) -> None:
    """Reject a seed in quarantine, or a refused row, for good."""
    from stages.release.seed_quarantine import drop_seed

    drop_seed(_opened()[1], seed, reason, reviewer_of(reviewer))
    console.say(f"{seed}: dropped")


def _opened() -> "tuple[Settings, Store]":
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    return settings, Store.open(settings.address)
