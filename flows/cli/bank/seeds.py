"""Commands about seed queries: take them in, look at them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import Misuse
from taskdata.installing import extra_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.config import Settings
    from quality.encoders.encoder import SentenceEncoder
    from stages.intake.work import FileReport, IntakeReport, SeedFile
    from taskdata.schema.seed import QuarantinedRow, StoredSeed
    from taskdata.store import Store

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

_TEXT_SHOWN = 100


@app.command()
def add(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="JSONL, CSV or YAML; `-`: standard input; none: what lies in the inbox.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="jsonl, csv or yaml; default: by the ending.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Source of rows that name none, such as reddit.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option("--license", help="Licence of rows that name none.")
    ] = None,
    similarity: Annotated[
        bool | None,
        typer.Option(
            "--similarity/--no-similarity",
            help="Also compare meanings, not only words; default: where an encoder is installed.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Folder with model.onnx and tokenizer.json, for --similarity."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Store seed queries, link those that repeat others, quarantine bad rows.

    Where `nightshift serve` is at work, seeds that are new start a refresh of the bank.
    """
    from flows.config import load_settings
    from stages.intake import inbox
    from stages.intake.rows import Defaults
    from stages.intake.work import add_files
    from taskdata.store import Store

    settings = load_settings()
    chosen = _chosen(files or [], format_)
    encoder = _encoder(settings, model, similarity)
    store = Store.open(settings.address)
    defaults = Defaults(source, licence)
    if chosen:
        report = add_files(store, chosen, defaults, encoder, settings.safety)
    else:
        report = inbox.take_in(store, settings.inbox, defaults, encoder, safety=settings.safety)
    if as_json:
        console.write_json(_outcome(report))
    elif not report.files and not report.errors:
        console.say(f"No seed file in {settings.inbox}")
    else:
        _tell(report.files)
    _announce(settings, [name for name, found in report.files.items() if found.added])
    _end(report)


def _announce(settings: "Settings", files: list[str]) -> None:
    """Have the served installation, if there is one, refresh its bank with the new seeds."""
    from flows.config import bank_refreshed_on_arrival
    from flows.locks import is_served
    from flows.serving.prefect_server import given_server, join_running

    bank = bank_refreshed_on_arrival(settings)
    if bank is None or not files or not (given_server() or is_served(settings.home)):
        return
    if not join_running(settings.home):
        return
    from flows.banks.arriving import announce
    from flows.serving.events import EventLost

    try:
        starts = announce(bank, files)
    except EventLost as exc:
        console.note(f"the next refresh takes these seeds, for no refresh starts now: {exc}")
        return
    console.note(
        f"a refresh of bank {bank} begins within a minute, or when one at work has ended"
        if starts
        else f"the refresh of bank {bank} that waits for its place takes these seeds"
    )


@app.command("list")
def list_seeds(
    source: Annotated[str | None, typer.Option(help="Only of this source.")] = None,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Only those that repeat a seed or a task.")
    ] = False,
    quarantined: Annotated[
        bool,
        typer.Option(
            "--quarantined", help="The seeds and rows in quarantine instead, with rule and value."
        ),
    ] = False,
    language: Annotated[
        str | None, typer.Option(help="Only in this language, such as de; und: unknown.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many, newest last.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the stored seeds, or the rows in quarantine."""
    from flows.config import load_settings
    from stages.intake.languages import fill_in
    from taskdata.store import Store

    if quarantined and (source or duplicates or language):
        raise Misuse("--quarantined goes with none of --source, --language and --duplicates")
    store = Store.open(load_settings().address)
    if quarantined:
        _list_quarantined(store, limit, as_json)
        return
    if language:
        fill_in(store)
    seeds = [s for s in store.seeds(source, language) if s.duplicate_of or not duplicates]
    seeds = seeds[-limit:] if limit else seeds
    if as_json:
        console.write_json({"seeds": [seed.model_dump(mode="json") for seed in seeds]})
    else:
        console.table([_listed(seed) for seed in seeds], title="Seeds")


def _list_quarantined(store: "Store", limit: int | None, as_json: bool) -> None:
    from stages.release.seed_quarantine import name_of, seed_entries

    entries = seed_entries(store)
    entries = entries[-limit:] if limit else entries
    if as_json:
        listed = [entry.model_dump(mode="json") | {"name": name_of(entry)} for entry in entries]
        console.write_json({"quarantined": listed})
        return
    rows = [
        {
            "seed": name_of(entry),
            "gate": entry.stage.removeprefix("gate "),
            "rule": entry.rule or "",
        }
        | {"value": entry.value or ""}
        | line
        for entry, line in zip(entries, _rejected(entries, with_file=True), strict=True)
    ]
    console.table(rows, title="In quarantine", optional=("begins", "field"))
    if rows:
        console.say("`nightshift seeds` has show, edit, override, regate and drop for them")


def _chosen(names: list[str], format_: str | None) -> "list[SeedFile]":
    from stages.intake.work import SeedFile, SeedFormat

    if format_ is not None and format_ not in list(SeedFormat):
        raise Misuse(f"--format {format_!r} is not known; expected {', '.join(SeedFormat)}")
    chosen = None if format_ is None else SeedFormat(format_)
    if "-" in names and chosen is None:
        raise Misuse(f"standard input needs --format {', '.join(SeedFormat)}")
    if len(set(names)) < len(names):
        raise Misuse("a file is named more than once")
    return [
        SeedFile("standard input", chosen, Path(), sys.stdin.buffer)
        if name == "-" and chosen is not None
        else SeedFile.at(Path(name), chosen)
        for name in names
    ]


def _encoder(
    settings: "Settings", model: Path | None, similarity: bool | None
) -> "SentenceEncoder | None":
    from quality.encoders.choosing import encoder_in, find_for_duplicates

    if model is not None:
        return encoder_in(model, model.name)
    if similarity is False:
        return None
    found = find_for_duplicates(settings.home)
    if found is None and similarity:
        console.note(
            "meanings are not compared, only words: an extra is missing; "
            f"run {extra_command('similarity')}"
        )
    return found


def _outcome(report: "IntakeReport") -> dict[str, Any]:
    files = {name: found.model_dump(mode="json") for name, found in report.files.items()}
    failed = {name: {"error": message} for name, message in report.errors.items()}
    seeds = [seed_id for found in report.files.values() for seed_id in found.added]
    return _totals(report.files) | {"seeds": seeds, "files": files | failed}


def _totals(reports: "dict[str, FileReport]") -> dict[str, int]:
    found = reports.values()
    return {
        "added": sum(len(report.added) for report in found),
        "known": sum(report.known for report in found),
        "duplicates": sum(report.duplicates for report in found),
        "quarantined": sum(report.quarantined for report in found),
    }


def _end(report: "IntakeReport") -> None:
    for message in report.errors.values():
        console.error(message)
    if report.errors:
        raise typer.Exit(2)


def _tell(reports: "dict[str, FileReport]") -> None:
    for name, report in reports.items():
        counts = _totals({name: report})
        console.say(
            f"{name}: {counts['added']} added ({counts['duplicates']} of them repeat others), "
            f"{counts['known']} known, {counts['quarantined']} quarantined"
        )
        for note in report.notes:
            console.say(f"{name}: {note}")
        if report.rejected:
            console.table(_rejected(report.rejected), title=f"Quarantined rows of {name}")
        if report.quarantined > len(report.rejected):
            console.say(
                f"and {report.quarantined - len(report.rejected)} more; "
                "`nightshift seeds list --quarantined` names all"
            )


def _rejected(rows: "Sequence[QuarantinedRow]", with_file: bool = False) -> list[dict[str, str]]:
    return [
        ({"file": row.origin} if with_file else {})
        | {
            "row": str(row.row),
            "field": row.field or "-",
            "reason": row.reason,
            "begins": _shortened(row.excerpt),
        }
        for row in rows
    ]


def _listed(seed: "StoredSeed") -> dict[str, str]:
    repeats = [
        f"{link.other_kind} {link.other_id} ({link.method} {link.similarity:.2f})"
        for link in seed.duplicate_of
    ]
    return {
        "seed": seed.id,
        "source": _source(seed),
        "language": seed.language or "-",
        "from": seed.origin + (f", row {seed.row}" if seed.row else ""),
        "repeats": ", ".join(repeats) or "-",
        "text": _shortened(seed.query.text),
    }


def _source(seed: "StoredSeed") -> str:
    found = seed.query.discovery
    return seed.query.source if found is None else f"{seed.query.source}, {found.difficulty}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_SHOWN else f"{line[: _TEXT_SHOWN - 1]}…"
