"""The command that reads a bank's folder for misspelt words."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from stages.prepare.proofreading import Fault

_FAULTY = 2


def check(
    folder: Annotated[
        str, typer.Argument(help="Folder of tasks, one task's folder, or a bundled bank.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Name every misspelt check, argument, tool, field and deliverable, and what was meant."""
    from stages.prepare.proofreading import proofread

    tasks, faults = proofread(folder)
    if as_json:
        listed = [fault.model_dump(mode="json") for fault in faults]
        console.write_json({"tasks": tasks, "faults": listed})
    else:
        for fault in faults:
            console.say(_line(fault))
        broken = len({fault.task for fault in faults})
        told = f"{len(faults)} faults in {broken} of {tasks} tasks"
        console.say(told if faults else f"No fault found in {tasks} tasks")
    if faults:
        raise typer.Exit(_FAULTY)


def _line(fault: "Fault") -> str:
    where = f"{fault.task}/{fault.file}" + (f":{fault.line}" if fault.line else "")
    place = f" {fault.place}:" if fault.place else ""
    meant = " or ".join(map(repr, fault.near))
    return f"{where}:{place} {fault.message}" + (f"; did you mean {meant}?" if meant else "")
