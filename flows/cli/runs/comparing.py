"""The command `morning`: what a night means against the nights before it."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from flows.cli.runs.reading import RunArgument, opened
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from taskdata.schema.night import Morning


def morning(
    run_id: RunArgument = None,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Make the nights of all runs again from their trials."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell what changed in a run against the last comparable nights.

    A night is kept when its run is published; runs of before are taken in with --rebuild.
    """
    from flows.cli.runs.sentences import told
    from flows.history import rebuild as make_again

    _settings, store, run = opened(run_id)
    if rebuild:
        count = make_again(store)
        console.note(f"{count} nights made again")
    if run.config.rescores:
        raise Misuse(
            f"run {run.id} is no night: it scores {run.config.rescores} again; "
            "`nightshift results` shows its numbers"
        )
    found: Morning = store.morning(run.id)
    night = store.night(run.id)
    store.close()
    if as_json:
        console.write_json(found.model_dump(mode="json"))
        return
    console.heading(f"Run {run.id}")
    for heading, sentences in told(found, night).items():
        console.heading(heading)
        for sentence in sentences:
            console.block(sentence)
