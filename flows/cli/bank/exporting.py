"""The command that gives a bank away."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.bank.banks import BankOption, FormatArgument, PathArgument
from flows.cli.options import JsonOption
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from stages.release.exporting import Parts


def export(
    format: FormatArgument,
    path: PathArgument,
    bank: BankOption = "starter",
    public: Annotated[
        bool, typer.Option("--public", help="Only what an agent sees: no answer, nothing to score.")
    ] = False,
    split: Annotated[
        float | None,
        typer.Option(help="With --public: share (0-1) of the tasks to publish; PATH gets 2 parts."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Chooses the public tasks; default: 0.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a bank and its files: jsonl, parquet, inspect or gta-workflow."""
    from flows.config import load_settings
    from stages.release.exporting import export_bank, export_parts, export_public
    from taskdata.store import Store

    if public and force:
        raise Misuse("--force: a public export needs a new folder, which is published whole")
    store = Store.open(load_settings().address)
    if split is not None:
        parts = _parts(split, seed, is_public=public)
        report = export_parts(store, bank, format, path, parts)
    elif seed is not None:
        raise Misuse("--seed chooses the tasks of --split; give both")
    elif public:
        report = export_public(store, bank, format, path)
    else:
        report = export_bank(store, bank, format, path, force=force)
    if as_json:
        console.write_json(report.model_dump(mode="json"))
        return
    console.say(f"{report.tasks} tasks of bank {bank} are in {path}")
    if report.private is not None:
        shown = report.tasks - report.private
        console.say(f"{shown} of them in public/, {report.private} with all answers in private/")
    if report.withdrawn:
        console.say(f"{report.withdrawn} withdrawn tasks were left out")
    console.say(f"Canary: {report.canary}")


def _parts(share: float, seed: int | None, *, is_public: bool) -> "Parts":
    from stages.release.exporting import Parts

    if not is_public:
        raise Misuse("--split makes a public part and a private one; add --public")
    if not 0 < share < 1:
        raise Misuse(f"--split {share:g}: expected a share between 0 and 1, such as 0.3")
    return Parts(public_share=share, seed=seed or 0)
