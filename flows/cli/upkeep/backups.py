"""The commands `backup` and `restore`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption


def backup(
    target: Annotated[
        Path, typer.Argument(help="A folder, brought up to date each time, or a .zip file.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy database, artifacts and pages, each artifact verified; runs may go on meanwhile.

    Logins and keys are not in it.
    """
    from flows.config import load_settings
    from flows.upkeep.backups import back_up
    from flows.upkeep.sizes import readable
    from taskdata.errors import NightshiftError

    manifest = back_up(load_settings(), target, overwrite=force)
    if as_json:
        console.write_json(manifest.model_dump(mode="json"))
    else:
        console.say(
            f"{target}: {manifest.runs} runs, {manifest.artifacts} artifacts "
            f"({readable(manifest.artifact_bytes)})"
        )
    if manifest.missing:
        raise NightshiftError(
            f"{len(manifest.missing)} artifacts that the database refers to are lost or damaged, "
            f"such as {manifest.missing[0]}; the backup has everything else"
        )


def restore(
    source: Annotated[Path, typer.Argument(help="The folder or file of a backup.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace all runs, tasks and seeds that are there.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring a backup into this home and database, which must be empty, whatever their kind.

    Interrupted runs can be resumed afterwards.
    """
    from flows.config import load_settings
    from flows.upkeep.backups import restore as bring_back
    from flows.upkeep.sizes import readable

    manifest = bring_back(load_settings(), source, replace=force)
    if as_json:
        console.write_json(manifest.model_dump(mode="json"))
        return
    console.say(
        f"Restored: {manifest.runs} runs, {manifest.artifacts} artifacts "
        f"({readable(manifest.artifact_bytes)}), as of {manifest.created_at:%Y-%m-%d %H:%M} UTC"
    )
